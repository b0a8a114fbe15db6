"""Bedrock misbehaves, over real event streams and botocore: what becomes of the turn, and of the connection."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.bedrock import BedrockModel
from conversations.clients import Clients
from conversations.clock import NANOSECONDS
from conversations.errors import ModelUnavailableError
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said
from tests.bed.played_model import PLENTY_MS, SETTINGS
from tests.bed.replies import (
    Break,
    EndWithoutStop,
    Hold,
    Raw,
    Reply,
    StreamError,
    Text,
    denied,
    invalid,
    text,
    throttled,
    unavailable,
)
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.integration.conftest import TestClock
from turn.worker import Worker

pytestmark = pytest.mark.slow

READERS = "model-stream"
WITHIN_S = 10  # far below what a held answer takes
TOOL_START = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}
TOOL = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}


class Service:
    """The API and the turn function, with the real adapter of Bedrock."""

    def __init__(self, store: LaggingStore, clock: TestClock) -> None:
        self.api = Api(store, clock)
        model = BedrockModel(Clients().model)
        self.worker = Worker(store, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))
        self.path = f"/conversations/{self.api.create()}"

    def ask(self, content: str = "q", **members: Any) -> tuple[str, dict[str, Any]]:
        asked = self.api.call("POST", f"{self.path}/turns", {"content": said(content), **members})
        assert asked.status == 202, asked
        return f"{self.path}/turns/{asked.body['message']['id']}", dict(self.api.invocations.descriptors[-1])

    def turn(self, content: str = "q", **members: Any) -> dict[str, Any]:
        turn, event = self.ask(content, **members)
        self.worker.answer(event, PLENTY_MS)
        body: dict[str, Any] = self.api.call("GET", turn).body
        return body


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedBedrock]:
    with ScriptedBedrock() as scripted:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", scripted.url)
        yield scripted


@pytest.fixture
def service(bedrock: ScriptedBedrock, lagging: LaggingStore, clock: TestClock) -> Service:
    return Service(lagging, clock)


def test_two_throttles_pass_unnoticed(service: Service, bedrock: ScriptedBedrock) -> None:
    bedrock.script(throttled(), throttled(), text("fine"))
    followed = service.turn()

    assert (followed["message"]["content"], followed["turn"]["attempt"]) == (said("fine"), 1)
    assert len(bedrock.requests) == 3


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([unavailable()] * 3, marks=pytest.mark.slow),
        [Reply([Text(["half"]), StreamError("throttlingException")])],
        [Reply([Text(["half"]), StreamError("serviceUnavailableException")])],
    ],
    ids=["5xx", "throttled in the stream", "5xx in the stream"],
)
def test_what_passes_is_asked_again_by_lambda(service: Service, bedrock: ScriptedBedrock, answers: list[Any]) -> None:
    bedrock.script(*answers)
    turn, event = service.ask()

    with pytest.raises(ModelUnavailableError):
        service.worker.answer(event, PLENTY_MS)
    bedrock.script(text("fine"))

    assert service.worker.answer(event, PLENTY_MS) == {"outcome": "complete", "attempt": 2}
    assert service.api.call("GET", turn).body["message"]["content"] == said("fine")


@pytest.mark.parametrize(
    ("answer", "partial", "told"),
    [
        (Reply([Text(["half"]), EndWithoutStop()]), "half", "broke off"),
        (Reply([Text(["half"]), Break()]), "half", "broke off"),
        (Reply([Break()]), "", "broke off"),
        (Reply([Text(["half"]), StreamError("modelStreamErrorException", "lost")]), "half", "lost"),
        (Reply([Text(["half"]), StreamError("validationException", "no")]), "half", "no"),
        (invalid("not that"), "", "not that"),
        (invalid("arn:aws:bedrock:eu-west-1:123456789012:prompt/x is gone"), "", "Exception: (a resource) is gone"),
        (denied(), "", "may not use the model"),
    ],
    ids=[
        *("cut before its stop event", "connection breaks", "at once"),
        *("an exception in it", "refused in it", "refused", "names a resource", "denied"),
    ],
)
def test_what_the_model_would_do_again_fails_with_the_text_so_far(
    service: Service, bedrock: ScriptedBedrock, answer: Any, partial: str, told: str
) -> None:
    bedrock.script(answer)
    turn = service.turn()["turn"]

    assert (turn["status"], turn["error"]["code"], turn["partialText"]) == ("failed", "ModelError", partial)
    assert told in turn["error"]["message"]
    bedrock.script(text("fine"))
    service.turn("again")
    assert bedrock.requests[-1].body["messages"] == [{"role": "user", "content": said("again")}]


def test_blank_blocks_and_unknown_kinds_leave_an_answer_that_can_be_sent_again(
    service: Service, bedrock: ScriptedBedrock
) -> None:
    unknown = [
        Raw("contentBlockStart", {"contentBlockIndex": 7, "start": {"hologram": {"id": "h"}}}),
        Raw("contentBlockDelta", {"contentBlockIndex": 7, "delta": {"hologram": {"depth": 3}}}),
        Raw("contentBlockStop", {"contentBlockIndex": 7}),
        Raw("weather", {"sky": "blue"}),
    ]
    bedrock.script(Reply([Text([""]), Text(["  "]), *unknown, Text(["seen"])]))
    assert [block for block in service.turn()["message"]["content"] if block["text"].strip()] == said("seen")
    service.turn("again")

    sent = bedrock.requests[-1].body["messages"]
    assert complaints(sent) == []
    assert sent[1]["content"] == said("seen")


def test_an_empty_chunk_in_a_tools_input_loses_nothing(service: Service, bedrock: ScriptedBedrock) -> None:
    chunks = ["", '{"a":', "", " 1}", ""]
    deltas = [
        Raw("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": chunk}}}) for chunk in chunks
    ]
    bedrock.script(Reply([Raw("contentBlockStart", TOOL_START), *deltas], stop_reason="tool_use"))

    [block] = service.turn(toolConfiguration=TOOL)["message"]["content"]
    assert block["toolUse"]["input"] == {"a": 1}


def test_an_answer_cut_at_its_length_is_complete_and_says_so(service: Service, bedrock: ScriptedBedrock) -> None:
    bedrock.script(text("only a pa", stop_reason="max_tokens"))
    message = service.turn()["message"]

    assert (message["content"], message["stopReason"]) == (said("only a pa"), "max_tokens")
    assert (message["usage"]["inputTokens"], message["latencyMs"]) == (11, 1)


# Time and cancelling


def _cancelled(service: Service, turn: str, hold: Hold) -> Callable[[], None]:
    def cancel() -> None:
        assert hold.reached.wait(WITHIN_S)
        assert service.api.call("DELETE", turn).status == 200

    return cancel


def _readers() -> int:
    return sum(thread.name == READERS for thread in threading.enumerate())


def _let_go() -> bool:
    until = time.monotonic() + WITHIN_S
    while _readers() and time.monotonic() < until:
        time.sleep(0.02)
    return not _readers()


def test_a_cancelled_turn_lets_a_model_go_that_says_nothing(service: Service, bedrock: ScriptedBedrock) -> None:
    """The model is held for half a minute: neither the turn nor the thread that reads waits for it."""
    hold = Hold()
    bedrock.script(Reply([Text(["half"]), hold, Text([" more"])]))
    turn, event = service.ask()
    canceller = threading.Thread(target=_cancelled(service, turn, hold))
    canceller.start()
    started = time.monotonic()

    outcome = service.worker.answer(event, PLENTY_MS)
    took_s = time.monotonic() - started
    canceller.join(WITHIN_S)
    is_let_go = _let_go()
    hold.released.set()

    assert outcome == {"outcome": "superseded", "attempt": 1}
    assert took_s < WITHIN_S
    assert is_let_go
    assert service.api.call("GET", turn).body["turn"]["status"] == "cancelled"
    bedrock.script(text("fine"))
    service.turn("next")
    assert bedrock.requests[-1].body["messages"] == [{"role": "user", "content": said("next")}]


def test_a_cancelled_turn_may_be_asked_again(service: Service, bedrock: ScriptedBedrock) -> None:
    hold = Hold()
    bedrock.script(Reply([hold]), text("at last"))
    turn, event = service.ask()
    canceller = threading.Thread(target=_cancelled(service, turn, hold))
    canceller.start()
    service.worker.answer(event, PLENTY_MS)
    canceller.join(WITHIN_S)
    hold.released.set()

    assert service.api.call("POST", turn).status == 202
    service.worker.answer(dict(service.api.invocations.descriptors[-1]), PLENTY_MS)
    followed = service.api.call("GET", turn).body

    assert (followed["turn"]["attempt"], followed["message"]["content"]) == (2, said("at last"))


def test_a_function_of_five_seconds_gives_a_slow_model_up_in_order(
    service: Service, bedrock: ScriptedBedrock, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = Hold()
    bedrock.script(Reply([Text(["a start"]), hold]))
    turn, event = service.ask()
    began_ns = clock.now_ns()
    monkeypatch.setattr(clock, "now_ns", lambda: began_ns + int(clock.offset_s * NANOSECONDS))

    def pass_time() -> None:
        assert hold.reached.wait(WITHIN_S)
        clock.offset_s += 1
        until = time.monotonic() + WITHIN_S
        while not service.api.call("GET", turn).body["turn"]["partialText"] and time.monotonic() < until:
            time.sleep(0.05)
        clock.offset_s += 3

    passing = threading.Thread(target=pass_time)
    passing.start()
    outcome = service.worker.answer(event, 5_000)
    passing.join(WITHIN_S)
    is_let_go = _let_go()
    hold.released.set()

    found = service.api.call("GET", turn).body["turn"]
    assert (outcome["outcome"], found["status"], found["error"]["code"]) == ("failed", "failed", "Timeout")
    assert found["partialText"] == "a start"
    assert is_let_go


def test_two_turns_of_one_conversation_at_once_are_both_answered(service: Service, bedrock: ScriptedBedrock) -> None:
    first, first_event = service.ask("one")
    second, second_event = service.ask("two")
    threads = [
        threading.Thread(target=service.worker.answer, args=(event, PLENTY_MS)) for event in (first_event, second_event)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S)

    answers = [service.api.call("GET", turn).body["message"]["content"] for turn in (first, second)]
    assert answers == [said("You said: one"), said("You said: two")]
