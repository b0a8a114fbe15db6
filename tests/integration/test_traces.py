"""Traces: beside the chain of messages, whole whatever the index has, gone with their conversation."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conversations.access import read_head
from conversations.dynamo import DynamoStore
from conversations.errors import ForeignError, InvalidRequestError, MessageNotFoundError, NotFoundError
from conversations.interactions import interactions, read_interaction
from conversations.model import Trace
from conversations.traces import NewTrace, add_trace, traces
from tests.bed.faults import fail_first, write_and_hang_up
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock


@pytest.fixture
def trace(lagging: LaggingStore, clock: TestClock) -> Callable[..., str]:
    def added(parent_id: str, number: int, *, owner: str | None = None, **members: Any) -> str:
        new = NewTrace(parent_id, number, **members)
        return add_trace(lagging, clock, owner=owner, conversation_id=parent_id[:20], new=new)

    return added


@pytest.fixture
def listed(lagging: LaggingStore, clock: TestClock) -> Callable[..., list[Trace]]:
    def found(parent_id: str, offset: int = 0, limit: int = 100) -> list[Trace]:
        head = read_head(lagging, clock, owner=None, conversation_id=parent_id[:20])
        return list(traces(lagging, head, parent_id, offset=offset, limit=limit))

    return found


def test_traces_are_listed_by_number_and_are_no_messages(
    api: Api, trace: Callable[..., str], listed: Callable[..., list[Trace]], store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create(ttlDays=2)
    parent, other = (api.say(conversation_id, text)["id"] for text in ("q", "other"))
    before = api.call("GET", f"/conversations/{conversation_id}").body
    clock.offset_s += 10
    numbers = (3, -(2**31), 1, 2**31 - 1, 1, 0)
    added = {trace(parent, number, input=f"step {number}", additional_info={"n": number}): number for number in numbers}
    trace(other, 7, response="r", origin="tool")

    found = listed(parent)
    assert [one.number for one in found] == sorted(numbers)
    assert {one.id: one.number for one in found} == added
    assert [(one.input, one.additional_info, one.version) for one in found[:1]] == [
        (f"step {-(2**31)}", {"n": -(2**31)}, 1)
    ]
    assert [one.number for one in listed(parent, 2, 3)] == [1, 1, 3]
    assert listed(parent, 6, 3) == []
    assert [(one.number, one.response, one.origin) for one in listed(other)] == [(7, "r", "tool")]

    after = api.call("GET", f"/conversations/{conversation_id}").body
    assert (after["messageCount"], before["messageCount"]) == (2, 2)
    assert after["updatedAt"] > before["updatedAt"]
    assert after["expiresAt"] > before["expiresAt"]
    messages = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"]
    assert [message["id"] for message in messages] == [parent, other]
    assert "step" not in str(api.call("GET", f"/conversations/{conversation_id}/history").body)
    assert api.call("GET", f"/conversations/{conversation_id}/messages/{next(iter(added))}").status == 404
    head = read_head(store, clock, owner=None, conversation_id=conversation_id)
    assert [one.id for one in interactions(store, head, offset=0, limit=9)] == [parent, other]
    for trace_id in added:
        _, read = read_interaction(store, clock, owner=None, message_id=trace_id)
        assert read in found


def test_a_trace_needs_a_parent_of_the_same_chain(api: Api, trace: Callable[..., str], clock: TestClock) -> None:
    conversation_id, other = api.create(), api.create()
    parent, elsewhere = (api.say(one, "q")["id"] for one in (conversation_id, other))
    cleared = api.say(conversation_id, "old")["id"]
    of_parent = trace(parent, 1)
    with pytest.raises(ForeignError):
        trace(parent, 1, owner="bob")
    api.call("DELETE", f"/conversations/{conversation_id}/messages")

    for wrong in (cleared, parent, of_parent, f"{conversation_id}.none", ""):
        with pytest.raises((InvalidRequestError, NotFoundError)):
            trace(wrong, 1)
    with pytest.raises(InvalidRequestError):
        trace(elsewhere, 2**31)
    with pytest.raises(NotFoundError):
        trace("A" * 20 + ".x", 1)


@pytest.mark.parametrize("withheld", [{1}, {3}, {1, 2, 3, 4, 5}, set()], ids=str)
def test_listings_are_whole_whatever_the_index_has_and_settle_after_a_minute(
    api: Api,
    lagging: LaggingStore,
    trace: Callable[..., str],
    listed: Callable[..., list[Trace]],
    clock: TestClock,
    withheld: set[int],
) -> None:
    parent = api.say(api.create(), "q")["id"]
    added = [trace(parent, number) for number in (5, 3, 1, 2, 4)]
    lagging.withhold_traces(added[place - 1] for place in withheld)

    assert [one.number for one in listed(parent)] == [1, 2, 3, 4, 5]
    assert [one.number for one in listed(parent, 1, 2)] == [2, 3]
    lagging.withhold_traces(())
    clock.offset_s += 61
    reads = lagging.trace_reads
    assert [one.number for one in listed(parent)] == [1, 2, 3, 4, 5]
    assert lagging.trace_reads == reads


def test_many_at_once_lose_nothing(api: Api, trace: Callable[..., str], listed: Callable[..., list[Trace]]) -> None:
    parent = api.say(api.create(), "q")["id"]

    with ThreadPoolExecutor(10) as pool:
        added = set(pool.map(lambda number: trace(parent, number), range(20)))

    assert len(added) == 20
    assert [one.number for one in listed(parent)] == list(range(20))


@pytest.mark.parametrize("size", [10, 50_000])
def test_an_answer_that_was_lost_adds_it_once(
    api: Api,
    trace: Callable[..., str],
    listed: Callable[..., list[Trace]],
    own_dynamodb: Any,
    s3: Any,
    tables: Tables,
    size: int,
) -> None:
    parent = api.say(api.create(), "q")["id"]
    text = os.urandom(size).hex()
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    trace_id = trace(parent, 1, input=text)

    assert [(one.id, one.input) for one in listed(parent)] == [(trace_id, text)]
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == (size > 1000)


def test_clear_and_delete_hide_them_at_once(
    api: Api,
    trace: Callable[..., str],
    listed: Callable[..., list[Trace]],
    store: DynamoStore,
    clock: TestClock,
) -> None:
    conversation_id = api.create()
    parent = api.say(conversation_id, "q")["id"]
    hidden = trace(parent, 1)

    api.call("DELETE", f"/conversations/{conversation_id}/messages")
    assert listed(parent) == []
    with pytest.raises(MessageNotFoundError):
        read_interaction(store, clock, owner=None, message_id=hidden)
    again = api.say(conversation_id, "q")["id"]
    assert listed(again) == []
    shown = trace(again, 1)
    assert [one.id for one in listed(again)] == [shown]
    api.call("DELETE", f"/conversations/{conversation_id}")
    with pytest.raises(NotFoundError):
        read_interaction(store, clock, owner=None, message_id=shown)
