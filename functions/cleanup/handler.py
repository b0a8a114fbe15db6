"""The function that removes what deleted and expired conversations leave behind: invoked by the stream of the table of
conversations, and by its own queue.
"""

import gc

gc.disable()  # what is loaded stays: looking for garbage in it would cost a cold start a fourteenth

import os
from typing import Any

from cleanup.queue import SqsQueue
from cleanup.settings import CleanupSettings
from cleanup.worker import Worker
from conversations.clients import Clients
from conversations.clock import SystemClock
from conversations.logs import Logger
from conversations.metrics import Metrics
from conversations.quiet import quietly

_settings = CleanupSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_logger = Logger(os.environ["SERVICE_NAME"], _clock)
_metrics = Metrics(os.environ["METRICS_NAMESPACE"], os.environ["SERVICE_NAME"], _clock)
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


@_metrics.written()
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Hands over a batch of the stream, or works on a batch of the queue."""
    _logger.begin(context.aws_request_id, os.environ.get("_X_AMZN_TRACE_ID"))
    with quietly(_logger):
        records = event["Records"]
        if records[0]["eventSource"] == "aws:dynamodb":
            return _worker.follow(records)
        return _worker.clean(records, context.get_remaining_time_in_millis())
