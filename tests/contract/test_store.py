"""The store's promises, on two engines that were written apart: what both say is likelier to be DynamoDB's own word.

moto's transactions are not atomic under threads, so concurrency is tested on MiniStack alone (`tests/integration`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from conversations import codec, ids
from conversations.clock import SystemClock, to_timestamp
from conversations.dynamo import DynamoStore, Tables
from conversations.errors import AlreadyStoredError, LostPinError
from conversations.model import About, Conversation, Draft, Message, Trace, Turn
from conversations.objects import Objects
from conversations.store import Activity, Listed, Span
from tests.bed.messages import said
from tests.bed.tables import fresh_tables

pytestmark = pytest.mark.slow

NOW = "2026-11-30T12:00:00.000000000Z"


@pytest.fixture(params=["ministack", "moto"])
def store(request: pytest.FixtureRequest) -> Iterator[DynamoStore]:
    if request.param == "ministack":
        dynamodb, s3 = request.getfixturevalue("dynamodb"), request.getfixturevalue("s3")
        yield from _store(dynamodb, s3)
    else:
        with mock_aws():
            yield from _store(boto3.client("dynamodb"), boto3.client("s3"))


def _store(dynamodb: Any, s3: Any) -> Iterator[DynamoStore]:
    with fresh_tables(dynamodb, s3) as tables:
        names = Tables(tables.messages, tables.conversations)
        yield DynamoStore(dynamodb, names, Objects(lambda: s3, tables.bodies), SystemClock())


def _conversation(number: int = 0, **fields: Any) -> Conversation:
    at = to_timestamp(1_800_000_000_000_000_000 + number)
    return Conversation(f"{number:020d}", "alice", at, at, **fields)


def _message(head: Conversation, place: int, **fields: Any) -> Message:
    at = to_timestamp(1_800_000_000_000_000_000 + place)
    previous = ids.message_id(head.id, f"m{place - 1}") if place > 1 else None
    return Message(
        ids.message_id(head.id, f"m{place}"), head.id, "user", said(str(place)), at, place, previous, **fields
    )


def _moved(head: Conversation, message: Message) -> Conversation:
    return replace(
        head,
        version=head.version + 1,
        message_count=message.position,
        last_message_id=message.id,
        last_message_at=message.created_at,
    )


def _with_messages(store: DynamoStore, count: int) -> tuple[Conversation, list[Message]]:
    head = _conversation()
    store.create(head)
    messages = [_message(head, place) for place in range(1, count + 1)]
    for message in messages:
        moved = _moved(head, message)
        store.append(head, moved, [message])
        head = moved
    return head, messages


def test_what_is_created_is_read(store: DynamoStore) -> None:
    conversation = _conversation(about=About("n", metadata={"a": "b" * 2000}), ttl_days=3, expires_at=5)
    store.create(conversation)

    assert store.snapshot(conversation.id, about=True).conversation == conversation
    assert store.snapshot("missing").conversation is None
    with pytest.raises(AlreadyStoredError):
        store.create(conversation)


def test_an_append_is_all_or_nothing(store: DynamoStore) -> None:
    head, messages = _with_messages(store, 1)
    stale = replace(head, version=head.version - 1)
    second = _message(head, 2)

    with pytest.raises(LostPinError):
        store.append(stale, _moved(stale, second), [second])
    with pytest.raises(AlreadyStoredError) as raised:
        store.append(head, _moved(head, second), [second, messages[0]])

    assert raised.value.item_id == messages[0].id
    assert store.message(second.id) is None
    assert store.snapshot(head.id).conversation == head
    with pytest.raises(LostPinError):
        store.append(replace(head, owner="bob"), replace(_moved(head, second), owner="bob"), [second])


def test_one_read_finds_a_conversation_with_messages_and_turns(store: DynamoStore) -> None:
    head, messages = _with_messages(store, 3)
    turn = Turn(messages[0].id, "running", NOW, 1, 7)
    store.claim(turn, expects=None)

    named = [messages[1].id, "missing", messages[1].id]
    snapshot = store.snapshot(head.id, messages=named, turns=[messages[0].id, messages[1].id])

    assert snapshot.conversation == head
    assert snapshot.messages == {messages[1].id: messages[1]}
    assert snapshot.turns == {messages[0].id: turn}


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_span_is_read_in_order(store: DynamoStore, newest_first: bool) -> None:
    head, messages = _with_messages(store, 5)
    span = Span(head.id, earliest=messages[1].created_at, latest=messages[3].created_at)

    wanted = messages[3:0:-1] if newest_first else messages[1:4]
    assert store.indexed(span, newest_first=newest_first, limit=10) == wanted
    assert store.indexed(span, newest_first=newest_first, limit=2) == wanted[:2]
    assert len(store.indexed(Span(head.id), newest_first=newest_first, limit=9)) == 5
    assert store.indexed(Span("other"), newest_first=newest_first, limit=9) == []


def test_more_than_a_batch_is_read(store: DynamoStore) -> None:
    head, messages = _with_messages(store, 3)
    wanted = [message.id for message in messages] + [f"{head.id}.none{place}" for place in range(200)]

    assert store.messages(wanted) == {message.id: message for message in messages}


def test_a_session_stands_for_one_conversation(store: DynamoStore) -> None:
    first, second = (_conversation(number, about=About(session_id="s")) for number in (1, 2))
    store.create(first)

    assert store.session("alice", "s") == first.id
    assert store.session("bob", "s") is None
    with pytest.raises(LostPinError):
        store.create(second)
    with pytest.raises(LostPinError):
        store.create(second, session_replaces="other")
    store.create(second, session_replaces=first.id)
    assert store.session("alice", "s") == second.id


def test_an_owners_conversations_are_listed_last_update_first(store: DynamoStore) -> None:
    made = [_conversation(number) for number in range(4)]
    for conversation in made:
        store.create(conversation)

    lines = store.owned("alice", after=None, limit=3)
    rest = store.owned("alice", after=lines[-1], limit=3)

    assert [line.conversation_id for line in [*lines, *rest]] == [c.id for c in reversed(made)]
    gone = Listed(made[2].updated_at, "0" * 19 + "1")  # a place where nothing stands
    assert [line.conversation_id for line in store.owned("alice", after=gone, limit=3)] == [made[1].id, made[0].id]
    assert store.owned("bob", after=None, limit=3) == []
    minute = SystemClock().now_ns() // 60_000_000_000
    assert store.recent("alice", range(minute - 1, minute + 1)) == {c.id for c in made}


def test_a_turn_is_claimed_by_one_attempt(store: DynamoStore) -> None:
    head, [message] = _with_messages(store, 1)
    first = Turn(message.id, "running", NOW, 1, 7)
    store.claim(first, expects=None)

    with pytest.raises(LostPinError):
        store.claim(first, expects=None)
    store.progress(replace(first, lease_until_ms=9, partial_text="part"), with_text=True)
    with pytest.raises(LostPinError):
        store.claim(replace(first, attempt=2), expects=first)
    second = Turn(message.id, "running", NOW, 2, 11)
    store.claim(second, expects=replace(first, lease_until_ms=9))
    with pytest.raises(LostPinError):
        store.progress(first, with_text=False)
    failed = replace(second, status="failed", error={"code": "x", "message": "y"})
    store.settle(head, failed, expects=second)

    assert store.snapshot(head.id, turns=[message.id]).turns == {message.id: failed}
    assert store.snapshot(head.id).conversation == replace(head, version=head.version + 1)
    with pytest.raises(LostPinError):
        store.settle(head, failed, expects=failed)


def test_progress_never_creates_a_turn(store: DynamoStore) -> None:
    head, [message] = _with_messages(store, 1)

    with pytest.raises(LostPinError):
        store.progress(Turn(message.id, "running", NOW, 1, 7, "text"), with_text=True)
    assert store.snapshot(head.id, turns=[message.id]).turns == {}


def test_what_is_large_is_shelved_and_loaded(store: DynamoStore) -> None:
    head = _conversation()
    store.create(head)
    noise = "".join(chr(0x4E00 + (place * 7919) % 20_000) for place in range(40_000))
    [small, large] = store.shelve(head.id, [Draft("m1", "user", said("x")), Draft("m2", "user", said(noise))])

    assert (small.large_key, large.large_key is not None) == (None, True)
    message = replace(_message(head, 1), content=large.content, large_key=large.large_key)
    store.append(head, _moved(head, message), [message])
    [unloaded] = store.indexed(Span(head.id), newest_first=True, limit=1)
    assert unloaded.content == ()
    assert store.load([unloaded]) == [message]
    store.unshelve([large])
    assert store.load([unloaded])[0].readable is False


def test_a_receipt_is_found_and_is_no_message(store: DynamoStore) -> None:
    head = _conversation()
    store.create(head)
    message = replace(_message(head, 1), receipt="r")
    store.append(head, _moved(head, message), [message])

    assert store.receipt(f"{head.id}.r") == [message.id]
    assert store.receipt(message.id) is None
    assert store.message(f"{head.id}.r") is None
    assert codec.receipt_from_item(codec.message_to_item(message)) is None


def test_a_change_pins_the_head_and_each_message_and_may_add_an_answer(store: DynamoStore) -> None:
    head, [first, second] = _with_messages(store, 2)
    changed = [replace(message, rev=2, metadata={"n": 1}, updated_at=NOW, change_id="c") for message in (first, second)]
    answer = replace(_message(head, 3), id=ids.response_id(first.id), role="assistant")
    moved = _moved(head, answer)

    with pytest.raises(LostPinError):
        store.change(replace(head, version=1), moved, changed)
    with pytest.raises(LostPinError):
        store.change(head, moved, [changed[0], replace(second, rev=3)])
    with pytest.raises(AlreadyStoredError):
        store.change(head, moved, changed[:1], [replace(answer, id=second.id)])
    assert store.messages([first.id, second.id]) == {first.id: first, second.id: second}
    store.change(head, moved, changed, [answer])

    wanted = [*changed, answer]
    assert store.messages(message.id for message in wanted) == {message.id: message for message in wanted}
    assert store.indexed(Span(head.id), newest_first=False, limit=9) == wanted
    with pytest.raises(LostPinError):
        store.change(moved, replace(moved, version=moved.version + 1), changed)


def _trace(head: Conversation, parent: Message, ordinal: int, number: int, **fields: Any) -> Trace:
    return Trace(ids.trace_id(head.id, ordinal), head.id, ordinal, parent.id, number, NOW, updated_at=NOW, **fields)


def test_traces_are_read_by_number_and_are_no_messages(store: DynamoStore) -> None:
    head, [parent, other] = _with_messages(store, 2)
    numbers = (3, -(2**31), 2**31 - 1, -1, 3)
    traces = [_trace(head, parent, place, number, input=str(number)) for place, number in enumerate(numbers, 1)]
    traces.append(_trace(head, other, 6, 0, additional_info={"a": None}))
    for trace in traces:
        raised = replace(head, version=head.version + 1, notes=head.notes.with_trace(5))
        store.add_trace(head, raised, trace)
        head = raised

    in_order = [traces[place] for place in (1, 3, 0, 4, 2)]
    assert store.indexed_traces(parent.id, limit=9) == in_order
    assert store.indexed_traces(parent.id, limit=2) == in_order[:2]
    assert store.indexed_traces(other.id, limit=9) == traces[5:]
    assert store.snapshot(head.id, traces=[traces[0].id, "missing"]).traces == {traces[0].id: traces[0]}
    assert store.snapshot(head.id).conversation == head
    assert store.message(traces[0].id) is None
    assert len(store.indexed(Span(head.id), newest_first=True, limit=9)) == 2
    raised = replace(head, version=head.version + 1)
    with pytest.raises(AlreadyStoredError):
        store.add_trace(head, raised, traces[0])
    with pytest.raises(LostPinError):
        store.change_trace(head, raised, replace(traces[0], version=3))
    store.change_trace(head, raised, replace(traces[0], version=2, response="r"))
    assert store.traces([traces[0].id, "missing"]) == {traces[0].id: replace(traces[0], version=2, response="r")}


def test_what_is_large_of_a_change_is_shelved_anew_and_found_by_who_read_before(store: DynamoStore) -> None:
    head, [message] = _with_messages(store, 1)
    noise = "".join(chr(0x4E00 + (place * 7919) % 20_000) for place in range(40_000))
    large = store.shelve_message(replace(message, rev=2, content=said(noise)))
    moved = replace(head, version=head.version + 1)
    store.change(head, moved, [large])
    [seen] = store.indexed(Span(head.id), newest_first=True, limit=1)
    larger = store.shelve_message(replace(large, rev=3, content=said(noise + "!")))
    store.change(moved, replace(moved, version=moved.version + 1), [larger])
    assert large.large_key is not None
    store.remove_objects([large.large_key])

    assert (seen.content, seen.large_key) == ((), large.large_key)
    assert store.load([seen]) == [larger]
    assert store.shelve_message(replace(larger, content=said("x"))).large_key is None
    trace = store.shelve_trace(_trace(head, message, 1, 1, input=noise))
    raised = replace(moved, version=moved.version + 1)
    store.add_trace(raised, replace(raised, version=raised.version + 1), trace)
    [unloaded] = store.indexed_traces(message.id, limit=9)
    assert (unloaded.input, unloaded.large_key) == (None, trace.large_key)
    assert store.load_traces([unloaded]) == [trace]


def test_activities_are_of_conversations_that_were_not_deleted(store: DynamoStore) -> None:
    made = [_conversation(number, expires_at=number or None) for number in range(8)]
    for conversation in made:
        store.create(conversation)
    store.bury(replace(made[5], version=2, deleted_at=NOW, expires_at=7), expects=made[5])

    found = store.activities([f"missing{place}" for place in range(100)] + [c.id for c in made])

    wanted = [Activity(c.id, 1, c.updated_at, c.expires_at) for c in made if c is not made[5]]
    assert sorted(found, key=lambda activity: activity.conversation_id) == wanted
    assert store.activities([made[0].id]) == wanted[:1]
