"""The auditor sees every invariant that is broken, one by one, and nothing in what is sound."""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from audit.__main__ import main
from audit.auditor import Deployment, audit
from conversations import turns
from conversations.clock import NANOSECONDS, SystemClock
from conversations.codec import message_from_item, message_to_item
from conversations.codec.traces import trace_key
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.objects import Objects
from conversations.traces import NewTrace, add_trace
from conversations.turns import Question
from tests.bed.in_process import Api
from tests.bed.messages import said
from tests.bed.tables import Tables, fresh_tables

pytestmark = pytest.mark.slow

Item = dict[str, Any]
Contents = tuple[dict[str, dict[str, Item]], dict[str, bytes]]  # items by table and id, objects by key
DAY_NS = 24 * 3600 * NANOSECONDS


@dataclass
class Stored:
    """A conversation with something of every kind, another that was deleted, and the hands to break them."""

    dynamodb: Any
    s3: Any
    tables: Tables
    conversation_id: str
    deleted_id: str

    @property
    def deployment(self) -> Deployment:
        tables = self.tables
        return Deployment(self.dynamodb, self.s3, tables.messages, tables.conversations, tables.bodies)

    def items(self, table: str) -> dict[str, Item]:
        return {item["id"]["S"]: item for item in self.dynamodb.scan(TableName=table)["Items"]}

    def contents(self) -> Contents:
        listed = self.s3.list_objects_v2(Bucket=self.tables.bodies).get("Contents", [])
        objects = {entry["Key"]: self._object(entry["Key"]) for entry in listed}
        return {name: self.items(name) for name in (self.tables.messages, self.tables.conversations)}, objects

    def restore(self, kept: Contents) -> None:
        """Let there be again what was there, and nothing else."""
        items, objects = self.contents()
        for table in items:
            for item_id in items[table].keys() - kept[0][table].keys():
                self.remove(table, item_id)
            for item_id, item in kept[0][table].items():
                if items[table].get(item_id) != item:
                    self.dynamodb.put_item(TableName=table, Item=item)
        for key in objects.keys() - kept[1].keys():
            self.s3.delete_object(Bucket=self.tables.bodies, Key=key)
        for key in kept[1].keys() - objects.keys():
            self.s3.put_object(Bucket=self.tables.bodies, Key=key, Body=kept[1][key])

    def _object(self, key: str) -> bytes:
        body: bytes = self.s3.get_object(Bucket=self.tables.bodies, Key=key)["Body"].read()
        return body

    def put(self, table: str, item_id: str, **attributes: Any) -> None:
        self.dynamodb.put_item(TableName=table, Item={"id": {"S": item_id}, **attributes})

    def edit(self, table: str, item_id: str, **attributes: Any) -> None:
        """Set attributes (to DynamoDB's own JSON), or take them away (``None``)."""
        item = self.items(table)[item_id]
        changed = {**item, **attributes}
        self.dynamodb.put_item(TableName=table, Item={name: value for name, value in changed.items() if value})

    def remove(self, table: str, item_id: str) -> None:
        self.dynamodb.delete_item(TableName=table, Key={"id": {"S": item_id}})

    def head(self, **attributes: Any) -> None:
        self.edit(self.tables.conversations, self.conversation_id, **attributes)

    @property
    def chain(self) -> list[str]:
        """The ids of the messages in their order."""
        messages = [item for item in self.items(self.tables.messages).values() if "createdAt" in item]
        return [item["id"]["S"] for item in sorted(messages, key=lambda item: item["createdAt"]["S"])]

    def message(self, place: int, **fields: Any) -> None:
        """Change fields of a message."""
        message = message_from_item(self.items(self.tables.messages)[self.chain[place]])
        assert message is not None
        self.dynamodb.put_item(TableName=self.tables.messages, Item=message_to_item(replace(message, **fields)))

    def find(self, ending: str) -> str:
        (found,) = [item_id for item_id in self.items(self.tables.messages) if item_id.endswith(ending)]
        return found

    def record(self, beginning: str) -> str:
        (found,) = [item_id for item_id in self.items(self.tables.conversations) if item_id.startswith(beginning)]
        return found

    def rules(self, now_ns: int | None = None) -> list[tuple[str, bool]]:
        done = audit(self.deployment, now_ns or time.time_ns())
        assert done.moved == []
        return sorted({(finding.rule, finding.is_broken) for finding in done.findings})


SYSTEM, QUESTION, ANSWER, LARGE, SECOND, LOOSE, ASKED = range(7)


@pytest.fixture(scope="module")
def _populated(dynamodb: Any, s3: Any) -> Iterator[Stored]:
    with fresh_tables(dynamodb, s3) as tables:
        names = TableNames(tables.messages, tables.conversations)
        store = DynamoStore(dynamodb, names, Objects(lambda: s3, tables.bodies), SystemClock())
        conversation_id, deleted_id = _populate(Api(store, SystemClock()), store)
        yield Stored(dynamodb, s3, tables, conversation_id, deleted_id)


def _populate(api: Api, store: DynamoStore) -> tuple[str, str]:
    """The id of a conversation with something of every kind, and that of one that was deleted."""
    conversation_id = api.create(name="Turin " * 100, sessionId="mine", ttlDays=30)
    path = f"/conversations/{conversation_id}"
    assert api.call("DELETE", f"{path}/messages").status == 204
    api.say(conversation_id, "be kind", "system")
    question = api.say(conversation_id, "question")
    api.say(conversation_id, "answer", "assistant", associatedUserMessageId=question["id"])
    api.say(conversation_id, "large " + os.urandom(50_000).hex())
    api.say(conversation_id, "it names no question", "assistant")
    api.say(conversation_id, "it answers nothing", "assistant")
    asked = api.call("POST", f"{path}/turns", {"content": said("asked")}).body["message"]["id"]
    turns.claim(store, api.clock, Question(conversation_id, asked, None))
    for number in (7, 5):
        new = NewTrace(question["id"], number, input=os.urandom(50_000).hex() if number == 7 else "short")
        add_trace(store, api.clock, owner=None, conversation_id=conversation_id, new=new)
    deleted_id = api.create()
    api.call("DELETE", f"/conversations/{deleted_id}")
    return conversation_id, deleted_id


@pytest.fixture
def stored(_populated: Stored) -> Iterator[Stored]:
    """What is sound, and is so again after the test."""
    kept = _populated.contents()
    yield _populated
    _populated.restore(kept)


Break = Callable[[Stored], object]
S, N = "S", "N"


def _other_chain(stored: Stored, number: int) -> str:
    return f"{stored.conversation_id}~{number}"


def _receipt(stored: Stored) -> str:
    (found,) = [
        item_id for item_id, item in stored.items(stored.tables.messages).items() if set(item) == {"id", "body"}
    ]
    return found


def _swap_times(stored: Stored) -> None:
    table, chain = stored.tables.messages, stored.chain
    times = [stored.items(table)[chain[place]]["createdAt"] for place in (QUESTION, ANSWER)]
    stored.edit(table, chain[QUESTION], createdAt=times[1])


def _orphan(stored: Stored, **attributes: Any) -> None:
    stored.put(stored.tables.messages, f"{'o' * 20}.m", **attributes)


def _lose_object(stored: Stored) -> None:
    found = stored.s3.list_objects_v2(Bucket=stored.tables.bodies)["Contents"][0]
    stored.s3.delete_object(Bucket=stored.tables.bodies, Key=found["Key"])


def _put_object(stored: Stored, key: str) -> None:
    stored.s3.put_object(Bucket=stored.tables.bodies, Key=key, Body=b"x")


def _orphan_trace(stored: Stored) -> Item:
    item = _without_id(stored.items(stored.tables.messages)[stored.find(".trace.2")])
    key = trace_key(f"{'o' * 20}.m", 5, 1)
    return item | {"traceConversationId": {S: "o" * 20}, "traceKey": {S: key}}


def _with_number(stored: Stored, trace_id: str, ordinal: int) -> Item:
    item = stored.items(stored.tables.messages)[trace_id]
    return item | {"traceKey": {S: trace_key(stored.chain[QUESTION], 5, ordinal)}}


def _message_item(stored: Stored, chain: str) -> Item:
    item = stored.items(stored.tables.messages)[stored.chain[QUESTION]]
    return _without_id(item) | {"conversationId": {S: chain}}


BROKEN: dict[str, tuple[str | set[str], Break]] = {
    "a hole in the positions": ("position", lambda s: s.message(QUESTION, position=9)),
    "two at one time": ({"time", "answer"}, _swap_times),
    "another message before": ("previous message", lambda s: s.message(ANSWER, previous_message_id=s.chain[SYSTEM])),
    "another system message before": ("system message", lambda s: s.message(ANSWER, system_message_id=s.chain[ANSWER])),
    "another last system message": ("system message", lambda s: s.head(lastSystemMessageId={S: s.chain[ANSWER]})),
    "a message is lost": (
        {"message count", "position", "previous message"},
        lambda s: s.remove(s.tables.messages, s.chain[LOOSE]),
    ),
    "the last message is lost": (
        {"message count", "last message"},
        lambda s: s.remove(s.tables.messages, s.chain[ASKED]),
    ),
    "another last message": ("last message", lambda s: s.head(lastMessageId={S: s.chain[LOOSE]})),
    "another time of the last": ("last message", lambda s: s.head(lastMessageAt={S: "2020-01-01T00:00:00.000000000Z"})),
    "a wrong count": ("message count", lambda s: s.head(messageCount={N: "99"})),
    "in another chain of the index": (
        "index of messages",
        lambda s: s.edit(s.tables.messages, s.chain[LOOSE], conversationId={S: "x" * 20}),
    ),
    "not in the index": (
        "index of messages",
        lambda s: s.edit(s.tables.messages, s.chain[LOOSE], conversationId=None),
    ),
    "a time that is none": (
        {"index of messages", "last message"},
        lambda s: s.edit(s.tables.messages, s.chain[ASKED], createdAt={S: "yesterday"}),
    ),
    "a turn in the index": (
        "index of messages",
        lambda s: s.edit(
            s.tables.messages, s.find(".turn"), conversationId={S: "x"}, createdAt={S: "2026-01-01T00:00:00.000000000Z"}
        ),
    ),
    "keys of another hour": ("index of conversations", lambda s: s.head(activeHour={S: "2020-01-01T00"})),
    "keys of another update": ("index of conversations", lambda s: s.head(updatedAt={S: "2020-01-01T00:00:00.0Z"})),
    "an answer to nothing": ("answer", lambda s: s.message(ANSWER, associated_user_message_id=None)),
    "an answer to what is gone": ("answer", lambda s: s.message(ANSWER, associated_user_message_id=s.chain[0] + "x")),
    "an answer to another": ("answer", lambda s: s.message(ANSWER, associated_user_message_id=s.chain[LARGE])),
    "an answer to no question": ("answer", lambda s: s.message(QUESTION, role="assistant")),
    "stored as complete": ("turn", lambda s: s.edit(s.tables.messages, s.find(".turn"), status={S: "complete"})),
    "a turn for ever": ("turn", lambda s: s.edit(s.tables.messages, s.find(".turn"), expiresAt=None)),
    "a receipt is lost": ("receipt", lambda s: s.remove(s.tables.messages, _receipt(s))),
    "a receipt of what is gone": (
        "receipt",
        lambda s: s.edit(s.tables.messages, _receipt(s), body={S: json.dumps({"messages": ["x"]})}),
    ),
    "a receipt of nobody": (
        "orphan",
        lambda s: s.put(s.tables.messages, f"{_other_chain(s, 1)}.r", body={S: json.dumps({"messages": []})}),
    ),
    "an object is lost": ("object", _lose_object),
    "an object of another": ("object", lambda s: s.message(LOOSE, large_key=f"{'x' * 20}/m/1")),
    "an object of nobody": ("orphan", lambda s: _put_object(s, f"{'o' * 20}/m/1")),
    "a message of nobody": ("orphan", lambda s: _orphan(s, **_message_item(s, "o" * 20))),
    "a message of a chain to come": (
        "orphan",
        lambda s: s.put(s.tables.messages, f"{_other_chain(s, 7)}.m", **_message_item(s, _other_chain(s, 7))),
    ),
    "a trace of nobody": (
        "orphan",
        lambda s: s.put(s.tables.messages, f"{'o' * 20}.trace.1", **_orphan_trace(s)),
    ),
    "a trace in another chain": (
        "index of traces",
        lambda s: s.edit(s.tables.messages, s.find(".trace.1"), traceConversationId={S: "x"}),
    ),
    "a trace in another place": (
        "index of traces",
        lambda s: s.edit(s.tables.messages, s.find(".trace.1"), traceKey={S: f"{s.chain[QUESTION]}#1#1"}),
    ),
    "a trace is lost": ("trace count", lambda s: s.remove(s.tables.messages, s.find(".trace.2"))),
    "a trace is not counted": (
        {"trace", "trace count"},
        lambda s: s.put(
            s.tables.messages, f"{_other_chain(s, 1)}.trace.9", **_without_id(_with_number(s, s.find(".trace.2"), 9))
        ),
    ),
    "a trace of no message": (
        "trace",
        lambda s: s.edit(
            s.tables.messages,
            s.find(".trace.2"),
            traceKey={S: trace_key(f"{_other_chain(s, 1)}.x", 5, 2)},
        ),
    ),
    "a trace that cannot be read": (
        "unreadable",
        lambda s: s.edit(s.tables.messages, s.find(".trace.2"), body={S: "{"}),
    ),
    "a trace without a key": (
        {"unreadable", "trace count"},
        lambda s: s.edit(s.tables.messages, s.find(".trace.2"), traceKey=None),
    ),
    "an id of nothing": ("unknown item", lambda s: s.put(s.tables.messages, "junk", body={S: "{}"})),
    "a record of nothing": ("unknown item", lambda s: s.put(s.tables.conversations, "junk")),
    "a message that cannot be read": (
        "unreadable",
        lambda s: s.edit(s.tables.messages, s.chain[LOOSE], body={S: "{"}),
    ),
    "a receipt that cannot be read": ("unreadable", lambda s: s.edit(s.tables.messages, _receipt(s), body={S: "{"})),
    "a turn that cannot be read": (
        "unreadable",
        lambda s: s.edit(s.tables.messages, s.find(".turn"), attempt=None),
    ),
    "a conversation that cannot be read": ("unreadable", lambda s: s.head(about={S: "{"})),
    "a conversation without a version": ("unreadable", lambda s: s.head(version=None)),
    "a conversation of 1 KB": ("size", lambda s: s.head(requestHash={S: "h" * 1024})),
    "a description is lost": (
        {"description", "session"},  # it holds the session id
        lambda s: s.remove(s.tables.conversations, f"{s.conversation_id}.about"),
    ),
    "a description of nobody": (
        "orphan",
        lambda s: s.put(s.tables.conversations, f"{'o' * 20}.about", about={S: "{}"}),
    ),
    "a session's record is lost": ("session", lambda s: s.remove(s.tables.conversations, s.record("session."))),
    "a session's record of another": (
        "session",
        lambda s: s.put(s.tables.conversations, "session.x", target={S: s.conversation_id}),
    ),
    "a session's record of nobody": (
        "orphan",
        lambda s: s.put(s.tables.conversations, "session.x", target={S: "o" * 20}),
    ),
    "not among the new ones": ("recent", lambda s: s.remove(s.tables.conversations, s.record("recent."))),
    "nobody among the new ones": (
        "orphan",
        lambda s: s.put(s.tables.conversations, "recent.x.1", members={"SS": ["o" * 20]}, expiresAt={N: "9999999999"}),
    ),
    "an outcome for ever": (
        "record",
        lambda s: s.put(s.tables.conversations, "outcome.x", requestHash={S: "h"}, outcome={S: "{}"}),
    ),
    "an outcome that cannot be read": ("unreadable", lambda s: s.put(s.tables.conversations, "outcome.x")),
    "no retention": ("retention", lambda s: s.head(ttlDays=None)),
    "a tombstone that says something": (
        "tombstone",
        lambda s: s.edit(s.tables.conversations, s.deleted_id, about={S: "{}"}),
    ),
    "a receipt that cleanup does not find": (
        "orphan",
        lambda s: s.put(s.tables.messages, f"{s.deleted_id}.r", body={S: json.dumps({"messages": []})}),
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_is_reported_and_nothing_else(stored: Stored, broken: str) -> None:
    rules, do = BROKEN[broken]

    do(stored)

    found = {rule for rule, is_broken in stored.rules() if is_broken}
    assert found == ({rules} if isinstance(rules, str) else rules)


def test_what_is_sound_is_not_reported(stored: Stored, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    stack = {
        "awsEndpointUrl": stored.dynamodb.meta.endpoint_url,
        "region": "us-east-1",
        "messagesTable": stored.tables.messages,
        "conversationsTable": stored.tables.conversations,
        "bodiesBucket": stored.tables.bodies,
    }
    (tmp_path / "stack.json").write_text(json.dumps(stack))
    before = [stored.items(table) for table in (stored.tables.messages, stored.tables.conversations)]

    assert stored.rules() == []
    assert main(["--stack", str(tmp_path / "stack.json")]) == 0
    assert capsys.readouterr().out == "1 conversations, 16 items, 2 objects: 0 broken, 0 warnings\n"
    assert [stored.items(table) for table in (stored.tables.messages, stored.tables.conversations)] == before

    stored.head(messageCount={N: "99"})
    assert main(["--stack", str(tmp_path / "stack.json")]) == 1
    assert "message count" in capsys.readouterr().out
    assert main(["--stack", str(tmp_path / "nowhere.json")]) == 2
    (tmp_path / "stack.json").write_text(json.dumps(stack | {"messagesTable": "nothing"}))
    assert main(["--stack", str(tmp_path / "stack.json")]) == 2
    assert "cannot audit" in capsys.readouterr().err


def test_what_is_late_is_a_warning(stored: Stored) -> None:
    table = stored.tables.messages
    stored.put(table, f"{stored.chain[QUESTION]}x.turn", **_without_id(stored.items(table)[stored.find(".turn")]))
    _put_object(stored, f"{stored.conversation_id}/m/1")
    stored.put(table, f"{stored.deleted_id}.m", **_message_item(stored, stored.deleted_id))

    assert stored.rules() == [("stray turn", False)]
    assert stored.rules(time.time_ns() + 2 * DAY_NS) == [
        ("abandoned turn", False),
        ("late cleanup", False),
        ("stray turn", False),
        ("unused object", False),
    ]


def _without_id(item: Item) -> Item:
    return {name: value for name, value in item.items() if name != "id"}


def test_what_changes_while_it_is_read_is_not_called_broken(api: Api, dynamodb: Any, s3: Any, tables: Tables) -> None:
    """A scan is no snapshot: the messages are read after the conversations."""

    conversation_id = api.create()

    class Meanwhile:
        def __init__(self) -> None:
            self.scans = 0

        def scan(self, **request: Any) -> Any:
            self.scans += 1
            if self.scans == 2:
                api.say(conversation_id, "meanwhile")
            return dynamodb.scan(**request)

        def get_item(self, **request: Any) -> Any:
            return dynamodb.get_item(**request)

    deployment = Deployment(Meanwhile(), s3, tables.messages, tables.conversations, tables.bodies)
    done = audit(deployment, time.time_ns())

    assert (done.findings, done.moved) == ([], [conversation_id])


def test_many_pages_are_read(api: Api, dynamodb: Any, s3: Any, tables: Tables) -> None:
    conversation_id = api.create()
    for _ in range(3):
        batch = [{"role": "user", "content": said(os.urandom(10_000).hex())} for _ in range(40)]
        assert api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch}).status == 201

    done = audit(Deployment(dynamodb, s3, tables.messages, tables.conversations, tables.bodies), time.time_ns())

    assert "LastEvaluatedKey" in dynamodb.scan(TableName=tables.messages)
    assert (done.findings, done.items) == ([], 120 + len(["conversation", "recent"]))
