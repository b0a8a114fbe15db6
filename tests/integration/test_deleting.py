"""Deleting: what is deleted, or has expired, is gone for everybody at once, whatever still stands in the tables."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from conversations import schema
from conversations.dynamo import DynamoStore
from tests.bed.in_process import Api
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock

LONG_NAME = "Turin " * 100  # stands in an item of its own
Item = dict[str, Any]


@pytest.fixture
def item_of(dynamodb: Any, tables: Tables) -> Callable[[str], Item]:
    """The item of a conversation as it stands in the table."""

    def read(conversation_id: str) -> Item:
        key = {schema.ID: {"S": conversation_id}}
        item: Item = dynamodb.get_item(TableName=tables.conversations, Key=key, ConsistentRead=True)["Item"]
        return item

    return read


def _statuses(api: Api, conversation_id: str, message_id: str) -> set[int]:
    """What every route of the conversation answers."""
    path = f"/conversations/{conversation_id}"
    said = {"content": [{"text": "again"}]}
    calls = [
        ("GET", path, None),
        ("DELETE", path, None),
        ("GET", f"{path}/messages", None),
        ("GET", f"{path}/messages/{message_id}", None),
        ("GET", f"{path}/history", None),
        ("GET", f"{path}/turns/{message_id}", None),
        ("POST", f"{path}/messages", {"role": "user", **said}),
        ("POST", f"{path}/turns", said),
    ]
    return {api.call(method, route, body).status for method, route, body in calls}


def _listed(api: Api) -> list[str]:
    return [conversation["id"] for conversation in api.call("GET", "/conversations").body["conversations"]]


def test_a_deleted_conversation_is_gone_at_once(api: Api) -> None:
    conversation_id, other = api.create(name=LONG_NAME), api.create()
    message = api.say(conversation_id, "hello")

    deleted = api.call("DELETE", f"/conversations/{conversation_id}")

    assert (deleted.status, deleted.body) == (204, None)
    assert _statuses(api, conversation_id, message["id"]) == {404}
    assert _listed(api) == [other]


def test_an_expired_conversation_is_gone_and_no_write_revives_it(
    api: Api, clock: TestClock, item_of: Callable[[str], Item]
) -> None:
    conversation_id = api.create(ttlDays=1)
    message = api.say(conversation_id, "hello")
    before = item_of(conversation_id)

    clock.offset_s = 24 * 3600 + 1

    assert _statuses(api, conversation_id, message["id"]) == {404}
    assert _listed(api) == []
    assert item_of(conversation_id) == before


def test_the_tombstone_holds_no_content_and_stands_in_no_index(
    api: Api, item_of: Callable[[str], Item], store: DynamoStore
) -> None:
    conversation_id = api.create(name="Secret", sessionId="My session", metadata={"a": "Secret"})
    api.say(conversation_id, "Secret")
    before = item_of(conversation_id)

    api.call("DELETE", f"/conversations/{conversation_id}")

    tombstone = item_of(conversation_id)
    assert set(tombstone) == {
        *("id", "owner", "version", "chain", "createdAt", "deletedAt", "expiresAt"),
        *("lastMessageId", "sessionRecordId"),
    }
    assert "Secret" not in str(tombstone)
    assert "session" not in str(tombstone["sessionRecordId"]["S"]).removeprefix("session.")
    assert int(tombstone["version"]["N"]) == int(before["version"]["N"]) + 1
    assert store.owned("anonymous", after=None, limit=10) == []


def test_a_tombstone_is_kept_for_35_days(api: Api, clock: TestClock, item_of: Callable[[str], Item]) -> None:
    conversation_id = api.create(ttlDays=1)

    api.call("DELETE", f"/conversations/{conversation_id}")

    kept_s = int(item_of(conversation_id)["expiresAt"]["N"]) - clock.now_ns() / 1e9
    assert 35 * 24 * 3600 - 10 < kept_s <= 35 * 24 * 3600


@pytest.mark.parametrize("session_id", ["plain", "日本/#" * 50])
def test_the_session_name_of_a_deleted_conversation_is_free_at_once(api: Api, session_id: str) -> None:
    deleted = api.create(sessionId=session_id)
    api.call("DELETE", f"/conversations/{deleted}")

    found = api.call("GET", "/conversations", query={"sessionId": session_id})
    anew = api.create(sessionId=session_id)

    assert found.body["conversations"] == []
    assert anew != deleted
    assert api.call("POST", "/conversations", {"sessionId": session_id}).body["id"] == anew


def test_the_key_of_a_deleted_conversation_makes_no_new_one(api: Api) -> None:
    key = {"Idempotency-Key": "one"}
    made = api.call("POST", "/conversations", {"name": "a"}, headers=key)
    api.call("DELETE", f"/conversations/{made.body['id']}")

    again = api.call("POST", "/conversations", {"name": "a"}, headers=key)

    assert (again.status, again.body["error"]["code"]) == (409, "ConversationDeleted")


@pytest.mark.parametrize("conversation_id", ["a" * 20, "short", "%00", "a" * 20 + ".about"])
def test_what_is_not_there_cannot_be_deleted(api: Api, conversation_id: str) -> None:
    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 404


def test_anothers_conversation_looks_missing_and_stays(store: DynamoStore, clock: TestClock) -> None:
    api = Api(store, clock, auth="jwt")
    api.as_user("alice")
    conversation_id = api.create()

    api.as_user("mallory")
    foreign = api.call("DELETE", f"/conversations/{conversation_id}")
    missing = api.call("DELETE", f"/conversations/{'a' * 20}")

    assert foreign == missing
    api.as_user("alice")
    assert api.call("GET", f"/conversations/{conversation_id}").status == 200


def test_an_administrator_may_delete_anothers_conversation(store: DynamoStore, clock: TestClock) -> None:
    api = Api(store, clock, auth="jwt")
    api.as_user("alice")
    conversation_id = api.create()

    api.as_user("root", "[admin]")

    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 204


def test_a_delete_that_meets_an_append_happens_after_it(api: Api, own_dynamodb: Any) -> None:
    conversation_id = api.create()
    appended: list[str] = []

    def say_in_between(**_: Any) -> None:
        if not appended:
            appended.append("")
            appended[0] = api.say(conversation_id, "in between")["id"]

    own_dynamodb.meta.events.register("before-send.dynamodb.PutItem", say_in_between)

    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 204
    assert _statuses(api, conversation_id, appended[0]) == {404}


def test_an_append_that_meets_a_delete_is_refused(api: Api, own_dynamodb: Any) -> None:
    conversation_id = api.create()
    deleted: list[int] = []

    def delete_in_between(**_: Any) -> None:
        if not deleted:
            deleted.append(api.call("DELETE", f"/conversations/{conversation_id}").status)

    own_dynamodb.meta.events.register("before-send.dynamodb.TransactWriteItems", delete_in_between)
    said = api.call(
        "POST", f"/conversations/{conversation_id}/messages", {"role": "user", "content": [{"text": "late"}]}
    )

    assert (deleted, said.status) == ([204], 404)


def test_a_delete_whose_answer_is_lost_still_succeeds(api: Api, own_dynamodb: Any) -> None:
    conversation_id = api.create()
    lost: list[bool] = []

    def lose_the_answer(**_: Any) -> None:
        if not lost:
            lost.append(True)
            raise ConnectionClosedError(endpoint_url="here")

    own_dynamodb.meta.events.register("after-call.dynamodb.PutItem", lose_the_answer)

    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 204
    assert lost
    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 404
