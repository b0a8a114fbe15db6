"""Log lines and metrics as CloudWatch reads them, and which handler a request is for."""

import io
import json
from typing import Any

import pytest

from api.router import Router
from conversations.clock import NANOSECONDS
from conversations.logs import Logger
from conversations.metrics import Metrics


class _Noon:
    def now_ns(self) -> int:
        return 1_767_268_800 * NANOSECONDS + 123_456_789  # 2026-01-01T12:00:00.123456789Z

    def sleep(self, seconds: float) -> None:
        raise AssertionError


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_says_when_where_and_what_it_is_about() -> None:
    stream = io.StringIO()
    logger = Logger("api", _Noon(), stream)
    logger.begin("r", "Root=1-5e1b4151-5ac6c58f5b5daa6a6f7b6d11;Parent=53995c3f42cd8ad8;Sampled=0")
    logger.append_keys(path="/x")

    logger.info("refused", extra={"code": "NotFound"})

    (line,) = _lines(stream)
    assert line.pop("location").startswith(f"{__name__}.test_a_line_says_when_where_and_what_it_is_about:")
    assert line == {
        "level": "INFO",
        "message": "refused",
        "timestamp": "2026-01-01T12:00:00.123Z",
        "service": "api",
        "request_id": "r",
        "xray_trace_id": "1-5e1b4151-5ac6c58f5b5daa6a6f7b6d11",
        "path": "/x",
        "code": "NotFound",
    }


@pytest.mark.parametrize("trace", [None, "", "junk", "Parent=1;Sampled=1"])
def test_an_invocation_says_nothing_of_the_last_one_and_may_not_be_traced(trace: str | None) -> None:
    stream = io.StringIO()
    logger = Logger("api", _Noon(), stream)
    logger.begin("first", "Root=1;Sampled=1")
    logger.append_keys(conversation_id="c")

    logger.begin("second", trace)
    logger.error("fault")

    (line,) = _lines(stream)
    assert (line["level"], line["request_id"]) == ("ERROR", "second")
    assert not {"conversation_id", "xray_trace_id"} & line.keys()


def test_what_cannot_be_written_as_json_ends_no_request() -> None:
    stream = io.StringIO()
    Logger("api", _Noon(), stream).warning("odd", extra={"value": object, "text": "line\nof \ud800 two"})
    assert _lines(stream)[0]["text"] == "line\nof \ud800 two"


def test_an_invocation_writes_what_it_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics("ConversationMemory", "turn", _Noon())
    with pytest.raises(ValueError, match="broken"), metrics.written():
        metrics.count("TurnsAsked")
        metrics.count("FallbackReads", 3)
        metrics.count("FallbackReads", 4)
        raise ValueError("broken")
    with metrics.written():
        pass

    assert json.loads(capsys.readouterr().out) == {
        "_aws": {
            "Timestamp": 1_767_268_800_123,
            "CloudWatchMetrics": [
                {
                    "Namespace": "ConversationMemory",
                    "Dimensions": [["service"]],
                    "Metrics": [
                        {"Name": "TurnsAsked", "Unit": "Count"},
                        {"Name": "FallbackReads", "Unit": "Count"},
                    ],
                }
            ],
        },
        "service": "turn",
        "TurnsAsked": 1,
        "FallbackReads": 7,
    }


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/a", ("list", {})),
        ("GET", "/a/1", ("get", {"one": "1"})),
        ("GET", "/a/%2F/b/x y", ("part", {"one": "%2F", "two": "x y"})),
        ("POST", "/a/delete", ("delete", {})),
        ("POST", "/a/1", None),
        ("GET", "/a/", None),
        ("GET", "/a//b/2", None),
        ("GET", "/a/1/b/2/", None),
        ("GET", "a", None),
        ("get", "/a", None),
        ("GET", "", None),
    ],
)
def test_a_request_is_for_the_handler_of_its_method_and_its_steps(method: str, path: str, found: Any) -> None:
    router = Router()
    for name, its_method, its_path in (
        ("list", "GET", "/a"),
        ("delete", "POST", "/a/delete"),
        ("get", "GET", "/a/<one>"),
        ("part", "GET", "/a/<one>/b/<two>"),
    ):
        router.add(its_method, its_path, lambda _, name=name, **ids: {"name": name, "ids": ids})

    match = router.find(method, path)

    called = match and match[0]({}, **match[1])
    assert (called and (called["name"], called["ids"])) == found
