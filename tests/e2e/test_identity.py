"""Who gets in, with real tokens of the stack's pool: foreign is as good as missing, and nothing but a token counts."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.bed.messages import said
from tests.bed.signing import SignedFor
from tests.bed.stack import Stack
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack


@dataclass(frozen=True)
class People:
    """Clients of a stack that wants tokens."""

    alice: httpx.Client
    bob: httpx.Client
    not_admin: httpx.Client
    admin: httpx.Client
    service: httpx.Client
    nobody: httpx.Client

    def client(self, name: str) -> httpx.Client:
        found: httpx.Client = getattr(self, name)
        return found


@pytest.fixture(scope="session")
def people(_deployed_secured: Stack) -> Iterator[People]:
    stack = _deployed_secured
    groups = {"alice": [], "bob": [], "not_admin": ["not-admin", "administrators"], "admin": ["staff", "admin"]}
    with ExitStack() as opened:
        signed_in = {
            name: opened.enter_context(stack.http(stack.token(name, *members))) for name, members in groups.items()
        }
        service = opened.enter_context(stack.http())
        service.auth = SignedFor()
        yield People(**signed_in, service=service, nobody=opened.enter_context(stack.http()))


@dataclass(frozen=True)
class Owned:
    """A conversation of Alice's with a question and its answer, and what she sees of it."""

    conversation_id: str
    question_id: str
    seen: Any

    @property
    def path(self) -> str:
        return f"/conversations/{self.conversation_id}"


@pytest.fixture(scope="session")
def hers(people: People) -> Owned:
    path = create(people.alice, name="hers", metadata={"secret": True}, sessionId="diary")
    question_id = ask(people.alice, path, "My secret?")
    followed(people.alice, path, question_id)
    return Owned(path.rpartition("/")[2], question_id, _seen(people.alice, path))


def _seen(http: httpx.Client, path: str) -> Any:
    return http.get(path).json(), messages(http, path)


# Others


MESSAGE = {"role": "user", "content": said("x")}
ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "{c}", None),
    ("PATCH", "{c}", {"name": "mine"}),
    ("DELETE", "{c}", None),
    ("GET", "{c}/messages", None),
    ("GET", "{c}/messages?order=desc&limit=1", None),
    ("POST", "{c}/messages", MESSAGE),
    ("POST", "{c}/messages", {"messages": [MESSAGE, MESSAGE]}),
    ("POST", "{c}/messages", {"role": "assistant", "content": said("x"), "associatedUserMessageId": "{m}"}),
    ("DELETE", "{c}/messages", None),
    ("GET", "{c}/messages/{m}", None),
    ("GET", "{c}/messages/{m}.response", None),
    ("GET", "{c}/history", None),
    ("GET", "{c}/history?currentMessageId={m}", None),
    ("POST", "{c}/turns", {"content": said("x")}),
    ("GET", "{c}/turns/{m}", None),
    ("POST", "{c}/turns/{m}", {}),
    ("DELETE", "{c}/turns/{m}", None),
    ("POST", "/conversations/delete", {"ids": ["{i}"]}),
]


def _outcome(http: httpx.Client, route: tuple[str, str, Any], conversation_id: str, local: str) -> tuple[int, Any]:
    """Status and body of a call, with the ids that were sent replaced by their names."""
    ids = {"c": f"/conversations/{conversation_id}", "i": conversation_id, "m": f"{conversation_id}.{local}"}
    method, path, body = route
    sent = json.dumps(body)
    for name, value in ids.items():
        sent = sent.replace(f"{{{name}}}", value)
    json_body = None if body is None else json.loads(sent)
    answer = http.request(method, path.format(**ids), json=json_body)
    document = json.loads(answer.text.replace(conversation_id, "{i}")) if answer.content else None
    if document and "error" in document:
        del document["error"]["requestId"]
    return answer.status_code, document


@pytest.mark.parametrize("name", ["bob", "not_admin"])
@pytest.mark.parametrize("route", ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_what_is_anothers_answers_as_if_it_did_not_exist(
    people: People, hers: Owned, name: str, route: tuple[str, str, Any]
) -> None:
    local = hers.question_id.partition(".")[2]
    foreign = _outcome(people.client(name), route, hers.conversation_id, local)
    missing = _outcome(people.client(name), route, "made-up-made-up-1234", local)

    assert foreign == missing
    assert foreign[0] == (200 if route[1] == "/conversations/delete" else 404)
    assert _seen(people.alice, hers.path) == hers.seen


def test_ids_and_cursors_of_anothers_conversation_mean_nothing_in_ones_own(people: People, hers: Owned) -> None:
    own = create(people.bob)
    cursor = people.alice.get(f"{hers.path}/messages", params={"limit": 1}).json()["nextCursor"]
    answer = {"role": "assistant", "content": said("x"), "associatedUserMessageId": hers.question_id}

    for path in (f"/messages/{hers.question_id}", f"/turns/{hers.question_id}"):
        assert people.bob.get(own + path).status_code == 404
    history = people.bob.get(f"{own}/history", params={"currentMessageId": hers.question_id})
    page = people.bob.get(f"{own}/messages", params={"cursor": cursor})
    appended = people.bob.post(f"{own}/messages", json=answer)

    assert (history.status_code, history.json()["error"]["code"]) == (404, "CurrentMessageNotFound")
    assert (page.status_code, page.json()["error"]["code"]) == (400, "InvalidCursor")
    assert (appended.status_code, appended.json()["error"]["field"]) == (400, "associatedUserMessageId")


def test_a_session_id_is_ones_own(people: People, hers: Owned) -> None:
    listed = people.bob.get("/conversations", params={"sessionId": "diary"}).json()
    own = people.bob.post("/conversations", json={"sessionId": "diary"})

    assert listed["conversations"] == []
    assert own.status_code in (200, 201)
    assert own.json()["id"] != hers.conversation_id
    assert [
        c["id"] for c in people.alice.get("/conversations", params={"sessionId": "diary"}).json()["conversations"]
    ] == [hers.conversation_id]


# Administrators


def test_an_administrator_does_everything(people: People, hers: Owned) -> None:
    assert _seen(people.admin, hers.path) == hers.seen

    path = create(people.alice)
    added = append(people.admin, path, said("by the administrator"))

    assert messages(people.alice, path) == [added]
    assert people.admin.delete(path).status_code == 204
    assert people.alice.get(path).status_code == 404


def test_only_administrators_list_the_conversations_of_others(people: People, hers: Owned) -> None:
    alice = hers.seen[0]["owner"]

    def listed(name: str, owner: str) -> httpx.Response:
        return people.client(name).get("/conversations", params={"owner": owner, "limit": 1000})

    for name in ("bob", "not_admin"):
        for owner in (alice, "*", "made-up"):
            refused = listed(name, owner)
            assert (refused.status_code, refused.json()["error"]["field"]) == (403, "owner"), (name, owner)
    assert hers.seen[0] in listed("alice", alice).json()["conversations"]
    assert {conversation["owner"] for conversation in listed("admin", alice).json()["conversations"]} == {alice}
    create(people.bob)
    assert len({conversation["owner"] for conversation in listed("admin", "*").json()["conversations"]}) > 1
    own = people.bob.get("/conversations", params={"limit": 1000}).json()["conversations"]
    assert {conversation["owner"] for conversation in own}.isdisjoint({alice})


# Tokens


def _encoded(document: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def _decoded(part: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return document


def _with_claims(token: str, **claims: Any) -> str:
    head, payload, signature = token.split(".")
    return f"{head}.{_encoded(_decoded(payload) | claims)}.{signature}"


def _with_other_signature(token: str) -> str:
    head, payload, signature = token.split(".")
    return f"{head}.{payload}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def _unsigned(token: str, algorithm: str) -> str:
    head, payload, _ = token.split(".")
    return f"{_encoded(_decoded(head) | {'alg': algorithm})}.{payload}."


FORGERIES: dict[str, Callable[[str], str]] = {
    "another owner": lambda token: _with_claims(token, sub="somebody"),
    "another group": lambda token: _with_claims(token, **{"cognito:groups": ["admin"]}),
    "a longer life": lambda token: _with_claims(token, exp=4_000_000_000),
    "another signature": _with_other_signature,
    "alg none": lambda token: _unsigned(token, "none"),
    "alg None": lambda token: _unsigned(token, "None"),
    "no signature": lambda token: _unsigned(token, "RS256"),
    "no key": lambda token: f"{_encoded({'alg': 'RS256'})}.{token.partition('.')[2]}",
    "half of it": lambda token: token[: len(token) // 2],
    "junk": lambda _: "junk",
    "nothing": lambda _: "",
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_token_is_refused(secured: Stack, people: People, forge: Callable[[str], str]) -> None:
    forged = f"Bearer {forge(secured.token('alice'))}"

    assert people.nobody.get("/conversations", headers={"authorization": forged.strip()}).status_code == 401
    assert people.nobody.get("/conversations").status_code == 401
    assert people.alice.get("/conversations").status_code == 200


def test_tokens_that_have_expired_or_are_of_another_client_or_pool_are_refused(secured: Stack, people: People) -> None:
    cognito = secured.client("cognito-idp")
    pool, client = secured.local.outputs["UserPoolId"], secured.local.outputs["UserPoolClientId"]
    flows = {"ExplicitAuthFlows": ["ALLOW_USER_PASSWORD_AUTH"]}
    login = {"USERNAME": "someone", "PASSWORD": "Some-one-1234"}

    def token_of(pool_id: str, client_id: str) -> str:
        signed_in = cognito.initiate_auth(ClientId=client_id, AuthFlow="USER_PASSWORD_AUTH", AuthParameters=login)
        return str(signed_in["AuthenticationResult"]["AccessToken"])

    def status(token: str) -> int:
        return people.nobody.get("/conversations", headers={"authorization": f"Bearer {token}"}).status_code

    def add_user(pool_id: str) -> None:
        cognito.admin_create_user(UserPoolId=pool_id, Username="someone", MessageAction="SUPPRESS")
        cognito.admin_set_user_password(
            UserPoolId=pool_id, Username="someone", Password=login["PASSWORD"], Permanent=True
        )

    other_pool = cognito.create_user_pool(PoolName="other")["UserPool"]["Id"]
    add_user(pool)
    add_user(other_pool)
    other_client, its_client = (
        cognito.create_user_pool_client(UserPoolId=pool_id, ClientName="other", **flows)["UserPoolClient"]["ClientId"]
        for pool_id in (pool, other_pool)
    )
    before = cognito.describe_user_pool_client(UserPoolId=pool, ClientId=client)["UserPoolClient"]
    kept = {"ExplicitAuthFlows": before["ExplicitAuthFlows"]}
    cognito.update_user_pool_client(
        UserPoolId=pool, ClientId=client, AccessTokenValidity=1, TokenValidityUnits={"AccessToken": "seconds"}, **kept
    )
    short_lived = token_of(pool, client)
    cognito.update_user_pool_client(
        UserPoolId=pool, ClientId=client, AccessTokenValidity=1, TokenValidityUnits={"AccessToken": "hours"}, **kept
    )
    claims = _decoded(short_lived.split(".")[1])

    assert status(token_of(pool, client)) == 200
    assert status(token_of(pool, other_client)) == 401
    assert status(token_of(other_pool, its_client)) == 401
    assert claims["exp"] - claims["iat"] == 1
    _wait_until(claims["exp"])
    assert status(short_lived) == 401


def _wait_until(second: int) -> None:
    time.sleep(max(0.0, second + 0.1 - time.time()))


# Services


def test_a_service_acts_for_the_owner_whom_it_names(people: People, hers: Owned) -> None:
    alice = {"x-owner": hers.seen[0]["owner"]}
    path = f"/service{hers.path}"

    assert people.service.get(path, headers=alice).json() == hers.seen[0]
    assert people.service.get(f"{path}/messages", headers=alice).json()["messages"] == hers.seen[1]
    created = people.service.post("/service/conversations", json={"name": "for her"}, headers=alice)
    assert people.alice.get(f"/conversations/{created.json()['id']}").json() == created.json()
    for other in ("somebody", hers.seen[0]["owner"].upper()):
        assert people.service.get(path, headers={"x-owner": other}).status_code == 404
    for owner in ("", "*", "x" * 257):
        refused = people.service.get(path, headers={"x-owner": owner})
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "x-owner")
    assert people.service.get(path).status_code == 400
    for owner in ("*", "somebody"):
        listed = people.service.get("/service/conversations", params={"owner": owner}, headers=alice)
        assert listed.status_code == 403


PRETENDERS = {
    "a user's token": lambda stack: f"Bearer {stack.token('alice')}",
    "an administrator's token": lambda stack: f"Bearer {stack.token('admin', 'staff', 'admin')}",
    "junk": lambda _: "Bearer junk",
    "a key of nobody": lambda _: "AWS4-HMAC-SHA256 Credential=AKIANOBODY/20260101/us-east-1/execute-api/aws4_request",
    "half a signature": lambda _: "AWS4-HMAC-SHA256",
}


@pytest.mark.parametrize("pretend", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_only_principals_of_aws_are_services(
    secured: Stack, people: People, hers: Owned, pretend: Callable[[Stack], str]
) -> None:
    """AWS refuses these before they reach the function; the emulator lets them through, and the function refuses."""
    headers = {"authorization": pretend(secured), "x-owner": hers.seen[0]["owner"]}

    for method, path in (
        ("GET", hers.path),
        ("GET", "/conversations"),
        ("POST", "/conversations"),
        ("GET", "/nothing"),
    ):
        refused = people.nobody.request(method, f"/service{path}", headers=headers)
        assert refused.status_code in (401, 404), path
        assert refused.json()["error"]["code"] == ("NotFound" if path == "/nothing" else "Unauthorized")


def test_without_a_signature_the_gateway_refuses(people: People, hers: Owned) -> None:
    headers = {"x-owner": hers.seen[0]["owner"]}

    assert people.nobody.get(f"/service{hers.path}", headers=headers).status_code == 403
    for path in (
        "/service",
        "/service/",
        "/SERVICE/conversations",
        "//service/conversations",
        "/%73ervice/conversations",
    ):
        url = str(people.nobody.base_url).rstrip("/") + path
        assert people.nobody.get(url, headers=headers).status_code in (401, 403), path
        assert people.bob.get(url, headers=headers).status_code in (401, 403, 404), path


def test_the_header_of_services_means_nothing_elsewhere(people: People, hers: Owned) -> None:
    alice = {"x-owner": hers.seen[0]["owner"]}
    created = people.bob.post("/conversations", json={}, headers=alice)

    assert created.json()["owner"] not in (alice["x-owner"], "bob")
    assert people.bob.get(hers.path, headers=alice).status_code == 404
    listed = people.bob.get("/conversations", headers=alice, params={"limit": 1000}).json()["conversations"]
    assert hers.conversation_id not in [conversation["id"] for conversation in listed]
    assert people.service.get(hers.path, headers=alice).status_code == 401


# Everybody


def test_the_status_is_public_and_nothing_else(people: People) -> None:
    assert people.nobody.get("/status").json()["stage"] == "local"
    assert people.nobody.get("/openapi.json").json()["openapi"].startswith("3.1")
    for method, path in (("GET", "/"), ("GET", "/nothing"), ("POST", "/status"), ("POST", "/openapi.json")):
        assert people.nobody.request(method, path).status_code == 401, path
    assert people.alice.get("/nothing").status_code == 404
