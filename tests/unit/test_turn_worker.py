"""What the turn function makes of records of its failure queue, whatever stands in them."""

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations import turns
from conversations.clock import SystemClock
from conversations.errors import BusyError, LeasedError
from conversations.settings import StoreSettings
from turn.settings import TurnSettings
from turn.worker import Worker

SETTINGS = TurnSettings(StoreSettings("", "", ""), "model", "", 100_000, None)
EVENT = {"conversationId": "c" * 20, "currentMessageId": "c" * 20 + ".m", "owner": "alice"}


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics("test", "test")
    metrics.clear_metrics()  # all of them share what is counted, and other tests count too
    return metrics


@pytest.fixture
def worker(metrics: Metrics) -> Worker:
    nothing = cast(Any, None)
    return Worker(nothing, SystemClock(), nothing, SETTINGS, Logger(service="test"), metrics)


def _record(message_id: str, event: Mapping[str, Any] = EVENT) -> dict[str, str]:
    return {"messageId": message_id, "body": json.dumps({"requestPayload": event})}


def _given_up(monkeypatch: pytest.MonkeyPatch, *outcomes: bool | Exception) -> None:
    """Let giving up turns come to this."""
    left = list(outcomes)

    def give_up(*_: Any, **__: Any) -> bool:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(turns, "give_up", give_up)


def _failed(metrics: Metrics) -> int:
    told = metrics.metric_set.get("TurnsFailed", {"Value": []})["Value"]
    metrics.clear_metrics()
    return int(sum(told))


def test_only_what_was_marked_failed_counts_as_failed(
    worker: Worker, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    _given_up(monkeypatch, True, False, True, LeasedError(), BusyError("busy"))

    answer = worker.give_up([_record(str(place)) for place in range(5)])

    assert answer == {"batchItemFailures": [{"itemIdentifier": "3"}, {"itemIdentifier": "4"}]}
    assert _failed(metrics) == 2


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "5", "null", '"x"', "{}", '{"requestPayload": []}', pytest.param("[" * 100_000, id="deep")],
)
def test_what_is_no_record_of_an_invocation_does_not_keep_its_batch(
    worker: Worker, metrics: Metrics, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    _given_up(monkeypatch, True)

    answer = worker.give_up([{"messageId": "0", "body": body}, _record("1")])

    assert answer == {"batchItemFailures": []}
    assert _failed(metrics) == 1


def test_an_event_of_appsync_does_not_stay_in_the_queue(
    worker: Worker, metrics: Metrics, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It holds the user's token. Only one that was sent to the function and not to its alias can come here."""
    _given_up(monkeypatch, True)
    of_appsync = {
        **EVENT,
        "graphqlApiEndpoint": "https://a.example",
        "request": {"headers": {"authorization": "ey.x.y"}},
    }

    assert worker.give_up([_record("0", of_appsync), _record("1")]) == {"batchItemFailures": []}

    assert _failed(metrics) == 1
    assert "ey.x.y" not in "".join(capsys.readouterr())
