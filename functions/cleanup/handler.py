"""The function that removes what deleted and expired conversations leave behind: invoked by the stream of the table of
conversations, and by its own queue.
"""

import gc

gc.disable()  # what is loaded stays: looking for garbage in it would cost a cold start a fourteenth

import os
import warnings
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from cleanup.queue import SqsQueue
from cleanup.settings import CleanupSettings
from cleanup.worker import Worker
from conversations.clients import Clients
from conversations.clock import SystemClock
from conversations.quiet import quietly

warnings.filterwarnings("ignore", "No application metrics to publish")  # stream records have none

_settings = CleanupSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_logger = Logger()
_metrics = Metrics()
_worker = Worker(
    store=_clients.store(_settings.store, _clock),
    remains=_clients.remains(_settings.store, _clock),
    clock=_clock,
    queue=SqsQueue(_clients.queues, _settings.queue_url),
    logger=_logger,
    metrics=_metrics,
)

gc.freeze()  # nor is it looked through later
gc.enable()


@_metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Hands over a batch of the stream, or works on a batch of the queue."""
    _logger.clear_state()  # what an earlier invocation was about
    _logger.append_keys(request_id=context.aws_request_id)
    with quietly(_logger):
        records = event["Records"]
        if records[0]["eventSource"] == "aws:dynamodb":
            return _worker.follow(records)
        return _worker.clean(records, context.get_remaining_time_in_millis())
