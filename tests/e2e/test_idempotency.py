"""Repeating is safe: a request that is sent again, at once, or after its answer was lost, has one effect.

Every POST is held to the same rules. What a request did is read back from what the owner sees.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.bed.cutting import Cutter
from tests.bed.messages import said
from tests.bed.replies import invalid
from tests.bed.stack import Stack
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack

AT_ONCE = 10


@dataclass(frozen=True)
class Sent:
    """A request that may be repeated; `other` is another body for the same place, if it takes one."""

    path: str
    body: Mapping[str, Any]
    other: Mapping[str, Any] | None


def _new(http: httpx.Client, stack: Stack) -> Sent:
    name = uuid4().hex
    return Sent("/conversations", {"name": name}, {"name": f"not {name}"})


def _message(http: httpx.Client, stack: Stack) -> Sent:
    one = {"role": "user", "content": said("one")}
    return Sent(f"{create(http)}/messages", one, one | {"metadata": {}})


def _answer(http: httpx.Client, stack: Stack) -> Sent:
    """It names no question: which one it answers depends on when it comes."""
    path = create(http)
    append(http, path, said("question"))
    one = {"role": "assistant", "content": said("one")}
    return Sent(f"{path}/messages", one, one | {"content": said("two")})


def _batch(http: httpx.Client, stack: Stack) -> Sent:
    one = {"role": "user", "content": said("one")}
    batch = {"messages": [one, {"role": "assistant", "content": said("two")}, one]}
    return Sent(f"{create(http)}/messages", batch, {"messages": batch["messages"][:2]})


def _large(http: httpx.Client, stack: Stack) -> Sent:
    """Its body stands in an object, which every try writes for itself."""
    one = {"role": "user", "content": said(" ".join(uuid4().hex for _ in range(4000)))}
    return Sent(f"{create(http)}/messages", one, one | {"content": said("small")})


def _turn(http: httpx.Client, stack: Stack) -> Sent:
    return Sent(f"{create(http)}/turns", {"content": said("one")}, {"content": said("two")})


def _again(http: httpx.Client, stack: Stack) -> Sent:
    path = create(http)
    stack.bedrock.script(invalid())
    question = ask(http, path, "one")
    assert followed(http, path, question)["turn"]["status"] == "failed"
    stack.bedrock.reset()
    return Sent(f"{path}/turns/{question}", {}, None)


def _delete(http: httpx.Client, stack: Stack) -> Sent:
    ids = [create(http).rpartition("/")[2] for _ in range(3)]
    return Sent("/conversations/delete", {"ids": [*ids, "made-up"]}, {"ids": ids})


Making = Callable[[httpx.Client, Stack], Sent]
KINDS: dict[str, Making] = {
    "conversation": _new,
    "message": _message,
    "answer": _answer,
    "batch": _batch,
    "large message": _large,
    "turn": _turn,
    "asking again": _again,
    "deleting": _delete,
}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def _post(http: httpx.Client, sent: Sent, key: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
    return http.post(sent.path, json=sent.body if body is None else body, headers={"Idempotency-Key": key})


def _same(answer: httpx.Response) -> tuple[int, Any]:
    """What must not differ between the answers of a request and its repeats: a turn goes on meanwhile."""
    document = answer.json()
    if "turn" in document:
        document["turn"] = {name: document["turn"][name] for name in ("userMessageId", "responseMessageId")}
    return answer.status_code, document


def _effect(http: httpx.Client, stack: Stack, sent: Sent, answer: Any) -> Any:
    """What can be seen of what a request did, when it is over: the one effect, or the test fails here."""
    if sent.path == "/conversations":
        listed = http.get("/conversations", params={"limit": 1000}).json()["conversations"]
        [made] = [c for c in listed if c["name"] == sent.body["name"]]
        return made
    if sent.path == "/conversations/delete":
        assert answer["notFound"] == ["made-up"]
        assert [http.get(f"/conversations/{deleted}").status_code for deleted in answer["deleted"]] == [404] * 3
        return answer
    path = "/".join(sent.path.split("/")[:3])
    if "turn" in answer:
        ended = followed(http, path, answer["turn"]["userMessageId"])["turn"]
        assert ended["status"] == "complete"
        assert len(stack.bedrock.requests) == 1
    chain = messages(http, path)
    assert [message["position"] for message in chain] == list(range(1, len(chain) + 1))
    assert http.get(path).json()["messageCount"] == len(chain)
    return chain


def _messages_meant(sent: Sent) -> int:
    """How many messages the conversation has after the request."""
    if "/turns" in sent.path or sent.body.get("role") == "assistant":
        return 2
    return len(sent.body.get("messages", [None]))


def _assert_one_effect(http: httpx.Client, stack: Stack, sent: Sent, answers: list[httpx.Response]) -> None:
    assert answers[0].status_code in (200, 201, 202), answers[0].text
    assert [_same(answer) for answer in answers] == [_same(answers[0])] * len(answers)
    effect = _effect(http, stack, sent, answers[0].json())
    if isinstance(effect, list):
        assert len(effect) == _messages_meant(sent)
    large = [found["Key"] for found in _objects(stack, sent)]
    assert len(large) == (1 if len(json.dumps(sent.body)) > 100_000 else 0)


def _objects(stack: Stack, sent: Sent) -> list[Any]:
    if not sent.path.endswith("/messages"):
        return []
    conversation_id = sent.path.split("/")[2]
    found: list[Any] = (
        stack.client("s3").list_objects_v2(Bucket=stack.bodies_bucket, Prefix=conversation_id).get("Contents", [])
    )
    return found


@kinds
def test_twice_in_a_row_has_one_effect_and_the_same_answer(http: httpx.Client, stack: Stack, make: Making) -> None:
    sent = make(http, stack)

    answers = [_post(http, sent, "in a row") for _ in range(2)]

    _assert_one_effect(http, stack, sent, answers)
    _assert_one_effect(http, stack, sent, [answers[0], _post(http, sent, "in a row")])


@kinds
def test_ten_at_once_have_one_effect_and_the_same_answer(http: httpx.Client, stack: Stack, make: Making) -> None:
    sent = make(http, stack)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: _post(http, sent, "at once"), range(AT_ONCE)))

    _assert_one_effect(http, stack, sent, answers)


@pytest.fixture
def cutter(stack: Stack) -> Iterator[Cutter]:
    with Cutter() as proxy:
        proxy.upstream = stack.api_url
        yield proxy


@kinds
def test_after_a_lost_answer_the_repeat_gets_it(http: httpx.Client, stack: Stack, cutter: Cutter, make: Making) -> None:
    sent = make(http, stack)

    with httpx.Client(base_url=cutter.url, timeout=60, trust_env=False) as lossy:
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                _post(lossy, sent, "lost")
    answer = _post(http, sent, "lost")

    assert cutter.lost == [answer.status_code] * 2
    _assert_one_effect(http, stack, sent, [answer])


@kinds
def test_another_request_with_the_same_key_is_refused_and_changes_nothing(
    http: httpx.Client, stack: Stack, make: Making
) -> None:
    sent = make(http, stack)
    first = _post(http, sent, "once")
    before = _effect(http, stack, sent, first.json())

    refused = _post(http, sent, "once", sent.other if sent.other is not None else {"unknown": 1})

    # Asking again takes no members, so another body is none that it could mean.
    expected = (422, "IdempotencyMismatch") if sent.other is not None else (400, "InvalidRequest")
    assert (refused.status_code, refused.json()["error"]["code"]) == expected
    assert _effect(http, stack, sent, first.json()) == before


# Keys are independent of each other


def test_the_same_key_on_two_routes_and_in_two_conversations_is_another(http: httpx.Client, stack: Stack) -> None:
    key = {"Idempotency-Key": "everywhere"}
    name = uuid4().hex
    created = http.post("/conversations", json={"name": name}, headers={"Idempotency-Key": f"everywhere {name}"})
    paths = [f"/conversations/{created.json()['id']}", create(http)]
    content = {"content": said("the same")}

    ids = [
        http.post(f"{path}/{route}", json=body, headers=key).json()
        for path in paths
        for route, body in (("messages", {"role": "user", **content}), ("turns", content))
    ]

    appended, asked = ids[0::2], ids[1::2]
    assert len({answer["id"] for answer in appended} | {answer["message"]["id"] for answer in asked}) == 4
    for path, answer in zip(paths, asked, strict=True):
        followed(http, path, answer["message"]["id"])
        assert [message["role"] for message in messages(http, path)] == ["user", "user", "assistant"]
    deleted = http.post("/conversations/delete", json={"ids": [paths[1].rpartition("/")[2]]}, headers=key)
    assert deleted.json() == {"deleted": [paths[1].rpartition("/")[2]], "notFound": []}


def test_the_same_key_of_two_owners_is_two(secured: Stack) -> None:
    with secured.http(secured.token("alice")) as alice, secured.http(secured.token("bob")) as bob:
        made = [
            http.post("/conversations", json={"name": "same"}, headers={"Idempotency-Key": "one key"})
            for http in (alice, bob, alice, bob)
        ]
        ids = [answer.json()["id"] for answer in made]
        deleted = [
            http.post("/conversations/delete", json={"ids": ids[:2]}, headers={"Idempotency-Key": "one key"}).json()
            for http in (alice, bob)
        ]

    assert [answer.status_code for answer in made] == [201] * 4
    assert ids[:2] == ids[2:]
    assert ids[0] != ids[1]
    assert deleted == [{"deleted": [ids[0]], "notFound": [ids[1]]}, {"deleted": [ids[1]], "notFound": [ids[0]]}]


def test_the_key_of_a_deleted_conversation_is_spent(http: httpx.Client, stack: Stack) -> None:
    sent = _new(http, stack)
    key = uuid4().hex
    http.delete(f"/conversations/{_post(http, sent, key).json()['id']}")

    spent = _post(http, sent, key)

    assert (spent.status_code, spent.json()["error"]["code"]) == (409, "ConversationDeleted")


def test_an_answer_is_identified_by_its_question_whatever_the_key(http: httpx.Client) -> None:
    path = create(http)
    question = append(http, path, said("q"))
    body = {"role": "assistant", "content": said("a"), "associatedUserMessageId": question["id"]}

    answers = [
        http.post(f"{path}/messages", json=body, headers=headers)
        for headers in ({"Idempotency-Key": "1"}, {"Idempotency-Key": "1"}, {"Idempotency-Key": "2"}, {})
    ]
    other = http.post(f"{path}/messages", json=body | {"content": said("b")}, headers={"Idempotency-Key": "1"})

    assert [answer.status_code for answer in answers] == [201] * 4
    assert [answer.json() for answer in answers] == [answers[0].json()] * 4
    assert (other.status_code, other.json()["error"]["code"]) == (422, "IdempotencyMismatch")
    assert messages(http, path) == [question, answers[0].json()]


# One's own ids


@pytest.mark.parametrize("route", ["messages", "turns"])
def test_a_message_id_of_ones_own_does_what_a_key_does(http: httpx.Client, route: str) -> None:
    path, other = create(http), create(http)
    role = {"role": "user"} if route == "messages" else {}
    body = {**role, "content": said("one"), "clientMessageId": "own_id-1"}

    def send(to: str, **members: Any) -> httpx.Response:
        return http.post(f"{to}/{route}", json=body | members)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: send(path), range(AT_ONCE)))
    elsewhere, changed = send(other), send(path, content=said("two"))

    assert {answer.status_code for answer in answers} <= {201, 202}
    assert [_same(answer) for answer in answers] == [_same(answers[0])] * AT_ONCE
    found = answers[0].json().get("message", answers[0].json())
    assert (found["clientMessageId"], found["position"]) == ("own_id-1", 1)
    assert _same(elsewhere)[1] != _same(answers[0])[1]
    assert (changed.status_code, changed.json()["error"]["code"]) == (422, "IdempotencyMismatch")
    assert [message["role"] for message in messages(http, path)].count("user") == 1


def test_the_same_message_id_of_two_owners_is_two(secured: Stack) -> None:
    body = {"role": "user", "content": said("one"), "clientMessageId": "mine"}
    with secured.http(secured.token("alice")) as alice, secured.http(secured.token("bob")) as bob:
        made = [http.post(f"{create(http)}/messages", json=body) for http in (alice, bob)]

    assert [answer.status_code for answer in made] == [201, 201]
    assert made[0].json()["id"] != made[1].json()["id"]


# Session ids


def _create_session(http: httpx.Client, session_id: str) -> httpx.Response:
    return http.post("/conversations", json={"sessionId": session_id})


def _listed(http: httpx.Client, session_id: str) -> list[str]:
    page = http.get("/conversations", params={"sessionId": session_id})
    assert page.status_code == 200, page.text
    return [conversation["id"] for conversation in page.json()["conversations"]]


def test_ten_racing_creates_give_one_conversation(http: httpx.Client) -> None:
    session_id = uuid4().hex

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: _create_session(http, session_id), range(AT_ONCE)))

    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert _listed(http, session_id) == [answers[0].json()["id"]]
    named = http.get("/conversations", params={"limit": 1000}).json()["conversations"]
    assert [c["sessionId"] for c in named if c.get("sessionId") == session_id] == [session_id]


def test_delete_and_create_at_once_gives_a_new_one(http: httpx.Client) -> None:
    session_id = uuid4().hex
    for _ in range(5):
        old = _create_session(http, session_id).json()["id"]
        with ThreadPoolExecutor(2) as pool:
            deleting = pool.submit(http.delete, f"/conversations/{old}")
            creating = pool.submit(_create_session, http, session_id)
        after = _create_session(http, session_id)

        assert deleting.result().status_code == 204
        assert creating.result().status_code in (200, 201)
        assert after.json()["id"] != old
        # Whoever was told of a new one while the old one was being deleted keeps it.
        assert creating.result().json()["id"] in (old, after.json()["id"])
        assert _listed(http, session_id) == [after.json()["id"]]


SESSION_IDS = {
    "Unicode": "日本語 العربية 😀 é",
    "not composed": "e\u0301",
    "path": "../a/b//c",
    "fragment": "a#b?c=d&e;f",
    "percent": "%2F%00%25",
    "plus and blanks": " a + b\t",
    "a line": "a\r\nb",
    "1,024 bytes": "x" * 1024,
    "1,024 bytes of two": "ü" * 512,
    "quotes": "\"'\\",
    "a comma": "a,b",
}


@pytest.mark.parametrize("session_id", SESSION_IDS.values(), ids=SESSION_IDS.keys())
def test_any_text_names_a_session(http: httpx.Client, session_id: str) -> None:
    made, again = _create_session(http, session_id), _create_session(http, session_id)

    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json()["sessionId"] == session_id
    assert again.json() == made.json()
    assert _listed(http, session_id) == [made.json()["id"]]
    http.delete(f"/conversations/{made.json()['id']}")
    assert _listed(http, session_id) == []


@pytest.mark.parametrize("session_id", ["", "x" * 1025, "ü" * 513, "a\0b"], ids=["", "long", "long of two", "NUL"])
def test_what_is_no_session_id_is_refused_in_body_and_query(http: httpx.Client, session_id: str) -> None:
    for refused in (
        _create_session(http, session_id),
        http.get("/conversations", params={"sessionId": session_id}),
    ):
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "sessionId")
