"""Searching stored messages and conversations: complete, true to the present, and reading only what is new."""

import os
import tracemalloc
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.access import read_head
from conversations.amending import InteractionChange, change_interaction
from conversations.errors import BusyError, TooLargeError
from conversations.interactions import NewInteraction, add_interaction
from conversations.notes import MOST_NAMED
from conversations.search_cache import SearchCache
from conversations.searching import Found, MemorySearches, MessageSearches
from conversations.traces import NewTrace, add_trace
from tests.bed.faults import fail_first, service_error
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said
from tests.integration.conftest import TestClock

pytestmark = pytest.mark.slow

ALL = {"query": {"match_all": {}}, "size": 1000}


class Memory:
    """Writes through the domain, and searches with one warm cache."""

    def __init__(self, api: Api, store: LaggingStore, clock: TestClock) -> None:
        self.api, self.store, self.clock = api, store, clock
        self.cache = SearchCache()
        self.id = api.create()

    def add(self, **members: Any) -> str:
        return add_interaction(
            self.store, self.clock, owner=None, conversation_id=self.id, new=NewInteraction(**members)
        )

    def trace(self, parent_id: str, number: int, **members: Any) -> str:
        new = NewTrace(parent_id, number, **members)
        return add_trace(self.store, self.clock, owner=None, conversation_id=self.id, new=new)

    def change(self, message_id: str, **members: Any) -> None:
        change = InteractionChange(**members)
        change_interaction(self.store, self.clock, owner=None, message_id=message_id, change=change)

    def search(self, query: Any, cache: SearchCache | None = None, **members: Any) -> Found:
        head = read_head(self.store, self.clock, owner=None, conversation_id=self.id)
        now_ms = self.clock.now_ns() // 1_000_000
        body = {"query": query, "size": 1000, **members}
        return MessageSearches(self.cache if cache is None else cache).search(self.store, head, body, now_ms)

    def ids(self, query: Any) -> list[str]:
        return [hit.id for hit in self.search(query).results.hits]

    def everything(self, cache: SearchCache | None = None) -> dict[str, Any]:
        found = self.search({"match_all": {}}, cache)
        return {hit.id: (found.versions[hit.id], hit.source) for hit in found.results.hits}


@pytest.fixture
def memory(api: Api, lagging: LaggingStore, clock: TestClock) -> Memory:
    return Memory(api, lagging, clock)


@pytest.fixture
def calls(own_dynamodb: Any) -> list[str]:
    """The operations of DynamoDB since the test last cleared it."""
    made: list[str] = []
    own_dynamodb.meta.events.register(
        "before-send.dynamodb.*", lambda event_name, **_: made.append(event_name.rpartition(".")[2])
    )
    return made


def test_documents_are_what_opensearch_keeps(memory: Memory) -> None:
    full = memory.add(
        input="映画のおすすめは", prompt_template="p", response="七人の侍", origin="o", additional_info={"k": 1}
    )
    bare = memory.add(origin="only")
    step = memory.trace(full, -3, response="step")

    found = memory.everything()

    (version, sequence), document = found[full]
    assert (version, sequence) == (1, 0)
    times = {document.pop("create_time"), document.pop("updated_time")}
    assert len(times) == 1
    assert times.pop().endswith("Z")
    assert document == {
        "memory_id": memory.id,
        "input": "映画のおすすめは",
        "prompt_template": "p",
        "response": "七人の侍",
        "origin": "o",
        "additional_info": {"k": 1},
        "parent_message_id": None,
        "trace_number": None,
    }
    assert found[bare][1].keys() == document.keys() - {"input", "prompt_template", "response", "additional_info"} | {
        *("create_time", "updated_time")
    }
    assert (found[step][1]["parent_message_id"], found[step][1]["trace_number"]) == (full, -3)
    assert memory.ids({"match": {"input": "映画"}}) == [full]
    assert memory.ids({"match": {"input": "おすすめ"}}) == [full]
    assert memory.ids({"exists": {"field": "trace_number"}}) == [step]
    assert memory.ids({"term": {"additional_info.k": "1"}}) == [full]


def test_an_unchanged_memory_is_read_by_its_head_alone_and_then_only_what_is_new(
    memory: Memory, calls: list[str]
) -> None:
    added = [memory.add(input=f"q{place}", response="a") for place in range(40)]
    assert len(memory.everything()) == 40
    memory.clock.offset_s += 100

    calls.clear()
    assert memory.ids({"match": {"input": "q7"}}) == [added[7]]
    assert calls == ["GetItem"]
    memory.api.call("PATCH", f"/conversations/{memory.id}", {"name": "n"})
    calls.clear()
    assert memory.ids({"match": {"input": "q7"}}) == [added[7]]
    assert calls == ["GetItem"]

    new = memory.add(input="new", response="a")
    calls.clear()
    assert memory.ids({"match": {"input": "new"}}) == [new]
    assert calls == ["GetItem", "Query"]
    memory.change(added[3], response="b")
    calls.clear()
    assert memory.ids({"match": {"response": "b"}}) == [added[3]]
    assert calls == ["GetItem", "BatchGetItem"]
    step = memory.trace(new, 1, input="step")
    calls.clear()
    assert memory.ids({"match": {"input": "step"}}) == [step]
    assert calls == ["GetItem", "GetItem"]


def test_a_late_answer_reaches_its_question_however_far_back(memory: Memory) -> None:
    asked = memory.add(input="long ago")
    for _ in range(3):
        batch = [{"role": "user", "content": said("filler")}] * 90
        memory.api.call("POST", f"/conversations/{memory.id}/messages", {"messages": batch})
    assert len(memory.everything()) == 271

    memory.api.say(memory.id, "finally", "assistant", associatedUserMessageId=asked)

    assert memory.ids({"match": {"response": "finally"}}) == [asked]
    assert memory.everything() == memory.everything(SearchCache())


@pytest.mark.parametrize("changes", [1, MOST_NAMED, MOST_NAMED + 1])
def test_changes_are_seen_though_the_index_of_messages_does_not_have_them(
    memory: Memory, lagging: LaggingStore, changes: int
) -> None:
    added = [memory.add(input="q", response="old") for _ in range(changes + 2)]
    steps = [memory.trace(added[0], place, response="old") for place in range(2)]
    lagging.stop_at_present([*added, *(f"{one}.response" for one in added)], steps)
    assert len(memory.ids({"match": {"response": "old"}})) == changes + 4

    for one in added[: changes - 1]:
        memory.change(one, response="new")
    memory.change(steps[0], response="new")

    assert sorted(memory.ids({"match": {"response": "new"}})) == sorted([*added[: changes - 1], steps[0]])
    assert memory.everything() == memory.everything(SearchCache())


def test_a_cleared_memory_is_empty_at_once_and_an_older_head_still_finds(memory: Memory) -> None:
    memory.add(input="before")
    head = read_head(memory.store, memory.clock, owner=None, conversation_id=memory.id)
    assert len(memory.everything()) == 1

    memory.api.call("DELETE", f"/conversations/{memory.id}/messages")
    assert memory.everything() == {}
    again = memory.add(input="after")
    assert memory.ids({"match_all": {}}) == [again]
    old = MessageSearches(memory.cache).search(memory.store, head, ALL, 0)
    assert [hit.source and hit.source["input"] for hit in old.results.hits] == ["before"]
    assert memory.ids({"match_all": {}}) == [again]


def test_what_no_index_can_take_is_shown_all_the_same(memory: Memory) -> None:
    one = memory.add(input="findable", origin="o" * 40_000, additional_info={"k": "v" * 40_000})

    [hit] = memory.search({"match": {"input": "findable"}}).results.hits

    assert hit.id == one
    assert hit.source is not None
    assert (len(str(hit.source["origin"])), hit.source["additional_info"]) == (40_000, {"k": "v" * 40_000})


def test_what_is_large_is_found(memory: Memory) -> None:
    one = memory.add(input="needle " + os.urandom(40_000).hex(), response="r")
    memory.change(one, response="haystack " + os.urandom(40_000).hex())

    assert memory.ids({"bool": {"must": [{"match": {"input": "needle"}}, {"match": {"response": "haystack"}}]}}) == [
        one
    ]


def test_of_messages_only_what_is_found_is_kept(memory: Memory) -> None:
    """The index tells how much memory it takes; what no index holds must not take any."""
    image = {"image": {"format": "png", "source": {"bytes": b64encode(os.urandom(300_000)).decode()}}}
    path = f"/conversations/{memory.id}/messages"
    for number in range(12):
        body = {"role": "user", "content": [{"text": f"picture {number}"}, image]}
        assert memory.api.call("POST", path, body).status == 201
    tracemalloc.start()

    assert len(memory.ids({"match": {"input": "picture"}})) == 12

    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 2_000_000


def test_a_search_that_fails_half_way_goes_on_from_there(memory: Memory, own_dynamodb: Any, calls: list[str]) -> None:
    asked = memory.add(input="first")
    for _ in range(3):
        batch = [{"role": "user", "content": said("filler")}] * 90
        memory.api.call("POST", f"/conversations/{memory.id}/messages", {"messages": batch})
    memory.api.say(memory.id, "late", "assistant", associatedUserMessageId=asked)
    steps = [memory.trace(asked, number) for number in range(3)]
    fail_first(own_dynamodb, "BatchGetItem", 2, service_error("ThrottlingException"))  # the client's only try, too
    with pytest.raises(BusyError):
        memory.everything()

    found = memory.everything()

    assert len(found) == 271 + 3
    assert found.keys() > set(steps)
    assert found[asked][1]["response"] == "late"
    assert found == memory.everything(SearchCache())


def _do(memory: Memory, step: str, place: int, parents: list[str], steps_of: list[str]) -> None:
    """One step; what it is done to depends on its place."""
    target = parents[place * 7 % len(parents)]
    kind, _, what = step.partition(" ")
    if kind == "add":
        members = {"pair": {"input": f"q{place}", "response": f"a{place}"}, "alone": {"response": f"a{place}"}}
        parents.append(memory.add(**members[what]))
    elif kind == "say":
        parents.append(str(memory.api.say(memory.id, f"q{place}")["id"]))
    elif kind == "answer":
        message = {"role": "assistant", "content": said(f"a{place}"), "associatedUserMessageId": target}
        memory.api.call("POST", f"/conversations/{memory.id}/messages", message)
    elif kind == "change":
        changed: Any = f"a{place}" if what == "response" else {f"k{place}": place}
        memory.change(target, **{what: changed})
    elif step == "trace":
        steps_of.append(memory.trace(target, place, input=f"t{place}"))
    elif step == "retrace" and steps_of:
        memory.change(steps_of[place % len(steps_of)], response=f"a{place}")
    else:
        memory.everything()


STEPS = (
    *("add pair", "add alone", "say", "answer", "change response", "change additional_info"),
    *("trace", "retrace", "search"),
)


@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_index_that_followed_equals_one_made_anew(
    api: Api, lagging: LaggingStore, clock: TestClock, steps: list[str]
) -> None:
    memory = Memory(api, lagging, clock)
    parents, steps_of = [memory.add(input="first")], list[str]()
    for place, step in enumerate(steps):
        _do(memory, step, place, parents, steps_of)
    query = {"match": {"response": " ".join(f"a{place}" for place in range(30))}}

    anew = SearchCache()
    assert memory.everything() == memory.everything(anew)
    kept, made_anew = (memory.search(query, cache).results.hits for cache in (memory.cache, anew))
    assert {hit.id: hit.score for hit in kept} == {hit.id: hit.score for hit in made_anew}


# The bounds


def test_the_cache_keeps_those_used_last_within_its_bound(api: Api, lagging: LaggingStore, clock: TestClock) -> None:
    memories = [Memory(api, lagging, clock) for _ in range(3)]
    for memory in memories:
        memory.add(input=os.urandom(5_000).hex())
    probe = SearchCache()
    memories[0].everything(probe)
    one = probe.memory_bytes
    assert 10_000 < one < 50_000

    cache = SearchCache(most_bytes=one * 5 // 2)
    for memory in (*memories[:2], memories[0], memories[2]):
        assert len(memory.everything(cache)) == 1
    assert len(cache) == 2
    assert cache.memory_bytes <= one * 5 // 2
    kept = [memory for memory in memories if str(memory.id) in cache._kept]
    assert kept == [memories[0], memories[2]]

    tiny = SearchCache(most_bytes=one // 2)
    assert len(memories[0].everything(tiny)) == 1
    assert (len(tiny), tiny.memory_bytes) == (0, 0)


def test_more_text_than_an_index_may_hold_is_refused_and_not_kept(memory: Memory) -> None:
    memory.add(input="small")
    cache = SearchCache(largest_bytes=30_000)
    assert len(memory.everything(cache)) == 1

    for _ in range(4):
        memory.add(input=os.urandom(5_000).hex())
    with pytest.raises(TooLargeError):
        memory.everything(cache)

    assert (len(cache), cache.memory_bytes) == (0, 0)


def test_threads_share_one_index_one_at_a_time(memory: Memory) -> None:
    def add_and_find(place: int) -> bool:
        added = memory.add(input=f"word{place}", response="a")
        return memory.ids({"match": {"input": f"word{place}"}}) == [added]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(add_and_find, range(24)))
    assert len(memory.everything()) == 24
    assert memory.everything() == memory.everything(SearchCache())


# Conversations


@pytest.fixture
def search_memories(lagging: LaggingStore, clock: TestClock) -> Callable[..., Found]:
    searches = MemorySearches(SearchCache(), nobody="anonymous")

    def search(owner: str | None, query: Any, caller: str | None = None) -> Found:
        return searches.search(lagging, clock, owner, {"query": query, "size": 100}, caller=caller)

    return search


def test_an_owners_conversations_are_found_as_they_are_now(
    lagging: LaggingStore, clock: TestClock, search_memories: Callable[..., Found], calls: list[str]
) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("bob")
    api.create(name="Henry of Bob")
    api.as_user("alice")
    henry = api.create(name="Henry Conversation", metadata={"k1": "v1"})
    mehul = api.create(name="Mehul " * 100)
    lagging.withhold_conversations([mehul])

    def found(query: Any) -> list[str]:
        return [hit.id for hit in search_memories("alice", query).results.hits]

    assert found({"match": {"name": "Henry Conversation"}}) == [henry]
    assert found({"match": {"name": "mehul"}}) == [mehul]
    assert found({"match": {"additional_info.k1": "v1"}}) == [henry]
    [hit] = search_memories("alice", {"ids": {"values": [henry]}}).results.hits
    assert hit.source is not None
    assert hit.source["user"] == "alice"
    assert hit.source["create_time"] == hit.source["updated_time"]
    everything = search_memories("alice", {"match_all": {}})
    assert {id_: version.version for id_, version in everything.versions.items()} == {henry: 1, mehul: 1}

    calls.clear()
    found({"match_all": {}})
    assert calls == ["BatchGetItem", "Query", "BatchGetItem"]
    api.say(henry, "moves it")
    api.call("PATCH", f"/conversations/{mehul}", {"name": "Renamed"})
    assert search_memories("alice", {"match_all": {}}).versions[henry].version == 2
    assert found({"match": {"name": "mehul"}}) == []
    api.call("DELETE", f"/conversations/{mehul}")
    assert found({"match_all": {}}) == [henry]


def test_administrators_search_everybodys_and_nobody_is_not_shown(
    lagging: LaggingStore, clock: TestClock, search_memories: Callable[..., Found]
) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    hers = api.create(name="one")
    nobodys = Api(lagging, clock).create(name="two")

    found = search_memories(None, {"match_all": {}}, caller="anonymous")

    users = {hit.id: hit.source.get("user") for hit in found.results.hits if hit.source}
    assert users == {hers: "alice", nobodys: None}
