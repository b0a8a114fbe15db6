"""The function that answers messages: invoked asynchronously with a descriptor, and by its own failure queue."""

import os
import warnings
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.bedrock import BedrockModel
from conversations.clients import Clients
from conversations.clock import SystemClock
from turn.settings import TurnSettings
from turn.worker import Worker

warnings.filterwarnings("ignore", "No application metrics to publish")  # many requests have none

_settings = TurnSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_logger = Logger()
_metrics = Metrics()
_worker = Worker(
    store=_clients.store(_settings.store, _clock),
    clock=_clock,
    model=BedrockModel(_clients.model),
    settings=_settings,
    logger=_logger,
    metrics=_metrics,
)


@_metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers the message of a descriptor, or gives up the turns of a batch of the failure queue."""
    _logger.clear_state()  # what an earlier invocation was about
    _logger.append_keys(request_id=context.aws_request_id)
    if isinstance(event, dict) and "Records" in event:
        return _worker.give_up(event["Records"])
    return _worker.answer(event, context.get_remaining_time_in_millis())
