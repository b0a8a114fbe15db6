"""A turn over the real store, with a model that does what the test says."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations import turns
from conversations.clock import NANOSECONDS
from conversations.dynamo import DynamoStore
from conversations.errors import LeasedError, ModelError, ModelUnavailableError
from tests.bed.faults import fail_first, service_error
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said, tool_result
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, Script, deltas
from tests.integration.conftest import TestClock
from turn.worker import Worker


@pytest.fixture
def model() -> PlayedModel:
    return PlayedModel()


@pytest.fixture
def worker(lagging: LaggingStore, clock: TestClock, model: PlayedModel) -> Worker:
    return Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))


def _ask(api: Api, conversation_id: str, text: str = "q", **members: Any) -> tuple[str, Mapping[str, Any]]:
    """Ask for an answer; returns the message's id and the descriptor that would be sent."""
    path = f"/conversations/{conversation_id}/turns"
    asked = api.call("POST", path, {"content": said(text), **members})
    assert asked.status == 202, asked
    assert asked.body["turn"]["status"] == "pending"
    return asked.body["message"]["id"], api.invocations.descriptors[-1]


def _turn(api: Api, conversation_id: str, message_id: str, **query: Any) -> dict[str, Any]:
    answer = api.call("GET", f"/conversations/{conversation_id}/turns/{message_id}", query=query)
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    return body


def test_an_answer_becomes_a_message_of_its_own(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)

    outcome = worker.answer(dict(descriptor), PLENTY_MS)
    followed = _turn(api, conversation_id, message_id)

    assert outcome == {"outcome": "complete", "attempt": 1}
    assert followed["turn"]["status"] == "complete"
    assert followed["message"]["id"] == followed["turn"]["responseMessageId"] == message_id + ".response"
    assert followed["message"]["content"] == said("done")
    assert followed["message"]["usage"]["outputTokens"] == 5
    assert (followed["message"]["stopReason"], followed["message"]["modelId"]) == ("end_turn", "model")
    assert followed["message"]["associatedUserMessageId"] == message_id
    assert [request.messages for request in model.requests] == [[{"role": "user", "content": said("q")}]]


@pytest.mark.parametrize("withheld", [[], [2], [1], [1, 2], [0, 1, 2]], ids=lambda places: f"{len(places)} missing")
def test_a_turn_is_right_whatever_the_index_lacks_and_reads_no_more_than_that(
    api: Api, lagging: LaggingStore, worker: Worker, model: PlayedModel, withheld: list[int]
) -> None:
    conversation_id = api.create()
    first, descriptor = _ask(api, conversation_id, "first")
    worker.answer(dict(descriptor), PLENTY_MS)
    second, descriptor = _ask(api, conversation_id, "second")
    ids = [first, first + ".response", second]
    lagging.withhold(ids[place] for place in withheld)

    worker.answer(dict(descriptor), PLENTY_MS)

    assert model.requests[-1].messages == [
        {"role": "user", "content": said("first")},
        {"role": "assistant", "content": said("done")},
        {"role": "user", "content": said("second")},
    ]
    assert (lagging.index_queries, lagging.reads_by_id) == (1, len(withheld))


def test_the_history_shown_is_the_history_sent(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "be brief", "system")
    for text in ("one", "two", "three"):
        message_id, descriptor = _ask(api, conversation_id, text, aiContext={"page": text})
        shown = api.call(
            "GET", f"/conversations/{conversation_id}/history", query={"currentMessageId": message_id}
        ).body
        worker.answer(dict(descriptor), PLENTY_MS)

        assert model.requests[-1].messages == shown["messages"]
        assert model.requests[-1].system == shown["system"] == said("be brief")
        assert complaints(shown["messages"]) == []


def test_the_same_event_twice_in_a_row_asks_the_model_once(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id)

    outcomes = [worker.answer(dict(descriptor), PLENTY_MS)["outcome"] for _ in range(2)]

    assert outcomes == ["complete", "superseded"]
    assert len(model.requests) == 1


def test_the_same_event_twice_at_once_gives_one_answer(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    asked, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[Mapping[str, Any]]:
        asked.set()
        go_on.wait(10)
        yield from deltas("slow")

    model.scripts = [slow]
    first = threading.Thread(target=worker.answer, args=(dict(descriptor), PLENTY_MS))
    first.start()
    assert asked.wait(10)

    with pytest.raises(LeasedError):
        worker.answer(dict(descriptor), PLENTY_MS)
    go_on.set()
    first.join(10)

    assert _turn(api, conversation_id, message_id)["message"]["content"] == said("slow")
    assert len(model.requests) == 1


def test_a_lease_that_ran_out_is_taken_over_and_the_late_answer_is_not_written(
    api: Api, worker: Worker, model: PlayedModel, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.attempt.HEARTBEAT_NS", 3600 * NANOSECONDS)  # it hangs, and prolongs nothing
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    asked, go_on = threading.Event(), threading.Event()
    outcomes: list[Any] = []

    def stuck() -> Iterator[Mapping[str, Any]]:
        asked.set()
        go_on.wait(10)
        yield from deltas("too late")

    model.scripts = [stuck]
    late = threading.Thread(target=lambda: outcomes.append(worker.answer(dict(descriptor), PLENTY_MS)))
    late.start()
    assert asked.wait(10)
    clock.offset_s += turns.LEASE_MS / 1000 + 1
    second = worker.answer(dict(descriptor), PLENTY_MS)
    go_on.set()
    late.join(10)

    assert second == {"outcome": "complete", "attempt": 2}
    assert outcomes == [{"outcome": "superseded", "attempt": 1}]
    assert _turn(api, conversation_id, message_id)["message"]["content"] == said("done")


def _raising(error: Exception, *before: str) -> Script:
    def script() -> Iterator[Mapping[str, Any]]:
        yield from list(deltas(*before))[:-3]
        raise error

    return script


def test_what_passes_is_raised_and_the_lease_given_back(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    model.scripts = [_raising(ModelUnavailableError("throttled"))]

    with pytest.raises(ModelUnavailableError):
        worker.answer(dict(descriptor), PLENTY_MS)

    assert _turn(api, conversation_id, message_id)["turn"]["status"] == "running"
    assert worker.answer(dict(descriptor), PLENTY_MS) == {"outcome": "complete", "attempt": 2}


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (_raising(ModelError("ValidationException: too long")), "ModelError"),
        (_raising(ModelError("broke"), "half an ", "answer"), "ModelError"),
        (lambda: deltas("half an ", "answer", stop=None), "ModelError"),
    ],
    ids=["refused", "broken", "without its stop event"],
)
def test_what_the_model_will_repeat_fails_at_once_and_keeps_the_partial_text(
    api: Api, worker: Worker, model: PlayedModel, script: Script, code: str
) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    model.scripts = [script]

    assert worker.answer(dict(descriptor), PLENTY_MS)["outcome"] == "failed"
    turn = _turn(api, conversation_id, message_id)["turn"]

    assert (turn["status"], turn["error"]["code"]) == ("failed", code)
    assert turn["partialText"] in ("", "half an answer")
    assert worker.answer(dict(descriptor), PLENTY_MS)["outcome"] == "superseded"
    path = f"/conversations/{conversation_id}/messages"
    assert [m["id"] for m in api.call("GET", path).body["messages"]] == [message_id]


def test_a_turn_that_fails_after_more_than_an_item_holds_has_failed_with_its_beginning(
    api: Api, worker: Worker, model: PlayedModel
) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    texts = [os.urandom(50_000).hex() for _ in range(5)]
    model.scripts = [_raising(ModelError("broke"), *texts)]

    assert worker.answer(dict(descriptor), PLENTY_MS)["outcome"] == "failed"
    turn = _turn(api, conversation_id, message_id)["turn"]

    assert (turn["status"], turn["error"]["code"]) == ("failed", "ModelError")
    assert turn["partialLength"] > 300_000
    assert "".join(texts).startswith(turn["partialText"])


def test_a_failed_turn_is_left_out_of_the_next_history(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id, "fails")
    model.scripts = [_raising(ModelError("no"), "half")]
    worker.answer(dict(descriptor), PLENTY_MS)
    _, descriptor = _ask(api, conversation_id, "works")

    worker.answer(dict(descriptor), PLENTY_MS)

    assert model.requests[-1].messages == [{"role": "user", "content": said("works")}]


def test_a_fault_of_ours_gives_the_lease_back_and_is_raised(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id)
    model.scripts = [_raising(RuntimeError("bug"))]

    with pytest.raises(RuntimeError):
        worker.answer(dict(descriptor), PLENTY_MS)

    assert worker.answer(dict(descriptor), PLENTY_MS)["outcome"] == "complete"


def test_the_time_of_the_function_is_given_up_in_order(
    api: Api, worker: Worker, model: PlayedModel, clock: TestClock
) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)

    def endless() -> Iterator[Mapping[str, Any]]:
        yield from list(deltas("a start"))[:-3]
        time.sleep(20)

    model.scripts = [endless]
    started = time.monotonic()

    assert worker.answer(dict(descriptor), 1_500)["outcome"] == "failed"
    assert time.monotonic() - started < 5
    turn = _turn(api, conversation_id, message_id)["turn"]
    assert (turn["status"], turn["error"]["code"], turn["partialText"]) == ("failed", "Timeout", "a start")


def test_readers_follow_the_partial_text(api: Api, worker: Worker, model: PlayedModel, clock: TestClock) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    written, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[Mapping[str, Any]]:
        events = list(deltas("ünd ", "so on"))
        clock.offset_s += 1
        yield from events[:2]
        written.set()
        go_on.wait(10)
        yield from events[2:]

    model.scripts = [slow]
    thread = threading.Thread(target=worker.answer, args=(dict(descriptor), PLENTY_MS))
    thread.start()
    assert written.wait(10)
    partial = _turn(api, conversation_id, message_id, wait=5, after=0)["turn"]
    nothing_new = _turn(api, conversation_id, message_id, wait=1, after=4)["turn"]
    go_on.set()
    complete = _turn(api, conversation_id, message_id, wait=10, after=4)
    thread.join(10)

    assert (partial["status"], partial["partialText"], partial["partialLength"]) == ("running", "ünd ", 4)
    assert nothing_new["status"] == "running"
    assert complete["message"]["content"] == said("ünd so on")


def test_a_quiet_model_keeps_its_lease(
    api: Api, worker: Worker, model: PlayedModel, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.attempt.HEARTBEAT_NS", NANOSECONDS // 5)
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id)

    def quiet() -> Iterator[Mapping[str, Any]]:
        clock.offset_s += turns.LEASE_MS / 1000 - 1
        time.sleep(0.6)  # past the next heartbeat
        with pytest.raises(LeasedError):
            worker.answer(dict(descriptor), PLENTY_MS)
        clock.offset_s += 2
        with pytest.raises(LeasedError):
            worker.answer(dict(descriptor), PLENTY_MS)
        yield from deltas("at last")

    model.scripts = [quiet]

    assert worker.answer(dict(descriptor), PLENTY_MS) == {"outcome": "complete", "attempt": 1}


def test_a_look_whether_it_was_cancelled_is_one_read_and_other_messages_do_not_end_a_turn(
    api: Api,
    worker: Worker,
    model: PlayedModel,
    own_dynamodb: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conversations.attempt.LOOK_NS", NANOSECONDS // 5)
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id)
    reads: list[str] = []
    own_dynamodb.meta.events.register(
        "before-send.dynamodb", lambda event_name, **_: reads.append(event_name.rpartition(".")[2])
    )

    def quiet() -> Iterator[Mapping[str, Any]]:
        reads.clear()
        time.sleep(0.5)
        before_append = list(reads)
        api.say(conversation_id, "meanwhile")
        time.sleep(0.3)
        assert before_append == ["GetItem"] * 2
        yield from deltas("at last")

    model.scripts = [quiet]

    assert worker.answer(dict(descriptor), PLENTY_MS) == {"outcome": "complete", "attempt": 1}


def test_what_lambda_gave_up_is_marked_failed_unless_it_is_leased_or_complete(
    api: Api, worker: Worker, model: PlayedModel, clock: TestClock
) -> None:
    conversation_id = api.create()
    asked = [_ask(api, conversation_id, text) for text in ("never begun", "running", "complete", "elsewhere")]
    worker.answer(dict(asked[2][1]), PLENTY_MS)
    turns.claim(worker.store, clock, turns.Question(conversation_id, asked[1][0], "anonymous"))
    foreign = dict(asked[3][1]) | {"conversationId": "x" * 20}
    events = [asked[0][1], asked[1][1], asked[2][1], foreign]

    import json

    records = [
        {"messageId": str(place), "body": json.dumps({"requestPayload": event, "responsePayload": None})}
        for place, event in enumerate(events)
    ]
    answer = worker.give_up(records)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    states = [_turn(api, conversation_id, message_id)["turn"]["status"] for message_id, _ in asked]
    assert states == ["failed", "running", "complete", "pending"]
    clock.offset_s += 61
    assert worker.give_up(records[1:2]) == {"batchItemFailures": []}
    assert _turn(api, conversation_id, asked[1][0])["turn"]["error"]["code"] == "GivenUp"


@pytest.mark.parametrize(
    "change",
    [{"owner": "mallory"}, {"conversationId": "x" * 20}, {"currentMessageId": "x" * 20 + ".m"}],
    ids=["foreign", "missing", "message of another conversation"],
)
def test_a_descriptor_of_what_is_not_the_owners_is_refused(
    api: Api, worker: Worker, model: PlayedModel, change: dict[str, str]
) -> None:
    _, descriptor = _ask(api, api.create())

    assert worker.answer(dict(descriptor) | change, PLENTY_MS)["outcome"] == "refused"
    assert model.requests == []


def test_a_message_that_does_not_exist_fails_before_the_model_costs_anything(
    api: Api, worker: Worker, model: PlayedModel
) -> None:
    conversation_id = api.create()
    _, descriptor = _ask(api, conversation_id)

    outcome = worker.answer(dict(descriptor) | {"currentMessageId": f"{conversation_id}.nothing"}, PLENTY_MS)

    assert (outcome["outcome"], model.requests) == ("failed", [])


def test_a_continuation_uses_the_tools_of_its_question(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    tools = {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}]}
    _, descriptor = _ask(api, conversation_id, toolConfiguration=tools)

    def uses_tool() -> Iterator[Mapping[str, Any]]:
        start = {"toolUse": {"toolUseId": "t1", "name": "f"}}
        yield {"contentBlockStart": {"contentBlockIndex": 0, "start": start}}
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a": 1}'}}}}
        yield {"messageStop": {"stopReason": "tool_use"}}

    model.scripts = [uses_tool]
    worker.answer(dict(descriptor), PLENTY_MS)
    path = f"/conversations/{conversation_id}/turns"
    api.call("POST", path, {"content": [tool_result("t1")]})
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)

    assert [request.tool_configuration for request in model.requests] == [tools, tools]
    assert complaints(model.requests[-1].messages) == []
    assert model.requests[-1].messages[-1]["content"] == [tool_result("t1")]


def test_asking_again_with_the_same_key_starts_a_turn_that_was_not_started(
    api: Api, worker: Worker, model: PlayedModel
) -> None:
    conversation_id = api.create()
    path, headers = f"/conversations/{conversation_id}/turns", {"Idempotency-Key": "k"}
    api.invocations.is_down = True
    refused = api.call("POST", path, {"content": said("q")}, headers=headers)
    api.invocations.is_down = False
    asked = api.call("POST", path, {"content": said("q")}, headers=headers)
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)
    again = api.call("POST", path, {"content": said("q")}, headers=headers)

    assert (refused.status, asked.status, again.status) == (503, 202, 202)
    assert again.body["message"]["id"] == asked.body["message"]["id"]
    assert (asked.body["turn"]["status"], again.body["turn"]["status"]) == ("pending", "complete")
    assert len(api.invocations.descriptors) == len(model.requests) == 1


def test_a_turn_that_was_never_asked_for_is_not_there(api: Api) -> None:
    conversation_id = api.create()
    message = api.say(conversation_id, "x")

    for message_id in (message["id"], f"{conversation_id}.nothing", "nothing"):
        assert api.call("GET", f"/conversations/{conversation_id}/turns/{message_id}").status == 404


def test_any_stored_message_may_be_answered_by_the_three_members_alone(
    api: Api, worker: Worker, store: DynamoStore
) -> None:
    conversation_id = api.create()
    message = api.say(conversation_id, "x")
    event = {"conversationId": conversation_id, "currentMessageId": message["id"], "owner": "anonymous"}

    assert worker.answer(event, PLENTY_MS)["outcome"] == "complete"
    assert _turn(api, conversation_id, message["id"])["turn"]["status"] == "complete"


def test_a_large_answer_is_written_once_and_read_back(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)
    texts = [os.urandom(5_000).hex() for _ in range(12)]
    model.scripts = [lambda: deltas(*texts)]

    worker.answer(dict(descriptor), PLENTY_MS)

    assert _turn(api, conversation_id, message_id)["message"]["content"] == said("".join(texts))


def test_the_deployment_bounds_a_history_and_the_answer(
    api: Api, worker: Worker, model: PlayedModel, lagging: LaggingStore
) -> None:
    bounded = replace(worker, settings=replace(SETTINGS, history_tokens=20, max_output_tokens=7, system_prompt="s"))
    conversation_id = api.create()
    for text in ("a long question " * 5, "short"):
        _, descriptor = _ask(api, conversation_id, text)
        bounded.answer(dict(descriptor), PLENTY_MS)

    assert model.requests[-1].messages == [{"role": "user", "content": said("short")}]
    assert model.requests[-1].inference_configuration == {"maxTokens": 7}
    assert model.requests[-1].system == said("s")


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem", "TransactWriteItems"])
def test_a_conflict_on_any_write_of_a_turn_is_tried_again(
    api: Api, worker: Worker, model: PlayedModel, own_dynamodb: Any, clock: TestClock, operation: str
) -> None:
    """Single writes are refused too while a transaction is at the same item (TransactionConflictException)."""
    conversation_id = api.create()
    message_id, descriptor = _ask(api, conversation_id)

    def slow() -> Iterator[Mapping[str, Any]]:
        events = list(deltas("a", "b"))
        clock.offset_s += 1
        yield from events

    model.scripts = [slow]
    failed = fail_first(own_dynamodb, operation, 2, service_error("TransactionConflictException"))

    assert worker.answer(dict(descriptor), PLENTY_MS) == {"outcome": "complete", "attempt": 1}
    assert len(failed) == 2
    assert _turn(api, conversation_id, message_id)["message"]["content"] == said("ab")
