"""Interactions: a message and its answer as one record, over the chain that everybody else reads as messages."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conversations.access import read_head
from conversations.dynamo import DynamoStore
from conversations.errors import ForeignError, MessageNotFoundError, NotFoundError
from conversations.interactions import (
    Interaction,
    NewInteraction,
    add_interaction,
    interactions,
    read_interaction,
)
from conversations.model import Conversation
from tests.bed.faults import fail_first, write_and_hang_up
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said, tool_result
from tests.integration.conftest import TestClock

Add = Callable[..., str]


@pytest.fixture
def add(lagging: LaggingStore, clock: TestClock) -> Add:
    def added(conversation_id: str, **members: Any) -> str:
        new = NewInteraction(**members)
        return add_interaction(lagging, clock, owner=None, conversation_id=conversation_id, new=new)

    return added


@pytest.fixture
def head(lagging: LaggingStore, clock: TestClock) -> Callable[[str], Conversation]:
    return lambda conversation_id: read_head(lagging, clock, owner=None, conversation_id=conversation_id)


def _read(store: Any, clock: TestClock, message_id: str, owner: str | None = None) -> Interaction:
    _, found = read_interaction(store, clock, owner=owner, message_id=message_id)
    assert isinstance(found, Interaction)
    return found


def test_what_is_added_is_read_and_stands_in_the_chain_as_message_and_answer(
    api: Api, add: Add, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create(ttlDays=3)
    members = {"input": "映画?", "prompt_template": "Answer: {q}", "response": "Ja.", "origin": "my-model"}
    message_id = add(conversation_id, **members, additional_info={"k": {"n": 1, "none": None}})

    one = _read(store, clock, message_id)
    page = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"]
    asked, answer = page

    assert (one.id, one.conversation_id, one.version) == (message_id, conversation_id, 1)
    assert {name: getattr(one, name) for name in members} == members
    assert one.additional_info == {"k": {"n": 1, "none": None}}
    assert one.created_at == one.updated_at == asked["createdAt"]
    assert (asked["id"], asked["role"], asked["content"]) == (message_id, "user", said("映画?"))
    assert (asked["promptTemplate"], asked["origin"]) == ("Answer: {q}", "my-model")
    assert asked["metadata"] == one.additional_info
    assert (answer["id"], answer["role"], answer["content"]) == (f"{message_id}.response", "assistant", said("Ja."))
    assert answer["associatedUserMessageId"] == message_id
    conversation = api.call("GET", f"/conversations/{conversation_id}").body
    assert conversation["messageCount"] == 2
    assert conversation["updatedAt"] >= one.created_at


@pytest.mark.parametrize(
    ("members", "role"),
    [
        ({"response": "r"}, "assistant"),
        ({"input": " ", "response": "r", "origin": "o"}, "assistant"),
        ({"input": "i"}, "user"),
        ({"origin": "o"}, "user"),
        ({"prompt_template": "p", "response": " "}, "user"),
        ({"additional_info": {"a": 1}}, "user"),
    ],
)
def test_an_interaction_may_lack_anything(
    api: Api, add: Add, store: DynamoStore, clock: TestClock, members: dict[str, Any], role: str
) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, **members)

    one = _read(store, clock, message_id)
    shown = {name: getattr(one, name) for name in ("input", "prompt_template", "response", "origin")}
    visible = {name: text for name, text in members.items() if isinstance(text, str) and text.strip()}

    assert {name: text for name, text in shown.items() if text is not None} == visible
    assert one.additional_info == members.get("additional_info", {})
    [message] = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"]
    assert (message["id"], message["role"]) == (message_id, role)


def test_a_response_without_input_is_attached_to_nothing(api: Api, add: Add, head: Any, store: DynamoStore) -> None:
    conversation_id = api.create()
    asked = add(conversation_id, input="open question")
    alone = add(conversation_id, response="not for you")

    found = interactions(store, head(conversation_id), offset=0, limit=10)

    assert [(one.id, one.input, one.response) for one in found] == [
        (asked, "open question", None),
        (alone, None, "not for you"),
    ]
    attached = api.say(conversation_id, "an answer", "assistant", associatedUserMessageId=asked)
    assert attached["id"] == f"{asked}.response"
    assert api.say(conversation_id, "q")["position"] == 4
    assert api.say(conversation_id, "our own rule stays", "assistant")["associatedUserMessageId"] is not None


def test_authors_may_call_their_messages_as_answers_and_traces_are_called(
    api: Api, add: Add, head: Any, lagging: LaggingStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    named = [api.say(conversation_id, name, clientMessageId=name)["id"] for name in ("response", "trace", "turn")]
    api.say(conversation_id, "an answer", "assistant", associatedUserMessageId=named[0])

    found = list(interactions(lagging, head(conversation_id), offset=0, limit=9))

    assert [(one.id, one.input) for one in found] == list(zip(named, ("response", "trace", "turn"), strict=True))
    assert found[0].response == "an answer"
    assert [_read(lagging, clock, one) for one in named] == found


def test_messages_of_our_own_api_are_interactions(api: Api, head: Any, lagging: LaggingStore) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "be brief", "system")
    late = api.say(conversation_id, "first")
    api.say(conversation_id, "welcome", "assistant", associatedUserMessageId=None)
    api.call("POST", f"/conversations/{conversation_id}/messages", {"role": "tool", "content": [tool_result("t")]})
    api.say(conversation_id, "I see", "assistant")
    api.say(conversation_id, "second", clientMessageId="response")

    found = list(interactions(lagging, head(conversation_id), offset=0, limit=10))
    newest_first = list(interactions(lagging, head(conversation_id), offset=0, limit=10, newest_first=True))

    shown = [(one.prompt_template, one.input, one.response) for one in found]
    assert shown == [("be brief", None, None), (None, "first", "welcome"), (None, "r", "I see"), (None, "second", None)]
    assert found[1].id == late["id"]
    assert newest_first == found[::-1]


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_by_offset_are_whole_wherever_answers_stand(
    api: Api, add: Add, head: Any, lagging: LaggingStore, newest_first: bool
) -> None:
    conversation_id = api.create()
    expected: list[tuple[str | None, str | None]] = []
    for place in range(30):
        kind = place % 5
        if kind == 0:
            add(conversation_id, response=f"alone {place}")
            expected.append((None, f"alone {place}"))
        elif kind == 1:
            add(conversation_id, input=f"open {place}")
            expected.append((f"open {place}", None))
        elif kind == 2:
            asked = add(conversation_id, input=f"late {place}")
            add(conversation_id, input=f"between {place}")
            api.say(conversation_id, f"answer {place}", "assistant", associatedUserMessageId=asked)
            expected += [(f"late {place}", f"answer {place}"), (f"between {place}", None)]
        else:
            add(conversation_id, input=f"q {place}", response=f"a {place}")
            expected.append((f"q {place}", f"a {place}"))
    wanted = expected[::-1] if newest_first else expected

    for offset, limit in ((0, 5), (4, 3), (7, 50), (0, 100), (35, 5), (36, 5), (99, 1)):
        found = interactions(lagging, head(conversation_id), offset=offset, limit=limit, newest_first=newest_first)
        assert [(one.input, one.response) for one in found] == wanted[offset : offset + limit]


def test_a_page_costs_a_query_and_at_most_one_read_of_answers(
    api: Api, add: Add, head: Any, lagging: LaggingStore, own_dynamodb: Any
) -> None:
    conversation_id = api.create()
    for place in range(6):
        add(conversation_id, input=f"q{place}", response=f"a{place}" if place % 2 else None)
    calls: list[str] = []
    own_dynamodb.meta.events.register("before-send.dynamodb.*", lambda event_name, **_: calls.append(event_name))

    standing = head(conversation_id)
    calls.clear()
    found = list(interactions(lagging, standing, offset=0, limit=6))

    assert len(found) == 6
    assert [name.rpartition(".")[2] for name in calls] == ["Query", "BatchGetItem"]


def test_an_interaction_is_added_with_one_read_and_one_transaction(api: Api, add: Add, own_dynamodb: Any) -> None:
    conversation_id = api.create()
    add(conversation_id, input="open")
    calls: list[str] = []
    own_dynamodb.meta.events.register("before-send.dynamodb.*", lambda event_name, **_: calls.append(event_name))

    add(conversation_id, input="q", response="a")
    add(conversation_id, response="a")

    assert [name.rpartition(".")[2] for name in calls] == ["GetItem", "TransactWriteItems"] * 2


def test_twenty_at_once_lose_nothing(api: Api, add: Add, head: Any, lagging: LaggingStore) -> None:
    conversation_id = api.create()

    with ThreadPoolExecutor(10) as pool:
        added = list(pool.map(lambda place: add(conversation_id, input=f"q{place}", response=f"a{place}"), range(20)))

    found = list(interactions(lagging, head(conversation_id), offset=0, limit=50))
    assert sorted(one.id for one in found) == sorted(added)
    assert all(one.response == (one.input or "").replace("q", "a") for one in found)
    assert api.call("GET", f"/conversations/{conversation_id}").body["messageCount"] == 40


def test_an_answer_that_was_lost_adds_it_once(
    api: Api, add: Add, head: Any, store: DynamoStore, own_dynamodb: Any
) -> None:
    conversation_id = api.create()
    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    message_id = add(conversation_id, input="q", response="a")

    assert [one.id for one in interactions(store, head(conversation_id), offset=0, limit=9)] == [message_id]


def test_what_is_large_stands_elsewhere_and_is_read_in(
    api: Api, add: Add, head: Any, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    large = os.urandom(40_000).hex()
    message_id = add(
        conversation_id, prompt_template=large, response="r", origin="o" * 40_000, additional_info={"a": 1}
    )

    [listed] = interactions(store, head(conversation_id), offset=0, limit=9)
    read = _read(store, clock, message_id)

    assert (read.prompt_template, read.origin, read.response) == (large, "o" * 40_000, "r")
    assert listed == read
    assert store.message(message_id).large_key is not None  # type: ignore[union-attr]


def test_what_is_not_there_and_what_is_not_ones_own_are_told_apart(
    api: Api, add: Add, store: DynamoStore, clock: TestClock
) -> None:
    conversation_id = api.create()
    message_id = add(conversation_id, input="q", response="a")

    assert _read(store, clock, message_id, owner="anonymous").id == message_id
    with pytest.raises(ForeignError):
        _read(store, clock, message_id, owner="bob")
    for missing in (f"{conversation_id}.none", f"{message_id}.response", f"{conversation_id}.trace.1", "x", ""):
        with pytest.raises(MessageNotFoundError):
            _read(store, clock, missing)
    with pytest.raises(NotFoundError):
        _read(store, clock, "A" * 20 + ".x")
    api.call("DELETE", f"/conversations/{conversation_id}/messages")
    with pytest.raises(MessageNotFoundError):
        _read(store, clock, message_id)
