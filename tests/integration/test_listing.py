"""An owner's conversations: none is missing, deleted or somebody else's, in the order of their last activity."""

from typing import Any

import pytest

from conversations.dynamo import DynamoStore
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock


def _ids(api: Api, **query: Any) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.call("GET", "/conversations", query={**query, **cursor})
        assert page.status == 200, page
        found += [conversation["id"] for conversation in page.body["conversations"]]
        if page.body["nextCursor"] is None:
            return found
        cursor = {"cursor": page.body["nextCursor"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
@pytest.mark.parametrize("withheld", [0, 1, 3, 6])
def test_the_last_active_comes_first_and_a_new_one_is_never_missing(
    api: Api, lagging: LaggingStore, limit: int, withheld: int
) -> None:
    ids = [api.create() for _ in range(6)]
    api.say(ids[2], "hello")
    lagging.withhold_conversations(ids[6 - withheld :])

    assert _ids(api, limit=limit) == [ids[2], ids[5], ids[4], ids[3], ids[1], ids[0]]


def test_old_ones_are_found_by_the_index(api: Api, clock: TestClock) -> None:
    clock.offset_s = -3600
    old = [api.create() for _ in range(5)]
    clock.offset_s = 0
    new = [api.create() for _ in range(2)]

    for limit in (1, 2, 3, 7):
        assert _ids(api, limit=limit) == [*new[::-1], *old[::-1]]


def test_a_turns_answer_does_not_count_as_activity_and_expired_ones_are_gone(
    api: Api, dynamodb: Any, tables: Tables
) -> None:
    ids = [api.create(ttlDays=1), api.create(), api.create(ttlDays=1)]
    dynamodb.update_item(
        TableName=tables.conversations,
        Key={"id": {"S": ids[0]}},
        UpdateExpression="SET expiresAt = :past",
        ExpressionAttributeValues={":past": {"N": "1000"}},
    )

    assert _ids(api) == [ids[2], ids[1]]
    for path in ("", "/messages", "/history", f"/messages/{ids[0]}.x"):
        assert api.call("GET", f"/conversations/{ids[0]}{path}").status == 404
    body = {"role": "user", "content": [{"text": "x"}]}
    assert api.call("POST", f"/conversations/{ids[0]}/messages", body).status == 404


@pytest.mark.parametrize("query", [{}, {"owner": "*"}], ids=["own", "everybody's"])
def test_a_page_is_full_however_many_have_expired(
    api: Api, clock: TestClock, dynamodb: Any, tables: Tables, query: dict[str, str]
) -> None:
    """What is left out does not count, nor does it end the list."""
    clock.offset_s = -3600
    made = [api.create(ttlDays=1 if place > 1 else None) for place in range(9)]
    clock.offset_s = 0
    for expired in (*made[2:5], *made[6:]):
        dynamodb.update_item(
            TableName=tables.conversations,
            Key={"id": {"S": expired}},
            UpdateExpression="SET expiresAt = :past",
            ExpressionAttributeValues={":past": {"N": "1000"}},
        )

    first = api.call("GET", "/conversations", query={**query, "limit": 2}).body
    rest = api.call("GET", "/conversations", query={**query, "limit": 2, "cursor": first["nextCursor"]}).body

    assert [len(page["conversations"]) for page in (first, rest)] == [2, 1]
    found = [conversation["id"] for page in (first, rest) for conversation in page["conversations"]]
    assert sorted(found) == sorted([made[0], made[1], made[5]])
    assert rest["nextCursor"] is None


def test_activity_prolongs_a_conversation(api: Api, clock: TestClock) -> None:
    conversation_id = api.create(ttlDays=2)
    before = api.call("GET", f"/conversations/{conversation_id}").body["expiresAt"]
    clock.offset_s = 24 * 3600
    api.say(conversation_id, "x")

    assert api.call("GET", f"/conversations/{conversation_id}").body["expiresAt"] >= before + 24 * 3600


def test_users_see_their_own_only(lagging: LaggingStore, clock: TestClock) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    hers = api.create(name="secret", sessionId="s")
    message = api.say(hers, "secret")
    api.as_user("bob", groups="[not-admin]")
    missing = "m" * 20

    assert _ids(api) == []
    assert _ids(api, sessionId="s") == []
    assert api.create(sessionId="s") != hers
    body = {"role": "user", "content": [{"text": "x"}]}
    turn = {"content": [{"text": "x"}]}
    for method, path, sent in [
        ("GET", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", body),
        ("GET", f"/messages/{message['id']}", None),
        ("GET", "/history", None),
        ("POST", "/turns", turn),
        ("GET", f"/turns/{message['id']}", None),
    ]:
        foreign = api.call(method, f"/conversations/{hers}{path}", sent)
        none = api.call(method, f"/conversations/{missing}{path.replace(hers, missing)}", sent)
        assert foreign.status == 404, (method, path)
        assert (foreign.status, foreign.body) == (none.status, none.body)
    api.as_user("carol", groups="[staff admin]")
    assert api.call("GET", f"/conversations/{hers}").status == 200


def test_without_an_identity_nothing_is_answered(lagging: LaggingStore, clock: TestClock) -> None:
    api = Api(lagging, clock, auth="jwt")

    assert api.call("GET", "/conversations").status == 401
    assert api.call("GET", "/status").status == 200
    assert api.call("GET", "/service/conversations", headers={"x-owner": "alice"}).status == 401
    api.as_user("alice")
    assert api.call("GET", "/service/conversations", headers={"x-owner": "alice"}).status == 401


def test_nobody_is_everybody(lagging: LaggingStore, clock: TestClock) -> None:
    """Who was called what stands for all owners would see the conversations of all."""
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    api.create()
    api.as_user("*")
    assert api.call("GET", "/conversations").status == 401
    api.as_user("eve", groups="[staff,admin]")
    assert api.call("GET", "/conversations", query={"owner": "*"}).status == 403
    api.authorizer = {"iam": {"accountId": "1"}}
    refused = api.call("GET", "/service/conversations", headers={"x-owner": "*"})
    assert (refused.status, refused.body["error"]["field"]) == (400, "x-owner")


def test_a_service_names_the_owner(lagging: LaggingStore, clock: TestClock) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.authorizer = {"iam": {"accessKey": "AKIA", "accountId": "1", "userArn": "arn:aws:iam::1:role/x"}}
    created = api.call("POST", "/service/conversations", {}, headers={"x-owner": "alice"})

    assert created.status == 201
    assert created.body["owner"] == "alice"
    assert api.call("GET", "/service/conversations").body["error"]["field"] == "x-owner"
    api.as_user("alice")
    assert [c["id"] for c in api.call("GET", "/conversations").body["conversations"]] == [created.body["id"]]
    assert api.call("GET", "/conversations", headers={"x-owner": "bob"}).body["conversations"] != []


# Session ids


@pytest.mark.parametrize("session_id", ["s", "日本/#?&=% ", "x" * 1024, "ü" * 512, "."])
def test_a_session_id_stands_for_one_live_conversation(api: Api, session_id: str) -> None:
    first = api.call("POST", "/conversations", {"sessionId": session_id, "name": "n"})
    again = api.call("POST", "/conversations", {"sessionId": session_id})

    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    assert first.body["sessionId"] == session_id
    assert _ids(api, sessionId=session_id) == [first.body["id"]]


def test_racing_creates_of_a_session_make_one_conversation(api: Api, store: DynamoStore, clock: TestClock) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from conversations.creating import NewConversation, create
    from conversations.model import About

    new = NewConversation("anonymous", About(session_id="race"))
    with ThreadPoolExecutor(10) as pool:
        made = list(pool.map(lambda _: create(store, clock, new), range(10)))

    assert len({conversation.id for conversation, _ in made}) == 1
    assert sum(is_new for _, is_new in made) == 1
    assert len(_ids(api)) == 1


def test_a_session_id_is_free_again_when_its_conversation_has_expired(api: Api, dynamodb: Any, tables: Tables) -> None:
    first = api.create(sessionId="s", ttlDays=1)
    dynamodb.update_item(
        TableName=tables.conversations,
        Key={"id": {"S": first}},
        UpdateExpression="SET expiresAt = :past",
        ExpressionAttributeValues={":past": {"N": "1000"}},
    )

    assert api.create(sessionId="s") != first


def test_an_idempotency_key_makes_one_conversation(api: Api) -> None:
    headers = {"Idempotency-Key": "k"}
    first = api.call("POST", "/conversations", {"name": "a"}, headers=headers)
    again = api.call("POST", "/conversations", {"name": "a"}, headers=headers)
    other = api.call("POST", "/conversations", {"name": "b"}, headers=headers)

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert (other.status, other.body["error"]["code"]) == (422, "IdempotencyMismatch")
    assert _ids(api) == [first.body["id"]]


def test_large_descriptions_come_back(api: Api) -> None:
    members = {"name": "名" * 1000, "metadata": {"a": ["b" * 3000, None, 1, 1.0]}}
    conversation_id = api.create(**members)
    api.say(conversation_id, "x")

    back = api.call("GET", f"/conversations/{conversation_id}").body
    [listed] = api.call("GET", "/conversations").body["conversations"]

    assert back == listed
    assert {name: back[name] for name in members} == members
    assert back["messageCount"] == 1
