"""Appending keeps the chain whole under concurrency, faults and wrong clocks, and can be repeated safely."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from conversations import appending
from conversations.appending import Appending
from conversations.clock import SystemClock
from conversations.dynamo import DynamoStore
from conversations.model import Draft, Message
from tests.bed.faults import fail_first, service_error, write_and_hang_up
from tests.bed.in_process import Api
from tests.bed.messages import said
from tests.bed.opensearch import Cluster
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock


def _append(store: DynamoStore, clock: SystemClock, conversation_id: str, text: str) -> Message:
    request = Appending("anonymous", conversation_id, [Draft(os.urandom(8).hex(), "user", said(text))], "hash")
    return appending.append(store, clock, request).messages[0]


def _chain(api: Api, conversation_id: str) -> list[dict[str, Any]]:
    page = api.call("GET", f"/conversations/{conversation_id}/messages", query={"limit": 1000})
    messages: list[dict[str, Any]] = page.body["messages"]
    assert [message["position"] for message in messages] == list(range(1, len(messages) + 1))
    assert [message["previousMessageId"] for message in messages] == [None, *(m["id"] for m in messages)][:-1]
    times = [message["createdAt"] for message in messages]
    assert times == sorted(set(times))
    return messages


def test_many_writers_at_once_leave_a_strict_chain(api: Api, store: DynamoStore, clock: TestClock) -> None:
    conversation_id = api.create()

    def write(writer: int) -> None:
        for turn in range(5):
            _append(store, clock, conversation_id, f"{writer}.{turn}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))

    texts = [message["content"][0]["text"] for message in _chain(api, conversation_id)]
    assert sorted(texts) == sorted(f"{writer}.{turn}" for writer in range(8) for turn in range(5))
    for writer in range(8):
        assert [text for text in texts if text.startswith(f"{writer}.")] == [f"{writer}.{turn}" for turn in range(5)]


def test_clocks_that_differ_or_run_backwards_do_not_disorder_a_chain(api: Api, store: DynamoStore) -> None:
    conversation_id = api.create()
    ahead, behind = TestClock(), TestClock()
    ahead.offset_s = 3600
    for place in range(6):
        behind.offset_s = -place * 100.0
        _append(store, (ahead, behind)[place % 2], conversation_id, str(place))

    assert [m["content"][0]["text"] for m in _chain(api, conversation_id)] == list("012345")


@pytest.fixture
def at_home_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Moves this process into a time zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def test_where_a_host_is_at_home_changes_no_time(api: Api, at_home_in: Callable[[str], None]) -> None:
    begun = datetime.now(UTC)
    at_home_in("Asia/Tokyo")
    conversation_id = api.create(ttlDays=1)
    for zone in ("Asia/Tokyo", "America/St_Johns", "UTC", "Pacific/Kiritimati"):
        at_home_in(zone)
        api.say(conversation_id, zone)
    times = [message["createdAt"] for message in _chain(api, conversation_id)]
    conversation = api.call("GET", f"/conversations/{conversation_id}").body
    recent = {"range": {"create_time": {"gte": "now-1m", "lte": "now+1m"}}}
    found = Cluster(api).search(f"/{conversation_id}", recent)

    times += [conversation["createdAt"], conversation["updatedAt"]]
    assert all(begun <= datetime.fromisoformat(f"{text[:26]}+00:00") <= datetime.now(UTC) for text in times)
    assert abs(conversation["expiresAt"] - begun.timestamp() - 24 * 3600) < 60
    assert found["total"]["value"] == 4


@pytest.mark.parametrize(
    "fault",
    [
        service_error("TransactionCanceledException", ["TransactionConflict", "None"]),
        service_error("TransactionCanceledException", ["ThrottlingError", "None"]),
        service_error("TransactionCanceledException", ["None", "ProvisionedThroughputExceeded"]),
        service_error("TransactionCanceledException", ["ConditionalCheckFailed", "None"]),
        service_error("ThrottlingException"),
        service_error("TransactionInProgressException"),
        service_error("InternalServerError"),
    ],
    ids=["conflict", "throttled", "index throttled", "lost pin", "throttled call", "in progress", "internal"],
)
def test_what_passes_is_tried_again(
    api: Api, store: DynamoStore, own_dynamodb: Any, clock: TestClock, fault: Callable[[Any], Any]
) -> None:
    conversation_id = api.create()
    failed = fail_first(own_dynamodb, "TransactWriteItems", 3, fault)

    _append(store, clock, conversation_id, "x")

    assert len(failed) == 3
    assert (store.take_lost_pins(), store.take_lost_pins()) == (3, 0)
    assert len(_chain(api, conversation_id)) == 1


def test_a_write_whose_answer_was_lost_is_not_written_twice(
    api: Api, store: DynamoStore, own_dynamodb: Any, dynamodb: Any, clock: TestClock
) -> None:
    conversation_id = api.create()

    failed = fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)

    message = _append(store, clock, conversation_id, "once")

    assert len(failed) == 1
    assert [m["id"] for m in _chain(api, conversation_id)] == [message.id]


def test_a_lost_answer_to_an_unnamed_answer_is_not_written_twice(
    api: Api, own_dynamodb: Any, lagging: Any, clock: TestClock
) -> None:
    """What it answers is found by its place, which the first try has changed."""
    conversation_id = api.create()
    question = api.say(conversation_id, "q")

    fail_first(own_dynamodb, "TransactWriteItems", 1, write_and_hang_up)
    answer = api.say(conversation_id, "a", "assistant")

    assert answer["id"] == question["id"] + ".response"
    assert len(_chain(api, conversation_id)) == 2


def test_what_never_ends_is_busy_after_a_while(
    api: Api, own_dynamodb: Any, clock: TestClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = api.create()
    monkeypatch.setattr("conversations.retrying.until_written.__kwdefaults__", {"give_up_after_s": 0.3})
    fail_first(own_dynamodb, "TransactWriteItems", 10_000, service_error("ThrottlingException"))

    answer = api.call(
        "POST", f"/conversations/{conversation_id}/messages", {"role": "user", "content": [{"text": "x"}]}
    )

    assert answer.status == 503
    assert answer.body["error"]["code"] == "Busy"
    assert answer.headers["Retry-After"] == "1"


# Answers


def test_an_answer_belongs_to_the_message_before_it_if_that_may_be_answered(api: Api) -> None:
    conversation_id = api.create()
    question = api.say(conversation_id, "q")
    answer = api.say(conversation_id, "a", "assistant")
    aside = api.say(conversation_id, "by the way", "assistant")

    assert answer["associatedUserMessageId"] == question["id"]
    assert answer["id"] == question["id"] + ".response"
    assert "associatedUserMessageId" not in aside
    assert aside["position"] == 3


def test_an_answer_may_name_an_older_question_and_each_has_one(api: Api) -> None:
    conversation_id = api.create()
    first, second = api.say(conversation_id, "1"), api.say(conversation_id, "2")
    answer = api.say(conversation_id, "a1", "assistant", associatedUserMessageId=first["id"])
    path = f"/conversations/{conversation_id}/messages"
    again = {"role": "assistant", "content": said("other"), "associatedUserMessageId": first["id"]}

    assert answer["id"] == first["id"] + ".response"
    assert api.call("POST", path, again).body["error"]["code"] == "AlreadyAnswered"
    assert api.call("POST", path, again).status == 409
    same = {"role": "assistant", "content": said("a1"), "associatedUserMessageId": first["id"]}
    assert api.call("POST", path, same).body == answer
    assert api.say(conversation_id, "a2", "assistant", associatedUserMessageId=second["id"])["position"] == 4


def test_an_answer_to_what_is_not_a_question_of_this_conversation_is_refused(api: Api) -> None:
    conversation_id, other = api.create(), api.create()
    question = api.say(conversation_id, "q")
    answer = api.say(conversation_id, "a", "assistant")
    foreign = api.say(other, "q")
    for named in (foreign["id"], answer["id"], f"{conversation_id}.nothing", question["id"] + ".turn", "x"):
        body = {"role": "assistant", "content": said("a"), "associatedUserMessageId": named}
        refused = api.call("POST", f"/conversations/{conversation_id}/messages", body)
        assert (refused.status, refused.body["error"]["field"]) == (400, "associatedUserMessageId")

    assert len(_chain(api, conversation_id)) == 2


# Batches and repeats


def _batch(size: int) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[place % 2], "content": said(str(place))} for place in range(size)]}


def test_a_batch_of_98_is_one_transaction(api: Api) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}/messages"

    appended = api.call("POST", path, _batch(98))

    assert appended.status == 201
    assert [m["id"] for m in _chain(api, conversation_id)] == [m["id"] for m in appended.body["messages"]]
    assert appended.body["messages"][1]["associatedUserMessageId"] == appended.body["messages"][0]["id"]
    assert api.call("POST", path, _batch(99)).body["error"]["field"] == "messages"


@pytest.mark.parametrize(
    "body",
    [
        {"role": "user", "content": said("x")},
        {"role": "assistant", "content": said("x")},
        _batch(4),
        {"messages": [{"role": "assistant", "content": said("a")}, {"role": "user", "content": said("u")}]},
    ],
    ids=["user", "answer", "batch", "batch that begins with an answer"],
)
def test_a_key_makes_repeating_safe(api: Api, body: dict[str, Any]) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "before")
    path, headers = f"/conversations/{conversation_id}/messages", {"Idempotency-Key": "key"}
    first = api.call("POST", path, body, headers=headers)
    api.say(conversation_id, "in between")
    again = api.call("POST", path, body, headers=headers)
    changed = json.loads(json.dumps(body).replace('"text"', '"text": "other", "x"'))
    other = api.call("POST", path, changed | {"metadata": {}} if "role" in body else changed, headers=headers)

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert other.status in (409, 422)
    assert len(_chain(api, conversation_id)) == 2 + len(body.get("messages", [0]))


def test_a_key_finds_an_answer_that_answered_nothing_when_it_was_written(api: Api) -> None:
    conversation_id = api.create()
    path, headers = f"/conversations/{conversation_id}/messages", {"Idempotency-Key": "key"}
    body = {"role": "assistant", "content": said("welcome")}
    first = api.call("POST", path, body, headers=headers)
    api.say(conversation_id, "hello")

    assert api.call("POST", path, body, headers=headers).body == first.body
    assert len(_chain(api, conversation_id)) == 2


@pytest.mark.parametrize("own", ["mine", "response", "turn"])
def test_a_callers_own_message_id_makes_repeating_safe(api: Api, own: str) -> None:
    conversation_id = api.create()
    first = api.say(conversation_id, "x", clientMessageId=own)

    assert first["id"] == f"{conversation_id}.{own}"
    assert first["clientMessageId"] == own
    assert api.say(conversation_id, "x", clientMessageId=own) == first
    body = {"role": "user", "content": said("y"), "clientMessageId": own}
    other = api.call("POST", f"/conversations/{conversation_id}/messages", body)
    assert (other.status, other.body["error"]["code"]) == (422, "IdempotencyMismatch")


# Sizes


@pytest.mark.parametrize("size", [31_000, 33_000, 399_000, 401_000, 1_000_000])
def test_a_message_of_any_size_comes_back_and_its_object_is_the_only_one(
    api: Api, s3: Any, tables: Tables, size: int
) -> None:
    conversation_id = api.create()
    text = os.urandom(size // 2).hex()
    message = api.say(conversation_id, text, metadata={"n": 1})

    back = api.call("GET", f"/conversations/{conversation_id}/messages/{message['id']}").body

    assert back == message
    assert back["content"] == said(text)
    keys = [found["Key"] for found in s3.list_objects_v2(Bucket=tables.bodies).get("Contents", [])]
    assert all(key.startswith(f"{conversation_id}/") for key in keys)
    assert len(keys) == (1 if size > 100_000 else len(keys))


def test_the_objects_of_a_batch_are_written_at_once(api: Api, s3: Any, tables: Tables) -> None:
    """None of the first four is written before all four have been begun."""
    conversation_id = api.create()
    texts = [os.urandom(40_000).hex() for _ in range(6)]
    batch = {"messages": [{"role": "user", "content": said(text)} for text in ["small", *texts]]}
    four = threading.Barrier(4)
    begun: list[int] = []

    def wait_for_others(**_: Any) -> None:
        begun.append(1)
        if len(begun) <= 4:
            four.wait(10)

    s3.meta.events.register("before-send.s3.PutObject", wait_for_others)
    try:
        appended = api.call("POST", f"/conversations/{conversation_id}/messages", batch)
    finally:
        s3.meta.events.unregister("before-send.s3.PutObject", wait_for_others)

    assert appended.status == 201
    assert [message["content"] for message in _chain(api, conversation_id)] == list(map(said, ["small", *texts]))
    assert len(begun) == s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == 6


def test_a_loser_removes_its_own_object_only(api: Api, s3: Any, tables: Tables) -> None:
    conversation_id = api.create()
    text = os.urandom(50_000).hex()
    api.say(conversation_id, text, clientMessageId="mine")
    again = api.say(conversation_id, text, clientMessageId="mine")

    assert again["content"] == said(text)
    assert s3.list_objects_v2(Bucket=tables.bodies)["KeyCount"] == 1


def test_an_object_that_is_gone_makes_its_message_unreadable_and_not_the_page(
    api: Api, s3: Any, tables: Tables
) -> None:
    conversation_id = api.create()
    api.say(conversation_id, "before")
    api.say(conversation_id, os.urandom(50_000).hex())
    api.say(conversation_id, "after")
    [found] = s3.list_objects_v2(Bucket=tables.bodies)["Contents"]
    s3.delete_object(Bucket=tables.bodies, Key=found["Key"])

    messages = _chain(api, conversation_id)

    assert [message["content"] for message in messages] == [said("before"), [], said("after")]
    assert messages[1]["unreadable"] is True


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_an_item_that_cannot_be_read_does_not_end_the_page(api: Api, dynamodb: Any, tables: Tables, order: str) -> None:
    conversation_id = api.create()
    ids = [api.say(conversation_id, str(place))["id"] for place in range(6)]
    dynamodb.update_item(
        TableName=tables.messages,
        Key={"id": {"S": ids[2]}},
        UpdateExpression="SET body = :junk",
        ExpressionAttributeValues={":junk": {"S": "junk"}},
    )
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        query = {"order": order, "limit": 2, **cursor}
        page = api.call("GET", f"/conversations/{conversation_id}/messages", query=query).body
        found += [message["id"] for message in page["messages"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert found == (ids if order == "asc" else ids[::-1])


@pytest.mark.slow
def test_a_page_is_cut_to_what_an_answer_may_hold(api: Api) -> None:
    conversation_id = api.create()
    for _ in range(4):
        api.say(conversation_id, os.urandom(1_000_000).hex())

    page = api.call("GET", f"/conversations/{conversation_id}/messages").body
    rest = api.call("GET", f"/conversations/{conversation_id}/messages", query={"cursor": page["nextCursor"]}).body

    assert [len(page["messages"]), len(rest["messages"]), rest["nextCursor"]] == [2, 2, None]
