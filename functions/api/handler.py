"""The function behind the HTTP API: everything is put together here, once for all requests of a process."""

import gc

gc.disable()  # what is loaded stays: looking for garbage in it would cost a cold start a fourteenth

import os
import random
from pathlib import Path
from typing import Any

from api.app import App, log_keys
from api.invoker import LambdaInvoker
from api.memory import Memory
from api.searches import Searches
from api.settings import ApiSettings
from conversations import VERSION
from conversations.clients import Clients
from conversations.clock import SystemClock
from conversations.logs import Logger
from conversations.metrics import Metrics
from conversations.recall import SearchedRecall
from conversations.registration import registered_tools

_settings = ApiSettings.from_env(os.environ)
_clients = Clients()
_clock = SystemClock()
_store = _clients.store(_settings.store, _clock)
_logger = Logger(os.environ["SERVICE_NAME"], _clock)
_metrics = Metrics(os.environ["METRICS_NAMESPACE"], os.environ["SERVICE_NAME"], _clock)
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


@_metrics.written()
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers one request of the HTTP API (payload version 2.0)."""
    _logger.begin(context.aws_request_id, os.environ.get("_X_AMZN_TRACE_ID"))
    _logger.append_keys(**log_keys(event))
    answer = _app.resolve(event)
    if lost := _store.take_lost_pins():
        _metrics.count("LostPins", lost)
    return answer
