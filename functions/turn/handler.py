"""The function that answers messages: invoked asynchronously with a descriptor, and by its own failure queue."""

import gc

gc.disable()  # what is loaded stays: looking for garbage in it would cost a cold start a fourteenth

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.bedrock import BedrockModel
from conversations.clients import Clients
from conversations.clock import SystemClock
from conversations.lambda_tools import LambdaTools
from conversations.quiet import quietly
from conversations.recall import SearchedRecall
from conversations.registration import registered_tools
from turn.descriptor import is_of_appsync
from turn.settings import TurnSettings
from turn.worker import Worker, time_to_give_up

if TYPE_CHECKING:
    from turn.appsync.worker import AppSyncWorker

warnings.filterwarnings("ignore", "No application metrics to publish")  # many requests have none

_settings = TurnSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_logger = Logger()
_metrics = Metrics()
_model = BedrockModel(_clients.model)
_toolbox = LambdaTools(registered_tools(Path(__file__).parent.parent), _clients.tools)
_worker = Worker(
    store=_clients.store(_settings.store, _clock),
    clock=_clock,
    model=_model,
    settings=_settings,
    logger=_logger,
    metrics=_metrics,
    toolbox=_toolbox,
    recall=SearchedRecall(_clock),
)

gc.freeze()  # nor is it looked through later
gc.enable()


@_metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers the message of a descriptor or of an event of AppSync, or gives up a batch of the failure queue."""
    _logger.clear_state()  # what an earlier invocation was about
    _logger.append_keys(request_id=context.aws_request_id)
    with quietly(_logger):
        if isinstance(event, dict) and "Records" in event:
            return _worker.give_up(event["Records"])
        if is_of_appsync(event):
            return _appsync_worker().answer(event, time_to_give_up(_clock, context.get_remaining_time_in_millis()))
        return _worker.answer(event, context.get_remaining_time_in_millis())


@cache
def _appsync_worker() -> "AppSyncWorker":
    from turn.appsync.client import new_pool  # noqa: PLC0415 - a cold start does not pay for it
    from turn.appsync.worker import AppSyncWorker  # noqa: PLC0415
    from turn.reporting import Reports  # noqa: PLC0415

    return AppSyncWorker(
        pool=new_pool(),
        clock=_clock,
        model=_model,
        settings=_settings,
        logger=_logger,
        reports=Reports(_logger, _metrics),
        toolbox=_toolbox,
    )
