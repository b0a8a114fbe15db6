"""What happens when two things happen at once, or when a write was carried out and its answer lost."""

import json
import os
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations import turns
from conversations.dynamo import DynamoStore
from conversations.errors import SupersededError
from conversations.model import Draft
from tests.bed.faults import answering, fail_first, write_and_hang_up
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock
from turn.worker import Worker


@pytest.fixture
def model() -> PlayedModel:
    return PlayedModel()


@pytest.fixture
def worker(lagging: LaggingStore, clock: TestClock, model: PlayedModel) -> Worker:
    return Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))


def _ask(api: Api, text: str = "q") -> tuple[str, str, dict[str, Any]]:
    conversation_id = api.create()
    asked = api.call("POST", f"/conversations/{conversation_id}/turns", {"content": said(text)})
    return conversation_id, asked.body["message"]["id"], dict(api.invocations.descriptors[-1])


def _question(conversation_id: str, message_id: str) -> turns.Question:
    return turns.Question(conversation_id, message_id, "anonymous")


def _objects(s3: Any, tables: Tables) -> int:
    return int(s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"])


def _during(store: Any, method: str, act: Callable[[], Any]) -> Any:
    """Do something once, right before the store's next call of this method."""
    original: Callable[..., Any] = getattr(store, method)
    done: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(1)
            act()
        return original(*args, **kwargs)

    setattr(store, method, call)
    return done


# Appending


def test_answers_that_name_no_question_race_and_all_are_kept(api: Api, store: DynamoStore) -> None:
    """The first becomes the answer; the others stand where they were written."""
    conversation_id = api.create()
    api.say(conversation_id, "q")

    with ThreadPoolExecutor(6) as pool:
        own = [Api(api.store, api.clock) for _ in range(6)]
        messages = list(pool.map(lambda place: own[place].say(conversation_id, str(place), "assistant"), range(6)))

    assert sorted(message["position"] for message in messages) == [2, 3, 4, 5, 6, 7]
    assert sum("associatedUserMessageId" in message for message in messages) == 1


def test_a_large_message_that_is_written_again_after_a_clear_keeps_its_object(
    api: Api, own_dynamodb: Any, store: DynamoStore, s3: Any, tables: Tables
) -> None:
    """The first try was carried out in the chain that the clear hid, and cleanup removes that message's object."""
    conversation_id = api.create()
    text = os.urandom(50_000).hex()

    def write_clear_and_hang_up(request: Any) -> Any:
        try:
            return write_and_hang_up(request)
        finally:
            Api(api.store, api.clock).call("DELETE", f"/conversations/{conversation_id}/messages")

    fail_first(own_dynamodb, "TransactWriteItems", 1, write_clear_and_hang_up)
    message = api.say(conversation_id, text)
    keys = [found["Key"] for found in s3.list_objects_v2(Bucket=tables.bodies)["Contents"]]
    stored = store.message(message["id"])
    assert stored is not None

    assert message["position"] == 1
    assert len(keys) == 2
    assert stored.large_key in keys
    cleared = [key for key in keys if key != stored.large_key]
    store.unshelve([Draft("x", "user", (), large_key=cleared[0])])
    assert api.call("GET", f"/conversations/{conversation_id}/messages/{message['id']}").body["content"] == said(text)


def test_a_refused_message_leaves_no_object_and_a_foreign_one_writes_none(
    lagging: LaggingStore, clock: TestClock, s3: Any, tables: Tables
) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    conversation_id = api.create()
    large = {"role": "user", "content": said(os.urandom(50_000).hex()), "clientMessageId": "m"}
    path = f"/conversations/{conversation_id}/messages"
    api.as_user("bob")
    assert api.call("POST", path, large).status == 404
    assert _objects(s3, tables) == 0
    api.as_user("alice")
    assert api.call("POST", path, large).status == 201
    assert api.call("POST", path, large | {"content": said(os.urandom(50_000).hex())}).status == 422
    assert api.call("POST", path, large).status == 201
    assert _objects(s3, tables) == 1


# Creating


@pytest.mark.parametrize("members", [{}, {"sessionId": "s"}])
def test_a_conversation_whose_answer_was_lost_is_made_once(
    api: Api, own_dynamodb: Any, members: dict[str, str]
) -> None:
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    created = api.call("POST", "/conversations", members)

    assert created.status == 201
    listed = api.call("GET", "/conversations").body["conversations"]
    assert [conversation["id"] for conversation in listed] == [created.body["id"]]


def test_a_key_does_not_bring_back_what_expired(api: Api, dynamodb: Any, tables: Tables) -> None:
    """TTL has removed the conversation, and nobody its messages yet."""
    headers = {"Idempotency-Key": "k"}
    created = api.call("POST", "/conversations", {"ttlDays": 1}, headers=headers)
    conversation_id = created.body["id"]
    api.say(conversation_id, "old secret")
    dynamodb.delete_item(TableName=tables.conversations, Key={"id": {"S": conversation_id}})

    again = api.call("POST", "/conversations", {"ttlDays": 1}, headers=headers)

    assert (again.status, again.body["error"]["code"]) == (409, "ConversationDeleted")


def test_a_key_of_an_expired_conversation_says_so(api: Api, clock: TestClock) -> None:
    headers = {"Idempotency-Key": "k"}
    api.call("POST", "/conversations", {"ttlDays": 1}, headers=headers)
    clock.offset_s = 25 * 3600

    again = api.call("POST", "/conversations", {"ttlDays": 1}, headers=headers)

    assert (again.status, again.body["error"]["code"]) == (409, "ConversationDeleted")


def test_a_key_with_a_session_id_gets_the_same_answer(api: Api) -> None:
    headers = {"Idempotency-Key": "k"}
    first = api.call("POST", "/conversations", {"sessionId": "s"}, headers=headers)
    again = api.call("POST", "/conversations", {"sessionId": "s"}, headers=headers)
    other = api.call("POST", "/conversations", {"sessionId": "s", "name": "n"}, headers=headers)

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert (other.status, other.body["error"]["code"]) == (422, "IdempotencyMismatch")


# Turns


def test_a_claim_whose_answer_was_lost_is_still_its_own(
    api: Api, worker: Worker, own_dynamodb: Any, model: PlayedModel
) -> None:
    _, _, descriptor = _ask(api)
    fail_first(own_dynamodb, "PutItem", 1, write_and_hang_up)

    assert worker.answer(descriptor, PLENTY_MS) == {"outcome": "complete", "attempt": 1}
    assert len(model.requests) == 1


def test_an_answer_whose_writing_seemed_to_fail_is_there_once(
    api: Api, worker: Worker, own_dynamodb: Any, model: PlayedModel, s3: Any, tables: Tables
) -> None:
    conversation_id, message_id, descriptor = _ask(api)
    texts = [os.urandom(10_000).hex() for _ in range(6)]

    def slow() -> Iterator[Mapping[str, Any]]:
        fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)
        yield from deltas(*texts)

    model.scripts = [slow]

    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "complete"
    page = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"]
    assert [message["id"] for message in page] == [message_id, message_id + ".response"]
    assert page[1]["content"] == said("".join(texts))
    assert _objects(s3, tables) == 1


def test_an_answer_that_comes_too_late_leaves_no_object(
    api: Api, worker: Worker, model: PlayedModel, s3: Any, tables: Tables
) -> None:
    conversation_id, message_id, descriptor = _ask(api)

    def cancelled() -> Iterator[Mapping[str, Any]]:
        yield from deltas(*(os.urandom(10_000).hex() for _ in range(6)))
        Api(api.store, api.clock).call("DELETE", f"/conversations/{conversation_id}/turns/{message_id}")

    model.scripts = [cancelled]

    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "superseded"
    assert _objects(s3, tables) == 0


def test_a_cancel_between_the_reads_of_a_finish_is_not_overrun(
    api: Api, lagging: LaggingStore, worker: Worker, model: PlayedModel
) -> None:
    """A batch read is no snapshot: the turn may be read before the cancel, and the conversation after it."""
    conversation_id, message_id, descriptor = _ask(api)
    path = f"/conversations/{conversation_id}/turns/{message_id}"
    other = Api(lagging._store, api.clock)

    def finishing() -> Iterator[Mapping[str, Any]]:
        yield from deltas("answer")
        _during(lagging, "append", lambda: other.call("DELETE", path))

    model.scripts = [finishing]

    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "superseded"
    assert api.call("GET", path).body["turn"]["status"] == "cancelled"


def test_a_turn_is_settled_by_a_head_that_was_read_before_it(api: Api, lagging: LaggingStore, clock: TestClock) -> None:
    conversation_id, message_id, _ = _ask(api)
    question = _question(conversation_id, message_id)
    head, turn = turns.claim(lagging, clock, question)
    reads: list[str] = []
    original = lagging._store.snapshot

    def snapshot(conversation: str, **wanted: Any) -> Any:
        found = original(conversation, **wanted)
        reads.append("turn" if wanted.get("turns") else "head")
        if reads == ["head"]:
            Api(lagging._store, clock).call("DELETE", f"/conversations/{conversation_id}/turns/{message_id}")
            reads.clear()
            reads.append("head")
        return found

    lagging.snapshot = snapshot  # type: ignore[attr-defined]

    with pytest.raises(SupersededError):
        turns.fail(lagging, clock, question, turn, {"code": "x", "message": "y"}, "")
    assert api.call("GET", f"/conversations/{conversation_id}").body["id"] == head.id


def test_only_the_attempt_that_holds_a_turn_ends_it(api: Api, store: DynamoStore, clock: TestClock) -> None:
    conversation_id, message_id, _ = _ask(api)
    question = _question(conversation_id, message_id)
    _, first = turns.claim(store, clock, question)
    clock.offset_s = turns.LEASE_MS / 1000 + 1
    _, second = turns.claim(store, clock, question)
    answer = Draft("response", "assistant", said("a"), message_id)

    assert (first.attempt, second.attempt) == (1, 2)
    with pytest.raises(SupersededError):
        turns.finish(store, clock, question, first, answer)
    with pytest.raises(SupersededError):
        turns.fail(store, clock, question, first, {"code": "x", "message": "y"}, "")
    with pytest.raises(SupersededError):
        turns.advance(store, clock, first, "text")
    turns.finish(store, clock, question, second, answer)


@pytest.mark.parametrize("end", ["delete", "expire"])
def test_a_turn_of_what_is_gone_is_not_finished(
    api: Api, store: DynamoStore, clock: TestClock, dynamodb: Any, tables: Tables, end: str
) -> None:
    conversation_id, message_id, _ = _ask(api)
    question = _question(conversation_id, message_id)
    _, turn = turns.claim(store, clock, question)
    if end == "delete":
        api.call("DELETE", f"/conversations/{conversation_id}")
    else:
        dynamodb.update_item(
            TableName=tables.conversations,
            Key={"id": {"S": conversation_id}},
            UpdateExpression="SET expiresAt = :past",
            ExpressionAttributeValues={":past": {"N": "1000"}},
        )

    with pytest.raises(SupersededError):
        turns.finish(store, clock, question, turn, Draft("response", "assistant", said("a"), message_id))


def test_asking_again_whose_answer_was_lost_starts_the_turn(api: Api, own_dynamodb: Any) -> None:
    conversation_id, message_id, _ = _ask(api)
    path = f"/conversations/{conversation_id}/turns/{message_id}"
    api.call("DELETE", path)
    before = len(api.invocations.descriptors)
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    assert api.call("POST", path).status == 202
    assert len(api.invocations.descriptors) == before + 1


def test_an_invocation_that_was_given_up_does_not_end_a_turn_that_was_asked_again(
    api: Api, worker: Worker, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id, message_id, _ = _ask(api)
    path = f"/conversations/{conversation_id}/turns/{message_id}"
    api.call("DELETE", path)
    api.call("POST", path)
    again = api.invocations.descriptors[-1]
    error = {"code": "GivenUp", "message": "m"}

    assert turns.give_up(store, clock, _question(conversation_id, message_id), error, asked_key=None) is False
    assert api.call("GET", path).body["turn"]["status"] == "pending"
    asked_key = again["askedKey"]
    assert turns.give_up(store, clock, _question(conversation_id, message_id), error, asked_key=asked_key) is True
    assert api.call("GET", path).body["turn"]["status"] == "failed"


def test_nothing_reads_a_stream_that_nobody_waits_for(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id, message_id, descriptor = _ask(api)
    closed, cancelled = threading.Event(), threading.Event()
    read: list[int] = []

    def endless() -> Iterator[Mapping[str, Any]]:
        try:
            yield from list(deltas("begun"))[:2]
            Api(api.store, api.clock).call("DELETE", f"/conversations/{conversation_id}/turns/{message_id}")
            api.clock.offset_s = 26  # type: ignore[attr-defined]  # the next heartbeat notices
            cancelled.set()
            while True:
                read.append(1)
                yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "."}}}
                closed.wait(0.05)
        finally:
            closed.set()

    model.scripts = [endless]

    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "superseded"
    assert cancelled.is_set()
    assert closed.wait(5)


class _Between:
    """Lets something happen once between the reads of a conversation's head and of what is said of it.

    One BatchGetItem reads item after item, so it is answered with what is said as it was before, and the head as it is
    afterwards.
    """

    def __init__(self, dynamodb: Any, table: str, conversation_id: str, act: Callable[[], Any]) -> None:
        self._dynamodb, self._table, self._id, self._act = dynamodb, table, conversation_id, act
        self.happened = False

    def __call__(self, request: Any, event_name: str, **_: Any) -> Any:
        if self.happened or f"{self._id}.about" not in request.body.decode():
            return None
        if not event_name.endswith("GetItem"):
            return None
        self.happened = True
        before = self._read(f"{self._id}.about")
        self._act()
        if event_name.endswith("BatchGetItem") and f'"{self._id}"' in request.body.decode():
            document = {"Responses": {self._table: [before, self._read(self._id)]}, "UnprocessedKeys": {}}
            body = json.dumps(document, default=lambda value: b64encode(value).decode())
            return answering(200, "application/x-amz-json-1.0", body)(request)
        return None

    def _read(self, item_id: str) -> Any:
        return self._dynamodb.get_item(TableName=self._table, Key={"id": {"S": item_id}})["Item"]


@pytest.mark.parametrize("ending", ["", "/messages"], ids=["change", "clear"])
def test_a_change_between_the_reads_of_another_is_not_undone(
    api: Api, own_dynamodb: Any, dynamodb: Any, tables: Tables, ending: str
) -> None:
    conversation_id = api.create(name="before " * 100, metadata={"a": 1})
    path = f"/conversations/{conversation_id}"
    other = {"name": "meanwhile " * 100}
    between = _Between(
        dynamodb, tables.conversations, conversation_id, lambda: Api(api.store, api.clock).call("PATCH", path, other)
    )
    own_dynamodb.meta.events.register("before-send.dynamodb", between)

    if ending:
        assert api.call("DELETE", path + ending).status == 204
    else:
        assert api.call("PATCH", path, {"metadata": {"a": 2}}).status == 200

    assert between.happened
    after = api.call("GET", path).body
    assert (after["name"], after["metadata"]) == (other["name"], {"a": 1 if ending else 2})


def test_a_change_after_a_clear_is_no_clear(api: Api, store: DynamoStore) -> None:
    """Cleanup hears of every write that says when it cleared."""
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    for act in (
        lambda: api.call("PATCH", path, {"name": "n"}),
        lambda: api.say(conversation_id, "x"),
    ):
        api.call("DELETE", f"{path}/messages")
        cleared = store.snapshot(conversation_id).conversation
        act()
        after = store.snapshot(conversation_id).conversation
        assert cleared is not None
        assert after is not None
        assert (cleared.cleared_at is not None, after.cleared_at) == (True, None)


def test_a_clear_whose_answer_was_lost_clears_once(api: Api, own_dynamodb: Any, store: DynamoStore) -> None:
    conversation_id = api.create()
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    assert api.call("DELETE", f"/conversations/{conversation_id}/messages").status == 204
    conversation = store.snapshot(conversation_id).conversation
    assert conversation is not None
    assert conversation.chain == 1


def test_tools_of_an_earlier_turn_are_not_offered_in_the_next(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}/turns"
    tools = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
    for members in ({"toolConfiguration": tools}, {}):
        api.call("POST", path, {"content": said("q"), **members})
        worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)

    assert [request.tool_configuration for request in model.requests] == [tools, None]


def test_a_finished_turn_counts_as_no_activity(api: Api, worker: Worker) -> None:
    conversation_id, _, descriptor = _ask(api)
    before = api.call("GET", f"/conversations/{conversation_id}").body
    worker.answer(descriptor, PLENTY_MS)
    after = api.call("GET", f"/conversations/{conversation_id}").body

    assert after == {**before, "messageCount": 2}


@pytest.mark.parametrize("route", ["messages", "turns", "answers"])
def test_a_key_counts_beside_an_id_that_does_not_derive_from_it(api: Api, route: str) -> None:
    conversation_id = api.create()
    questions = [api.say(conversation_id, str(place))["id"] for place in range(2)]
    headers = {"Idempotency-Key": "k"}
    bodies: dict[str, list[dict[str, Any]]] = {
        "messages": [{"role": "user", "content": said("x"), "clientMessageId": name} for name in "ab"],
        "turns": [{"content": said("x"), "clientMessageId": name} for name in "ab"],
        "answers": [
            {"role": "assistant", "content": said("x"), "associatedUserMessageId": question} for question in questions
        ],
    }
    path = f"/conversations/{conversation_id}/{'turns' if route == 'turns' else 'messages'}"
    first, again = (api.call("POST", path, bodies[route][0], headers=headers) for _ in range(2))
    other = api.call("POST", path, bodies[route][1], headers=headers)
    under_another_key = api.call("POST", path, bodies[route][0], headers={"Idempotency-Key": "l"})

    assert again.status == first.status
    assert again.body == first.body
    assert (other.status, other.body["error"]["code"]) == (422, "IdempotencyMismatch")
    assert under_another_key.body == first.body
    assert api.call("GET", f"/conversations/{conversation_id}").body["messageCount"] == 3
