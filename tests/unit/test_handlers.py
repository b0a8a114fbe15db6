"""The three functions as Lambda keeps them warm: nothing of one invocation is said of the next."""

import importlib
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import snapshot_restore_py  # type: ignore[import-untyped]  # it publishes no types

from conversations.quiet import FaultError
from tests.bed.variables import OF_FUNCTIONS

ENVIRONMENT = {
    **OF_FUNCTIONS,
    "MESSAGES_TABLE": "m",
    "CONVERSATIONS_TABLE": "c",
    "BODIES_BUCKET": "b",
    "AUTH": "jwt",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "POWERTOOLS_LOG_LEVEL": "INFO",
}
EVENTS: dict[str, dict[str, Any]] = {
    "api": {
        "version": "2.0",
        "rawPath": "/conversations",
        "headers": {},
        "requestContext": {"http": {"method": "GET", "path": "/conversations"}, "stage": "$default", "requestId": "r"},
    },
    "turn": {"Records": [{"messageId": "1", "body": "junk"}]},
    "cleanup": {"Records": [{"messageId": "1", "eventSource": "aws:sqs", "body": "junk"}]},
}


class _Context:
    aws_request_id = "second"
    function_name = "f"
    memory_limit_in_mb = 1
    invoked_function_arn = "arn"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@contextmanager
def _handler(part: str, monkeypatch: pytest.MonkeyPatch, service: str = "warm") -> Iterator[Any]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(
        "POWERTOOLS_SERVICE_NAME", f"{service}-{part}"
    )  # loggers of one service write where the first did
    try:
        yield importlib.import_module(f"{part}.handler")
    finally:
        sys.modules.pop(f"{part}.handler", None)  # it is made for this environment


@pytest.mark.parametrize("part", EVENTS)
def test_what_an_invocation_is_about_is_not_said_of_the_next(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _handler(part, monkeypatch) as handler:
        handler._logger.append_keys(conversation_id="first", message_id="first", request_id="first")
        handler.lambda_handler(EVENTS[part], _Context())

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    logged = [line for line in lines if "level" in line]
    assert logged
    for line in logged:
        assert line["request_id"] == "second"
        assert line["service"] == f"warm-{part}"
        assert {"timestamp", "location", "message"} <= line.keys()
        assert not {"conversation_id", "message_id"} & line.keys()


@pytest.mark.parametrize(("start", "is_reseeded"), [("snap-start", True), ("on-demand", False)])
def test_processes_that_come_of_one_snapshot_do_not_draw_the_same_numbers(
    start: str, is_reseeded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", start)
    hooks = snapshot_restore_py.get_after_restore()
    hooks.clear()
    with _handler("api", monkeypatch):
        pass

    snapshot = random.getstate()
    for hook, arguments, named in hooks:
        hook(*arguments, **named)
    assert (random.getstate() != snapshot) == is_reseeded
    hooks.clear()


SECRET = "what-somebody-said"


def _repeat_the_secret(*_: Any) -> None:
    raise ValueError(f"invalid: {SECRET}")


@pytest.mark.parametrize("part", ["turn", "cleanup"])
def test_a_fault_is_told_by_its_kind_and_place_and_not_in_its_words(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _handler(part, monkeypatch, "faulty") as handler:
        worker = handler._worker
        replaced = type("Worker", (), {"give_up": _repeat_the_secret, "clean": _repeat_the_secret})()
        monkeypatch.setattr(handler, "_worker", replaced)
        with pytest.raises(FaultError) as raised:
            handler.lambda_handler(EVENTS[part], _Context())
        monkeypatch.setattr(handler, "_worker", worker)

    logged = capsys.readouterr().out
    assert str(raised.value) == "ValueError"
    assert raised.value.__suppress_context__
    assert SECRET not in logged
    (line,) = [json.loads(line) for line in logged.splitlines() if '"fault"' in line]
    assert line["kind"] == "ValueError"
    assert "_repeat_the_secret" in line["frames"][-1]
