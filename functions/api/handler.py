"""The function behind the HTTP API: everything is put together here, once for all requests of a process."""

import gc

gc.disable()  # what is loaded stays: looking for garbage in it would cost a cold start a fourteenth

import os
import random
import warnings
from pathlib import Path
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from api.app import App, log_keys
from api.invoker import LambdaInvoker
from api.memory import Memory
from api.searches import Searches
from api.settings import ApiSettings
from conversations import VERSION
from conversations.clients import Clients
from conversations.clock import SystemClock
from conversations.recall import SearchedRecall
from conversations.registration import registered_tools

warnings.filterwarnings("ignore", "No application metrics to publish")  # many requests have none

_settings = ApiSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_store = _clients.store(_settings.store, _clock)
_logger = Logger()
_metrics = Metrics()
_searches = Searches()
_app = App(
    Memory(
        store=_store,
        clock=_clock,
        invoker=LambdaInvoker(_clients.functions, _settings.turn_function),
        auth=_settings.auth,
        searches=_searches,
        system_prompt=_settings.system_prompt,
        limits=_settings.limits,
        tools=registered_tools(Path(__file__).parent.parent),
        recall=SearchedRecall(_clock, lambda: _searches.messages),
        message_updated_time=_settings.message_updated_time,
    ),
    {"version": VERSION, "stage": _settings.stage, "region": _settings.region},
    _logger,
    _metrics,
)

if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
    from snapshot_restore_py import register_after_restore  # type: ignore[import-untyped]  # Lambda's runtime has it

    register_after_restore(random.seed)  # else botocore would pause alike in all processes that come of one snapshot

gc.freeze()  # nor is it looked through later
gc.enable()


@_metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers one request of the HTTP API (payload version 2.0)."""
    _logger.clear_state()  # what an earlier invocation was about
    _logger.append_keys(request_id=context.aws_request_id, **log_keys(event))
    answer = _app.resolve(event, context)
    if lost := _store.take_lost_pins():
        _metrics.add_metric("LostPins", MetricUnit.Count, lost)
    return answer
