"""No answer is larger than Lambda may give, and no page reads much more than it returns."""

import json
import os
import zlib
from typing import Any

import pytest

from api.strict_json import LARGEST_ESCAPED_BYTES, escaped_size
from api.wire import LARGEST_ANSWER_BYTES
from conversations.access import read_head
from conversations.codec.bulk import LARGEST_UNPACKED_BYTES
from conversations.model import Message
from conversations.reading import Order, Room, read_page
from tests.bed.in_process import Answer, Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock

pytestmark = pytest.mark.slow

LAMBDA_ANSWER_BYTES = 6 * 1024 * 1024


def _size(answer: Answer) -> int:
    return escaped_size(json.dumps(answer.body, ensure_ascii=False, separators=(",", ":")))


# Conversations


@pytest.mark.parametrize("age_s", [0, 3600], ids=["new", "old"])
@pytest.mark.parametrize("query", [{}, {"owner": "*"}], ids=["own", "everybody's"])
def test_a_page_of_conversations_is_cut_to_what_an_answer_may_hold(
    api: Api, clock: TestClock, query: dict[str, str], age_s: int
) -> None:
    clock.offset_s = -age_s
    ids = [api.create(metadata={"quotes": '"' * 32_000}) for _ in range(60)]
    clock.offset_s = 0
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.call("GET", "/conversations", query={**query, **cursor, "limit": 1000})
        assert _size(page) < LAMBDA_ANSWER_BYTES
        found.append([conversation["id"] for conversation in page.body["conversations"]])
        if page.body["nextCursor"] is None:
            break
        cursor = {"cursor": page.body["nextCursor"]}

    assert [len(page) for page in found] == [40, 20]
    listed = [conversation_id for page in found for conversation_id in page]
    assert sorted(listed) == sorted(ids)
    assert query or listed == ids[::-1]


@pytest.mark.parametrize("query", [{}, {"owner": "*"}], ids=["own", "everybody's"])
def test_conversations_are_listed_in_parts_without_holes(
    api: Api, clock: TestClock, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.reading._READ_AT_ONCE", 4)
    clock.offset_s = -3600
    ids = [api.create() for _ in range(13)]
    clock.offset_s = 0
    for limit in (3, 4, 5, 12, 13, 1000):
        page = api.call("GET", "/conversations", query={**query, "limit": limit}).body
        rest: dict[str, Any] = {"conversations": []}
        if limit < 13:
            rest = api.call("GET", "/conversations", query={**query, "cursor": page["nextCursor"], "limit": 13}).body
        listed = [conversation["id"] for conversation in page["conversations"] + rest["conversations"]]
        assert len(page["conversations"]) == min(limit, 13)
        assert sorted(listed) == sorted(ids)
        assert query or listed == ids[::-1]


# Messages


def _growing(count: int) -> str:
    """A message whose numbers take four bytes when they are sent and eighteen when they are written again."""
    numbers = ",".join(["1e15"] * count)
    return f'{{"role": "user", "content": [{{"text": "x"}}], "aiContext": [{numbers}]}}'


SMALL = '{"role": "user", "content": [{"text": "x"}]}'


@pytest.mark.parametrize(
    ("route", "raw", "field"),
    [
        ("messages", _growing(400_000), "body"),
        ("messages", f'{{"messages": [{SMALL}, {_growing(400_000)}]}}', "messages[1]"),
        ("messages", f'{{"messages": [{_growing(160_000)}, {_growing(160_000)}]}}', "messages"),
        ("turns", _growing(400_000).replace('"role": "user", ', ""), "body"),
    ],
    ids=["single", "one of a batch", "a batch", "turn"],
)
def test_what_could_not_be_given_back_is_refused(
    api: Api, s3: Any, tables: Tables, route: str, raw: str, field: str
) -> None:
    path = f"/conversations/{api.create()}"

    refused = api.call("POST", f"{path}/{route}", raw=raw)

    assert (refused.status, refused.body["error"]["code"]) == (413, "TooLarge")
    assert refused.body["error"]["field"] == field
    assert str(LARGEST_ANSWER_BYTES) in refused.body["error"]["message"]
    assert api.call("GET", f"{path}/messages").body == {"messages": [], "nextCursor": None}
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == 0


def test_numbers_that_grow_are_given_back_while_they_fit(api: Api) -> None:
    path = f"/conversations/{api.create()}/messages"

    appended = api.call("POST", path, raw=_growing(300_000))
    page = api.call("GET", path)

    assert appended.status == 201
    assert appended.body["aiContext"] == [1e15] * 300_000
    assert page.body["messages"] == [appended.body]
    assert LARGEST_ESCAPED_BYTES < _size(page) < LAMBDA_ANSWER_BYTES


def test_the_largest_batch_is_given_back(api: Api) -> None:
    """What is ours of each message comes to what was sent."""
    path = f"/conversations/{api.create()}/messages"
    text = "x" * (LARGEST_ESCAPED_BYTES // 98 - 100)
    batch = {"messages": [{"role": "user", "content": said(text)}] * 98}

    appended = api.call("POST", path, batch)

    assert appended.status == 201
    assert _size(appended) < LAMBDA_ANSWER_BYTES


def test_a_history_that_no_answer_can_hold_is_refused_with_advice(api: Api) -> None:
    conversation_id = api.create()
    for _ in range(4):
        api.say(conversation_id, "x" * 2_000_000)
        api.say(conversation_id, "y", "assistant")
    api.say(conversation_id, "now")
    path = f"/conversations/{conversation_id}/history"

    refused = api.call("GET", path, query={"maxTokens": 10_000_000})
    fitting = api.call("GET", path, query={"maxTokens": 1_100_000})

    assert (refused.status, refused.body["error"]["code"]) == (413, "TooLarge")
    assert refused.body["error"]["field"] == "maxTokens"
    assert str(LARGEST_ANSWER_BYTES) in refused.body["error"]["message"]
    assert (fitting.status, fitting.body["truncated"]) == (200, True)
    assert 4_000_000 < _size(fitting) < LAMBDA_ANSWER_BYTES


# What is read


def test_a_long_message_stands_elsewhere_however_well_it_shrinks(
    api: Api, s3: Any, dynamodb: Any, tables: Tables
) -> None:
    conversation_id = api.create()
    message = api.say(conversation_id, "a" * LARGEST_UNPACKED_BYTES)

    [found] = s3.list_objects_v2(Bucket=tables.bodies)["Contents"]
    item = dynamodb.get_item(TableName=tables.messages, Key={"id": {"S": message["id"]}})["Item"]

    assert found["Size"] < 1000
    assert "S" in item["body"]
    assert api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"] == [message]


@pytest.fixture
def many(api: Api) -> tuple[str, list[str]]:
    """A conversation of 294 messages."""
    conversation_id = api.create()
    ids: list[str] = []
    for _ in range(3):
        batch = {"messages": [{"role": "user", "content": said("x")}] * 98}
        appended = api.call("POST", f"/conversations/{conversation_id}/messages", batch)
        ids += [message["id"] for message in appended.body["messages"]]
    return conversation_id, ids


def _count(_: Message) -> int:
    return 1


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(("most", "queries"), [(1, 1), (99, 1), (100, 2), (101, 2), (150, 2), (200, 3), (1000, 3)])
def test_a_page_asks_for_no_more_when_it_is_full(
    lagging: LaggingStore, clock: TestClock, many: tuple[str, list[str]], order: Order, most: int, queries: int
) -> None:
    conversation_id, ids = many
    wanted = ids if order == "asc" else ids[::-1]
    head = read_head(lagging, clock, owner=None, conversation_id=conversation_id)
    lagging.withhold([wanted[0], wanted[50], wanted[-1]])

    found: list[str] = []
    cursor: str | None = None
    while not found or cursor:
        room = Room(_count, most if not found else 1000)
        page = read_page(lagging, head, order=order, limit=1000, cursor=cursor, room=room)
        if not found:
            assert len(page.messages) == min(most, len(ids))
            assert lagging.index_queries == queries
        found += [message.id for message in page.messages]
        cursor = page.next_cursor

    assert found == wanted


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [100, 250, 1000])
def test_a_long_page_is_whole(
    api: Api, lagging: LaggingStore, many: tuple[str, list[str]], order: str, limit: int
) -> None:
    conversation_id, ids = many
    lagging.withhold([ids[place] for place in (0, 99, 100, 150, 199, 200, 201, 293)])
    query: dict[str, Any] = {"order": order, "limit": limit}
    path = f"/conversations/{conversation_id}/messages"

    page = api.call("GET", path, query=query).body
    found = [message["id"] for message in page["messages"]]
    assert len(found) == min(limit, len(ids))
    while page["nextCursor"]:
        page = api.call("GET", path, query=query | {"cursor": page["nextCursor"]}).body
        found += [message["id"] for message in page["messages"]]

    assert found == (ids if order == "asc" else ids[::-1])


DAMAGED = {
    "no compressed data": b"junk",
    "cut off": zlib.compress(os.urandom(1000))[:500],
    "no JSON": zlib.compress(b"junk"),
    "no UTF-8": zlib.compress(b'"\xff"'),
    "no object": zlib.compress(b"[]"),
    "no content": zlib.compress(b'{"metadata": {}}'),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_object_makes_its_message_unreadable_and_not_the_page(
    api: Api, s3: Any, tables: Tables, damaged: bytes
) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "before")
    broken = api.say(conversation_id, os.urandom(50_000).hex())
    [found] = s3.list_objects_v2(Bucket=tables.bodies)["Contents"]
    s3.put_object(Bucket=tables.bodies, Key=found["Key"], Body=damaged)

    page = api.call("GET", f"/conversations/{conversation_id}/messages")
    single = api.call("GET", f"/conversations/{conversation_id}/messages/{broken['id']}")

    assert page.status == 200
    assert [message["content"] for message in page.body["messages"]] == [said("before"), []]
    assert single.body == page.body["messages"][1]
    assert single.body["unreadable"] is True
