"""The index may lag; nobody sees it, and making up for it costs one read for each message that is missing."""

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.chain import WIDE_GAP
from conversations.interactions import NewInteraction, add_interaction
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import complaints, said, tool_result, tool_use
from tests.integration.conftest import TestClock

pytestmark = pytest.mark.slow

COUNT = 14


@pytest.fixture
def conversation(api: Api) -> tuple[str, list[str]]:
    """A conversation of seven questions and answers."""
    conversation_id = api.create()
    ids = [api.say(conversation_id, str(place), "assistant" if place % 2 else "user")["id"] for place in range(COUNT)]
    return conversation_id, ids


def _pages(api: Api, conversation_id: str, order: str, limit: int) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query: dict[str, Any] = {"order": order, "limit": limit, **cursor}
        page = api.call("GET", f"/conversations/{conversation_id}/messages", query=query).body
        assert len(page["messages"]) <= limit
        found += [message["id"] for message in page["messages"]]
        if page["nextCursor"] is None:
            return found
        cursor = {"cursor": page["nextCursor"]}


WITHHELD = {
    "nothing": [],
    "the newest": [13],
    "the newest two": [12, 13],
    "the newest five": [9, 10, 11, 12, 13],
    "one in the middle": [6],
    "two apart": [3, 8],
    "the oldest": [0],
}


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("withheld", WITHHELD.values(), ids=WITHHELD.keys())
def test_a_page_is_whole_and_costs_as_many_reads_as_are_missing(
    api: Api, lagging: LaggingStore, conversation: tuple[str, list[str]], withheld: list[int], order: str
) -> None:
    conversation_id, ids = conversation
    lagging.withhold(ids[place] for place in withheld)

    found = _pages(api, conversation_id, order, 50)

    assert found == (ids if order == "asc" else ids[::-1])
    assert (lagging.index_queries, lagging.reads_by_id) == (1, len(withheld))


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 3, 5])
@pytest.mark.parametrize("withheld", [*WITHHELD.values(), list(range(COUNT))], ids=[*WITHHELD, "everything"])
def test_pages_are_whole_across_cursors(
    api: Api,
    lagging: LaggingStore,
    conversation: tuple[str, list[str]],
    withheld: list[int],
    limit: int,
    order: str,
) -> None:
    conversation_id, ids = conversation
    lagging.withhold(ids[place] for place in withheld)

    assert _pages(api, conversation_id, order, limit) == (ids if order == "asc" else ids[::-1])


@given(withheld=st.sets(st.integers(0, COUNT - 1)), limit=st.integers(1, 15), order=st.sampled_from(["asc", "desc"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_missing_no_page_has_a_hole(
    api: Api,
    lagging: LaggingStore,
    conversation: tuple[str, list[str]],
    withheld: set[int],
    limit: int,
    order: str,
) -> None:
    conversation_id, ids = conversation
    lagging.withhold(ids[place] for place in withheld)

    assert _pages(api, conversation_id, order, limit) == (ids if order == "asc" else ids[::-1])


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_wide_gap_is_first_asked_of_the_index_again(
    api: Api, lagging: LaggingStore, conversation: tuple[str, list[str]], order: str
) -> None:
    conversation_id, ids = conversation
    lagging.withhold(ids[-WIDE_GAP - 1 :])
    lagging.catches_up_after = 1

    assert _pages(api, conversation_id, order, 50) == (ids if order == "asc" else ids[::-1])
    assert (lagging.index_queries, lagging.reads_by_id) == (2, 0)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_stay_whole_while_others_write(api: Api, order: str) -> None:
    conversation_id = api.create()
    ids = [api.say(conversation_id, str(place))["id"] for place in range(20)]
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query = {"order": order, "limit": 3, **cursor}
        page = api.call("GET", f"/conversations/{conversation_id}/messages", query=query).body
        found += [message["id"] for message in page["messages"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
        if len(ids) < 30:
            ids.append(api.say(conversation_id, "later")["id"])

    assert len(found) == len(set(found))
    assert found == (ids if order == "asc" else ids[19::-1])


def test_a_listing_right_after_a_write_is_complete(api: Api, lagging: LaggingStore) -> None:
    """Each message is withheld from the moment it is written."""
    conversation_id = api.create()
    ids: list[str] = []
    for place in range(6):
        ids.append(api.say(conversation_id, str(place))["id"])
        lagging.withhold(ids[-2:])
        assert _pages(api, conversation_id, "desc", 50) == ids[::-1]
        assert _pages(api, conversation_id, "asc", 50) == ids


# Histories


def _texts(api: Api, conversation_id: str, **query: Any) -> list[str]:
    history = api.call("GET", f"/conversations/{conversation_id}/history", query=query)
    assert history.status == 200, history
    return [entry["content"][0]["text"] for entry in history.body["messages"]]


@pytest.mark.parametrize(
    "withheld", [[], [14], [13], [13, 14], [6], list(range(15))], ids=lambda places: f"{len(places)} missing"
)
def test_a_history_has_the_current_message_and_the_answer_before(
    api: Api, lagging: LaggingStore, conversation: tuple[str, list[str]], withheld: list[int]
) -> None:
    conversation_id, ids = conversation
    ids.append(api.say(conversation_id, "now")["id"])
    lagging.withhold(ids[place] for place in withheld)

    texts = _texts(api, conversation_id)

    assert texts == [*map(str, range(COUNT)), "now"]
    if len(withheld) <= WIDE_GAP:
        assert (lagging.index_queries, lagging.reads_by_id) == (1, len(withheld))


def test_a_current_message_deep_in_the_chain_is_read_by_id_and_its_history_from_there(
    api: Api, lagging: LaggingStore
) -> None:
    conversation_id = api.create()
    early = api.say(conversation_id, "early")
    current = api.say(conversation_id, "deep")
    rng = random.Random(1)
    for _ in range(3):
        batch = [{"role": "user", "content": [{"text": str(rng.random())}]} for _ in range(40)]
        api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch})
    late = api.say(conversation_id, "late answer", "assistant", associatedUserMessageId=early["id"])
    lagging.withhold([late["id"], current["id"]])

    assert _texts(api, conversation_id, currentMessageId=current["id"]) == ["early", "late answer", "deep"]


def test_a_turn_in_progress_is_whole_though_it_is_longer_than_a_page(api: Api) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    batch: list[dict[str, Any]] = [{"role": "user", "content": said("work")}]
    for number in range(60):
        batch.append({"role": "assistant", "content": [tool_use(f"t{number}")]})
        batch.append({"role": "tool", "content": [tool_result(f"t{number}")]})
    for first in range(0, len(batch), 90):
        assert api.call("POST", f"{path}/messages", {"messages": batch[first : first + 90]}).status == 201
    windows: list[dict[str, int]] = [{}, {"maxMessages": 1}, {"maxMessages": 110}, {"maxTokens": 50}]

    at_work = [api.call("GET", f"{path}/history", query=window).body["messages"] for window in windows]
    api.say(conversation_id, "thanks")
    later = [api.call("GET", f"{path}/history", query=window).body["messages"] for window in windows]

    for messages in at_work:
        assert (len(messages), messages[-1]["content"]) == (121, [tool_result("t59")])
        assert complaints(messages) == []
    for messages in later:
        assert complaints(messages) == []
        assert messages[-1]["content"][-1] == {"text": "thanks"}
        assert not any("toolUse" in block for entry in messages for block in entry["content"])


def test_system_messages_outside_the_window_still_count(api: Api) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "be brief", "system")
    for place in range(5):
        api.say(conversation_id, f"q{place}")
        api.say(conversation_id, f"a{place}", "assistant")
    api.say(conversation_id, "be kind", "system")
    api.say(conversation_id, "now")

    history = api.call("GET", f"/conversations/{conversation_id}/history", query={"maxMessages": 1}).body

    assert [block["text"] for block in history["system"]] == ["be brief", "be kind"]
    assert [entry["content"] for entry in history["messages"]] == [[{"text": "now"}]]
    assert history["truncated"] is True


@pytest.mark.parametrize("most", range(1, 17))
def test_a_window_of_messages_ends_with_the_newest(api: Api, conversation: tuple[str, list[str]], most: int) -> None:
    conversation_id, _ = conversation
    api.say(conversation_id, "now")

    texts = _texts(api, conversation_id, maxMessages=most)

    whole = [*map(str, range(COUNT)), "now"]
    assert texts == whole[-(most - 1 + most % 2) :]


def test_a_history_finds_the_newest_question_however_deep_it_lies(api: Api) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "deep")
    for _ in range(3):
        batch = [{"role": "system", "content": [{"text": "note"}]} for _ in range(80)]
        api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch})

    assert _texts(api, conversation_id) == ["deep"]


@pytest.mark.parametrize("after", [1, 120])
def test_a_history_finds_the_newest_question_that_says_something(
    api: Api, lagging: LaggingStore, clock: TestClock, after: int
) -> None:
    """A message may hold nothing but what is said about it, small or large."""
    conversation_id = api.create()
    api.say(conversation_id, "says something")
    large = {"large": os.urandom(50_000).hex()}
    for new in [NewInteraction(additional_info=large), *[NewInteraction(prompt_template="p")] * after]:
        add_interaction(lagging, clock, owner=None, conversation_id=conversation_id, new=new)

    assert _texts(api, conversation_id) == ["says something"]


def test_a_conversation_whose_messages_say_nothing_has_no_history(
    api: Api, lagging: LaggingStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    new = NewInteraction(origin="o")
    empty = add_interaction(lagging, clock, owner=None, conversation_id=conversation_id, new=new)
    path = f"/conversations/{conversation_id}/history"

    answer, named = api.call("GET", path), api.call("GET", path, query={"currentMessageId": empty})

    assert (answer.status, answer.body["error"]["code"]) == (404, "CurrentMessageNotFound")
    assert (named.status, named.body["error"]["code"]) == (422, "EmptyMessage")


def test_a_conversation_without_a_question_has_no_history(api: Api) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "welcome", "assistant")

    answer = api.call("GET", f"/conversations/{conversation_id}/history")

    assert (answer.status, answer.body["error"]["code"]) == (404, "CurrentMessageNotFound")
