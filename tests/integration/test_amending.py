"""Changes in place: once each, seen at once by everybody, and the head of the conversation stays small."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.identity import LONGEST_OWNER_BYTES
from conversations import codec
from conversations.access import read_head
from conversations.amending import InteractionChange, change_interaction
from conversations.dynamo import DynamoStore
from conversations.errors import (
    ForeignError,
    InvalidRequestError,
    MessageNotFoundError,
    TooLargeError,
    UnprocessableError,
)
from conversations.interactions import Interaction, NewInteraction, add_interaction, interactions, read_interaction
from conversations.model import Trace
from conversations.notes import MOST_NAMED
from conversations.store import Span
from conversations.traces import NewTrace, add_trace, traces
from tests.bed.faults import fail_first, service_error, write_and_hang_up
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock
from turn.worker import Worker

Change = Callable[..., Interaction | Trace]


@pytest.fixture
def change(lagging: LaggingStore, clock: TestClock) -> Change:
    def changed(message_id: str, *, owner: str | None = None, **members: Any) -> Interaction | Trace:
        wanted = InteractionChange(**members)
        return change_interaction(lagging, clock, owner=owner, message_id=message_id, change=wanted)

    return changed


@pytest.fixture
def add(lagging: LaggingStore, clock: TestClock) -> Callable[..., str]:
    def added(conversation_id: str, **members: Any) -> str:
        new = NewInteraction(**members)
        return add_interaction(lagging, clock, owner=None, conversation_id=conversation_id, new=new)

    return added


def _read(store: Any, clock: TestClock, message_id: str) -> Interaction | Trace:
    return read_interaction(store, clock, owner=None, message_id=message_id)[1]


def _all(api: Api, conversation_id: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.call("GET", f"/conversations/{conversation_id}/messages", query={"limit": 1000, **query})
    messages: list[dict[str, Any]] = answer.body["messages"]
    return messages


# What a change does


def test_info_is_merged_and_counts(api: Api, add: Any, change: Change, store: DynamoStore, clock: TestClock) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, input="q", response="a", additional_info={"k": {"a": 1, "l": [1]}, "s": "x"})
    before = api.call("GET", f"/conversations/{conversation_id}").body

    change(message_id, additional_info={"k": {"b": None, "l": [2]}, "s": {"now": "an object"}})
    again = change(message_id)
    read = _read(store, clock, message_id)

    assert read == again
    assert read.additional_info == {"k": {"a": 1, "b": None, "l": [2]}, "s": {"now": "an object"}}
    assert (read.version, read.input, read.response) == (3, "q", "a")
    assert read.updated_at > read.created_at
    assert api.call("GET", f"/conversations/{conversation_id}").body == before  # not even its time of activity
    head = read_head(store, clock, owner=None, conversation_id=conversation_id)
    assert (head.version, head.notes.changes) == (4, 2)


def test_a_response_given_later_is_the_answer_at_the_end_of_the_chain(
    api: Api, add: Any, change: Change, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    asked, other = (add(conversation_id, input=text) for text in ("q", "other"))
    before = api.call("GET", f"/conversations/{conversation_id}").body

    assert change(asked, response=" ").response is None
    first = change(asked, response="later")
    again = change(asked, response="changed", additional_info={"a": 1})

    assert (first.response, first.version, first.updated_at > first.created_at) == ("later", 3, True)
    assert again == _read(store, clock, asked)
    assert (again.response, again.version, again.additional_info) == ("changed", 4, {"a": 1})
    page = _all(api, conversation_id)
    assert [(message["id"], message["content"]) for message in page] == [
        (asked, said("q")),
        (other, said("other")),
        (f"{asked}.response", said("changed")),
    ]
    assert page[2]["associatedUserMessageId"] == asked
    after = api.call("GET", f"/conversations/{conversation_id}").body
    assert (after["messageCount"], after["updatedAt"]) == (3, before["updatedAt"])


def test_an_answer_keeps_what_is_no_text_and_an_answer_to_nothing_is_changed_itself(
    api: Api, add: Any, change: Change, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    asked = api.say(conversation_id, "q")["id"]
    use = {"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}
    content = [{"text": "one"}, use, {"text": "two"}]
    api.call("POST", f"/conversations/{conversation_id}/messages", {"role": "assistant", "content": content})
    alone = add(conversation_id, response="alone")
    system = api.say(conversation_id, "be brief", "system")["id"]

    change(asked, response="new")
    changed = change(alone, response="together")

    assert (changed.response, changed.version) == ("together", 2)
    assert _all(api, conversation_id)[1]["content"] == [{"text": "new"}, use]
    assert [m["content"] for m in _all(api, conversation_id)[2:3]] == [said("together")]
    with pytest.raises(InvalidRequestError):
        change(system, response="no")
    assert change(system, additional_info={"a": 1}).additional_info == {"a": 1}


def test_a_trace_is_changed_in_place(
    api: Api, change: Change, lagging: LaggingStore, clock: TestClock, s3: Any, tables: Tables
) -> None:
    conversation_id = api.create()
    parent = api.say(conversation_id, "q")["id"]
    new = NewTrace(parent, 1, input="i", additional_info={"a": 1})
    trace_id = add_trace(lagging, clock, owner=None, conversation_id=conversation_id, new=new)
    lagging.stop_at_present(trace_ids=[trace_id])
    large = os.urandom(50_000).hex()

    change(trace_id, response=large)
    changed = change(trace_id, response="small", additional_info={"b": 2})

    assert isinstance(changed, Trace)
    assert (changed.input, changed.response, changed.additional_info) == ("i", "small", {"a": 1, "b": 2})
    assert (changed.version, changed.number, changed.parent_id) == (3, 1, parent)
    assert _read(lagging, clock, trace_id) == changed
    head = read_head(lagging, clock, owner=None, conversation_id=conversation_id)
    assert list(traces(lagging, head, parent, offset=0, limit=9)) == [changed]
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == 0


def test_what_is_not_there_is_not_changed(api: Api, add: Any, change: Change) -> None:
    message_id = add(api.create(), input="q", response="a")

    with pytest.raises(ForeignError):
        change(message_id, owner="bob", response="x")
    for missing in (f"{message_id}.response", message_id[:20] + ".trace.1", message_id + "x"):
        with pytest.raises(MessageNotFoundError):
            change(missing, response="x")


def test_listings_tell_the_revision_of_an_item_written_before(
    api: Api, add: Any, change: Change, store: DynamoStore, own_dynamodb: Any, tables: Tables
) -> None:
    message_id = add(api.create(), input="q", response="a")
    change(message_id, additional_info={"n": 1})
    key = {"TableName": tables.messages, "Key": {"id": {"S": message_id}}}
    item = own_dynamodb.get_item(**key, ConsistentRead=True)["Item"]
    message = codec.message_from_item(item)
    assert message is not None
    document = {
        "role": message.role,
        "position": message.position,
        "content": message.content,
        "updatedAt": message.updated_at,
    }
    before = {name: item[name] for name in ("id", "conversationId", "createdAt", "rev")}
    own_dynamodb.put_item(TableName=tables.messages, Item=before | {"body": {"S": codec.to_json(document)}})

    [question, _] = store.indexed(Span(message.conversation_id), newest_first=False, limit=2)

    assert (question.id, question.rev, question.content) == (message_id, 2, message.content)


@pytest.mark.parametrize("ending", ["", ".response"])
def test_what_cannot_be_read_is_not_written_over(
    api: Api, add: Any, change: Change, own_dynamodb: Any, tables: Tables, ending: str
) -> None:
    message_id = add(api.create(), input="q", response="a")
    change(message_id, additional_info={"n": 1})
    key = {"Key": {"id": {"S": message_id + ending}}, "TableName": tables.messages}
    damage = {"UpdateExpression": "SET place = :place", "ExpressionAttributeValues": {":place": {"S": "7 user"}}}
    own_dynamodb.update_item(**key, **damage)
    before = own_dynamodb.get_item(**key, ConsistentRead=True)["Item"]

    with pytest.raises(UnprocessableError):
        change(message_id, response="x")

    assert own_dynamodb.get_item(**key, ConsistentRead=True)["Item"] == before


def test_a_history_is_valid_though_a_question_has_no_text(api: Api, add: Any, change: Change) -> None:
    conversation_id = api.create()
    asked = add(conversation_id, prompt_template="a template alone")
    change(asked, response="an answer")
    api.say(conversation_id, "now")

    history = api.call("GET", f"/conversations/{conversation_id}/history").body["messages"]

    assert complaints(history) == []
    assert history[-1]["content"] == said("now")


# Large ones


def test_what_becomes_large_moves_out_and_back_and_leaves_no_object(
    api: Api, add: Any, change: Change, store: DynamoStore, clock: TestClock, s3: Any, tables: Tables
) -> None:
    def objects() -> int:
        return int(s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"])

    message_id = add(api.create(), input="q", response="a")
    large, larger = (os.urandom(size).hex() for size in (40_000, 50_000))

    change(message_id, response=large, additional_info={"a": large})
    assert objects() == 2
    change(message_id, additional_info={"a": larger})
    assert objects() == 2
    change(message_id, response="tiny")
    assert objects() == 1
    last = change(message_id, additional_info={"a": "tiny"})
    assert objects() == 0
    assert last == _read(store, clock, message_id)
    assert (last.response, last.additional_info, last.version) == ("tiny", {"a": "tiny"}, 5)
    with pytest.raises(TooLargeError):
        change(message_id, response="x" * 5_000_000)
    assert objects() == 0


def test_who_has_read_the_item_before_a_change_reads_the_new_object(
    api: Api, add: Any, change: Change, store: DynamoStore
) -> None:
    message_id = add(api.create(), input=os.urandom(40_000).hex(), additional_info={"a": 1})
    stored = store.message(message_id)
    assert stored is not None

    change(message_id, additional_info={"a": 2})

    [loaded] = store.load([stored])
    assert (loaded.readable, loaded.metadata) == (True, {"a": 2})


# At once, and with lost answers


@pytest.mark.parametrize("size", [10, 40_000])
def test_a_change_whose_answer_was_lost_counts_once(
    api: Api, add: Any, change: Change, own_dynamodb: Any, s3: Any, tables: Tables, size: int
) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, input="q")
    text = os.urandom(size).hex()

    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)
    added = change(message_id, response=text)
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)
    changed = change(message_id, response=text + "!", additional_info={"a": 1})

    assert (added.version, added.response, changed.version, changed.response) == (2, text, 3, text + "!")
    assert len(_all(api, conversation_id)) == 2
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == (size > 1000)


def test_a_change_that_met_a_conflict_writes_its_object_once(
    api: Api, add: Any, change: Change, own_dynamodb: Any, s3: Any, tables: Tables
) -> None:
    message_id = add(api.create(), input="q")
    conflict = service_error("TransactionCanceledException", ["TransactionConflict", "None"])
    failed = fail_first(own_dynamodb, "TransactWriteItems", 2, conflict)

    change(message_id, additional_info={"a": os.urandom(40_000).hex()})

    assert len(failed) == 2
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == 1


def test_changes_at_once_are_all_applied(api: Api, add: Any, change: Change, store: DynamoStore, clock: Any) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, input="q")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: change(message_id, additional_info={f"k{n}": n}, response=f"r{n}"), range(8)))

    read = _read(store, clock, message_id)
    assert read.additional_info == {f"k{n}": n for n in range(8)}
    assert read.version == 9
    assert len(_all(api, conversation_id)) == 2


def test_a_response_that_is_given_while_a_turn_runs_ends_the_turn(
    api: Api, change: Change, lagging: LaggingStore, clock: TestClock
) -> None:
    model = PlayedModel()
    worker = Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))
    conversation_id = api.create()
    asked = api.call("POST", f"/conversations/{conversation_id}/turns", {"content": said("q")}).body["message"]["id"]

    def played() -> Iterator[Mapping[str, Any]]:
        events = list(deltas("from ", "the model"))
        yield from events[:2]
        change(asked, response="from a person")
        yield from events[2:]

    model.scripts = [played]
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)

    assert [message["content"] for message in _all(api, conversation_id)] == [said("q"), said("from a person")]
    turn = api.call("GET", f"/conversations/{conversation_id}/turns/{asked}").body
    assert (turn["turn"]["status"], turn["message"]["content"]) == ("complete", said("from a person"))


# Everybody sees them at once


@pytest.mark.parametrize("changes", [1, 5, MOST_NAMED + 5])
def test_every_reader_sees_a_change_though_the_index_does_not_have_it(
    api: Api, add: Any, change: Change, lagging: LaggingStore, clock: TestClock, changes: int
) -> None:
    conversation_id = api.create()
    count = max(6, changes)
    added = [add(conversation_id, input=f"q{place}", response=f"a{place}") for place in range(count)]
    lagging.stop_at_present([*added, *(f"{one}.response" for one in added)])
    for place in range(changes):
        change(added[place], response=f"new {place}", additional_info={"n": place})
    wanted = [f"new {place}" if place < changes else f"a{place}" for place in range(count)]

    for order in ("asc", "desc"):
        found: list[str] = []
        cursor: dict[str, Any] = {}
        while True:
            query = {"order": order, "limit": 5, **cursor}
            page = api.call("GET", f"/conversations/{conversation_id}/messages", query=query).body
            found += [m["content"][0]["text"] for m in page["messages"] if m["role"] == "assistant"]
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert found == (wanted if order == "asc" else wanted[::-1])
    history = api.call("GET", f"/conversations/{conversation_id}/history").body["messages"]
    assert [m["content"][0]["text"] for m in history if m["role"] == "assistant"] == wanted[:-1]
    head = read_head(lagging, clock, owner=None, conversation_id=conversation_id)
    for newest_first in (False, True):
        page = interactions(lagging, head, offset=0, limit=100, newest_first=newest_first)
        assert [one.response for one in page] == (wanted[::-1] if newest_first else wanted)


def test_a_page_is_read_anew_for_a_minute_only(
    api: Api, add: Any, change: Change, lagging: LaggingStore, clock: TestClock, own_dynamodb: Any
) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, input="q", response="a")
    change(message_id, response="b")
    calls: list[str] = []
    own_dynamodb.meta.events.register("before-send.dynamodb.*", lambda event_name, **_: calls.append(event_name))

    def operations() -> list[str]:
        calls.clear()
        _all(api, conversation_id)
        return [name.rpartition(".")[2] for name in calls]

    assert operations() == ["GetItem", "Query", "BatchGetItem"]
    clock.offset_s += 61
    assert operations() == ["GetItem", "Query"]


# The head


def _head_size(dynamodb: Any, tables: Tables, conversation_id: str) -> int:
    key = {"id": {"S": conversation_id}}
    return codec.size_of(dynamodb.get_item(TableName=tables.conversations, Key=key)["Item"])


@pytest.mark.parametrize("longest_owner", [False, True])
def test_the_head_stays_under_a_write_unit_whatever_is_noted(
    change: Change, lagging: LaggingStore, clock: TestClock, dynamodb: Any, tables: Tables, longest_owner: bool
) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("o" * (LONGEST_OWNER_BYTES if longest_owner else 36))
    conversation_id = api.create(name="映画" * 25, sessionId="s" * 60, ttlDays=3)
    api.say(conversation_id, "be brief", "system")
    batch = [{"role": "user", "content": said("q")}] * 90
    assert api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch}).status == 201
    asked = [api.say(conversation_id, "q", clientMessageId=f"{place:0>64}")["id"] for place in range(12)]
    for one in asked:
        change(one, response="a")
        change(one, additional_info={"n": 1})
    new = NewTrace(asked[0], 1)
    add_trace(lagging, clock, owner=None, conversation_id=conversation_id, new=new)
    api.say(conversation_id, "q", clientMessageId="m" * 64)

    assert (900 if longest_owner else 700) < _head_size(dynamodb, tables, conversation_id) < 1024
    head = read_head(lagging, clock, owner=None, conversation_id=conversation_id)
    assert (head.notes.changes, head.notes.traces) == (24, 1)
    assert len(head.notes.changed) == MOST_NAMED or longest_owner
    assert [m["metadata"] for m in _all(api, conversation_id) if "metadata" in m] == [{"n": 1}] * 12


@pytest.mark.slow
@given(steps=st.lists(st.sampled_from(["change", "trace", "append", "wait", "long wait"]), max_size=25))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_whenever_pages_show_what_is_true(
    api: Api, add: Any, change: Change, lagging: LaggingStore, clock: TestClock, steps: list[str]
) -> None:
    """The index shows everything as it was a minute ago, at most."""
    conversation_id = api.create()
    first = add(conversation_id, input="q0", response="a0")
    wanted, numbers, seen_at = {first: "a0"}, 0, clock.now_ns()
    lagging.stop_at_present([first, f"{first}.response"])
    for place, step in enumerate(steps):
        if step == "change":
            target = list(wanted)[place % len(wanted)]
            wanted[target] = f"changed {place}"
            change(target, response=wanted[target])
        elif step == "trace":
            numbers += 1
            new = NewTrace(first, numbers)
            trace_id = add_trace(lagging, clock, owner=None, conversation_id=conversation_id, new=new)
            lagging.withhold_traces([trace_id])
        elif step == "append":
            one = add(conversation_id, input=f"q{place}", response=f"a{place}")
            wanted[one] = f"a{place}"
        else:
            clock.offset_s += 61 if step == "long wait" else 20
        if clock.now_ns() - seen_at > 40_000_000_000 or step == "long wait":
            lagging.stop_at_present([*wanted, *(f"{one}.response" for one in wanted)])
            lagging.withhold_traces(())
            seen_at = clock.now_ns()
        head = read_head(lagging, clock, owner=None, conversation_id=conversation_id)
        page = interactions(lagging, head, offset=0, limit=100)
        assert {one.id: one.response for one in page} == wanted
        assert len(list(traces(lagging, head, first, offset=0, limit=100))) == numbers
