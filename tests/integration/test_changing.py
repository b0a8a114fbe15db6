"""Changing, clearing and deleting many; cancelling and asking again; what administrators list."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.errors import ModelError
from tests.bed.in_process import Answer, Api
from tests.bed.lagging import LaggingStore
from tests.bed.messages import said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.integration.conftest import TestClock
from turn.worker import Worker


@pytest.fixture
def model() -> PlayedModel:
    return PlayedModel()


@pytest.fixture
def worker(lagging: LaggingStore, clock: TestClock, model: PlayedModel) -> Worker:
    return Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))


def _code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["error"]["code"]


# Changing


def test_what_is_given_replaces_what_was_and_the_rest_stays(api: Api) -> None:
    conversation_id = api.create(name="old", metadata={"a": 1}, sessionId="s", ttlDays=3)
    path = f"/conversations/{conversation_id}"
    before = api.call("GET", path).body

    renamed = api.call("PATCH", path, {"name": "new"}).body
    assert renamed == {**before, "name": "new", "updatedAt": renamed["updatedAt"], "expiresAt": renamed["expiresAt"]}
    assert renamed["updatedAt"] > before["updatedAt"]
    assert api.call("PATCH", path, {"metadata": {"b": [1.0, None]}}).body["metadata"] == {"b": [1.0, None]}
    emptied = api.call("PATCH", path, {"name": None, "metadata": None, "ttlDays": None}).body
    assert (emptied["name"], emptied["metadata"], "ttlDays" in emptied, "expiresAt" in emptied) == (
        None,
        {},
        False,
        False,
    )
    assert emptied == api.call("GET", path).body
    assert emptied["sessionId"] == "s"


def test_a_description_may_become_large_and_small_again(api: Api) -> None:
    conversation_id = api.create(name="n")
    path = f"/conversations/{conversation_id}"
    for metadata in ({"a": "b" * 5000}, {"a": "c" * 9000}, {"a": "d"}, {"a": "e" * 5000}, {}):
        changed = api.call("PATCH", path, {"metadata": metadata})
        assert changed.body["metadata"] == metadata
        assert api.call("GET", path).body == changed.body
        assert api.say(conversation_id, "x")["role"] == "user"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": 5}, "name"),
        ({"metadata": []}, "metadata"),
        ({"ttlDays": 0}, "ttlDays"),
        ({"sessionId": "s"}, "sessionId"),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    path = f"/conversations/{api.create()}"

    refused = api.call("PATCH", path, body)

    assert (refused.status, refused.body["error"]["field"]) == (400, field)
    assert api.call("PATCH", "/conversations/" + "x" * 20, {"name": "n"}).status == 404


def test_changes_and_appends_at_once_lose_nothing(api: Api) -> None:
    conversation_id = api.create()

    def work(place: int) -> int:
        if place % 2:
            return api.call("PATCH", f"/conversations/{conversation_id}", {"metadata": {"n": place}}).status
        api.say(conversation_id, str(place))
        return 200

    statuses = [work(place) for place in range(10)]

    assert statuses == [200] * 10
    conversation = api.call("GET", f"/conversations/{conversation_id}").body
    assert (conversation["messageCount"], conversation["metadata"]) == (5, {"n": 9})


# Clearing


def test_a_clear_hides_at_once_and_the_next_message_is_the_first(api: Api, lagging: LaggingStore) -> None:
    conversation_id = api.create(name="kept")
    path = f"/conversations/{conversation_id}"
    headers = {"Idempotency-Key": "k"}
    body = {"role": "user", "content": said("before")}
    old = api.call("POST", f"{path}/messages", body, headers=headers).body
    system = api.say(conversation_id, "be brief", "system")
    cursor = api.call("GET", f"{path}/messages", query={"limit": 1}).body["nextCursor"]

    assert api.call("DELETE", f"{path}/messages").status == 204

    assert api.call("GET", f"{path}/messages").body == {"messages": [], "nextCursor": None}
    assert api.call("GET", path).body["messageCount"] == 0
    assert api.call("GET", path).body["name"] == "kept"
    assert api.call("GET", f"{path}/messages/{old['id']}").status == 404
    assert _code(api.call("GET", f"{path}/history", query={"currentMessageId": old["id"]})) == (
        404,
        "CurrentMessageNotFound",
    )
    assert _code(api.call("GET", f"{path}/messages", query={"cursor": cursor})) == (400, "InvalidCursor")
    answer = {"role": "assistant", "content": said("a"), "associatedUserMessageId": old["id"]}
    assert api.call("POST", f"{path}/messages", answer).body["error"]["field"] == "associatedUserMessageId"
    again = api.call("POST", f"{path}/messages", body, headers=headers)
    assert (again.status, again.body["position"], again.body["previousMessageId"]) == (201, 1, None)
    assert again.body["id"] != old["id"]
    assert again.body["createdAt"] > system["createdAt"]
    assert again.body["conversationId"] == conversation_id
    history = api.call("GET", f"{path}/history").body
    assert (history["system"], len(history["messages"])) == ([], 1)
    assert api.call("DELETE", f"{path}/messages").status == api.call("DELETE", f"{path}/messages").status == 204
    assert api.call("DELETE", f"/conversations/{'x' * 20}/messages").status == 404


def test_a_turn_that_runs_across_a_clear_leaves_no_answer(api: Api, worker: Worker, model: PlayedModel) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    message_id = api.call("POST", f"{path}/turns", {"content": said("q")}).body["message"]["id"]

    def clears() -> Iterator[Mapping[str, Any]]:
        api.call("DELETE", f"{path}/messages")
        yield from deltas("too late")

    model.scripts = [clears]

    assert worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)["outcome"] == "superseded"
    assert api.call("GET", f"{path}/messages").body["messages"] == []
    assert api.call("GET", f"{path}/turns/{message_id}").status == 404


# Deleting many


def test_many_are_deleted_and_the_others_named(api: Api) -> None:
    ids = [api.create() for _ in range(3)]
    answer = api.call("POST", "/conversations/delete", {"ids": [ids[0], "nothing", ids[2], ids[0], "x" * 20]})

    assert (answer.status, answer.body) == (200, {"deleted": [ids[0], ids[2]], "notFound": ["nothing", "x" * 20]})
    assert [api.call("GET", f"/conversations/{conversation_id}").status for conversation_id in ids] == [404, 200, 404]


@pytest.mark.parametrize("given", [None, [], ["x"] * 101, [5], "x"])
def test_a_list_of_ids_has_1_to_100(api: Api, given: Any) -> None:
    answer = api.call("POST", "/conversations/delete", {"ids": given})

    assert (answer.status, answer.body["error"]["field"]) == (400, "ids")


def test_deleting_many_with_a_key_gets_the_same_answer(api: Api) -> None:
    ids = [api.create() for _ in range(3)]
    headers = {"Idempotency-Key": "k"}
    body = {"ids": [*ids, "x" * 20]}
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda _: _own(api).call("POST", "/conversations/delete", body, headers=headers), range(4))
        )

    assert [answer.body for answer in answers] == [{"deleted": ids, "notFound": ["x" * 20]}] * 4
    other = api.call("POST", "/conversations/delete", {"ids": ids[:1]}, headers=headers)
    assert _code(other) == (422, "IdempotencyMismatch")


def _own(api: Api) -> Api:
    """An API of a thread's own over the same store: a resolver answers one request at a time, as in Lambda."""
    return Api(api.store, api.clock)


def test_nobody_deletes_or_changes_what_is_anothers(lagging: LaggingStore, clock: TestClock) -> None:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    hers = api.create()
    message = api.say(hers, "x")
    asked = api.call("POST", f"/conversations/{hers}/turns", {"content": said("q")}).body["message"]["id"]
    api.as_user("bob", groups="[not-admin admins]")

    assert api.call("POST", "/conversations/delete", {"ids": [hers]}).body == {"deleted": [], "notFound": [hers]}
    for method, path in [
        ("PATCH", ""),
        ("DELETE", ""),
        ("DELETE", "/messages"),
        ("POST", f"/turns/{asked}"),
        ("DELETE", f"/turns/{asked}"),
        ("DELETE", f"/turns/{message['id']}"),
    ]:
        refused = api.call(method, f"/conversations/{hers}{path}", {})
        assert _code(refused) == (404, "NotFound"), (method, path)
    assert _code(api.call("GET", "/conversations", query={"owner": "alice"})) == (403, "Forbidden")
    assert _code(api.call("GET", "/conversations", query={"owner": "*"})) == (403, "Forbidden")
    api.as_user("alice")
    assert api.call("GET", f"/conversations/{hers}").body["messageCount"] == 2


def test_what_is_no_id_may_be_of_any_length(api: Api) -> None:
    conversation_id = api.create()
    headers, body = {"Idempotency-Key": "k"}, {"ids": [f"{n} " * 5000 for n in range(99)] + [conversation_id]}

    answers = [api.call("POST", "/conversations/delete", body, headers=headers) for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 200]
    assert [answer.body for answer in answers] == [{"deleted": [conversation_id], "notFound": body["ids"][:-1]}] * 2


# Administrators


def test_administrators_list_everybodys_conversations_by_the_hour(lagging: LaggingStore, clock: TestClock) -> None:
    api = Api(lagging, clock, auth="jwt")
    made: list[str] = []
    for place, hours in enumerate((-24 * 70, -24 * 40, -3, -2, 0)):
        clock.offset_s = hours * 3600
        api.as_user(f"user{place}")
        made.insert(0, api.create())
    gone = api.create()
    api.call("DELETE", f"/conversations/{gone}")
    api.as_user("root", groups="[admin]")

    for limit in (1, 2, 50):
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = api.call("GET", "/conversations", query={"owner": "*", "limit": limit, **cursor}).body
            found += [conversation["id"] for conversation in page["conversations"]]
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert found == made
    of_one = api.call("GET", "/conversations", query={"owner": "user1"}).body["conversations"]
    assert [conversation["id"] for conversation in of_one] == [made[3]]
    assert api.call("GET", "/conversations").body["conversations"] == []
    assert api.call("DELETE", f"/conversations/{made[0]}").status == 204


# Cancelling and asking again


def _ask(api: Api) -> tuple[str, str, dict[str, Any]]:
    path = f"/conversations/{api.create()}/turns"
    message_id = api.call("POST", path, {"content": said("q")}).body["message"]["id"]
    return f"{path}/{message_id}", message_id, dict(api.invocations.descriptors[-1])


def test_a_running_turn_is_cancelled_and_keeps_its_partial_text(
    api: Api, worker: Worker, model: PlayedModel, clock: TestClock
) -> None:
    path, _, descriptor = _ask(api)
    go_on = threading.Event()

    def slow() -> Iterator[Mapping[str, Any]]:
        events = list(deltas("one ", "x" * 3000))
        clock.offset_s += 1
        yield from events[:2]
        go_on.wait(10)
        yield from events[2:]

    model.scripts = [slow]
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(worker.answer(descriptor, PLENTY_MS)))
    thread.start()
    assert _own(api).call("GET", path, query={"wait": 5, "after": 0}).body["turn"]["partialText"] == "one "
    cancelled = _own(api).call("DELETE", path)
    go_on.set()
    thread.join(10)

    assert (cancelled.status, cancelled.body["turn"]["status"]) == (200, "cancelled")
    assert outcomes == [{"outcome": "superseded", "attempt": 1}]
    assert api.call("GET", path).body["turn"]["partialText"] == "one "
    assert api.call("DELETE", path).body == cancelled.body
    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "superseded"


def test_a_turn_that_has_not_begun_is_cancelled_and_costs_nothing(api: Api, worker: Worker, model: PlayedModel) -> None:
    path, _, descriptor = _ask(api)

    assert api.call("DELETE", path).body["turn"]["status"] == "cancelled"
    assert worker.answer(descriptor, PLENTY_MS)["outcome"] == "superseded"
    assert model.requests == []


def test_what_is_over_cannot_be_cancelled(api: Api, worker: Worker, model: PlayedModel) -> None:
    path, _, descriptor = _ask(api)
    worker.answer(descriptor, PLENTY_MS)
    assert _code(api.call("DELETE", path)) == (409, "TurnState")
    assert _code(api.call("POST", path)) == (409, "TurnState")


def test_what_failed_or_was_cancelled_is_asked_again(api: Api, worker: Worker, model: PlayedModel) -> None:
    path, message_id, descriptor = _ask(api)
    assert _code(api.call("POST", path)) == (409, "TurnState")

    def fails() -> Iterator[Mapping[str, Any]]:
        yield from ()
        raise ModelError("no")

    model.scripts = [fails]
    worker.answer(descriptor, PLENTY_MS)
    again = api.call("POST", path)
    cancelled = api.call("DELETE", path)
    once_more = api.call("POST", path)
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)
    complete = api.call("GET", path).body

    assert (again.status, again.body["turn"]["status"], again.body["message"]["id"]) == (202, "pending", message_id)
    assert "error" not in again.body["turn"]
    assert cancelled.body["turn"]["status"] == "cancelled"
    assert once_more.body["turn"]["attempt"] == 1
    assert (complete["turn"]["status"], complete["turn"]["attempt"]) == ("complete", 2)
    assert complete["message"]["content"] == said("done")


def test_asking_again_with_a_key_has_one_effect(api: Api, worker: Worker, model: PlayedModel) -> None:
    path, _, _ = _ask(api)
    api.call("DELETE", path)
    headers = {"Idempotency-Key": "k"}
    api.invocations.is_down = True
    down = api.call("POST", path, headers=headers)
    api.invocations.is_down = False
    first = api.call("POST", path, headers=headers)
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)
    again = api.call("POST", path, headers=headers)

    assert (down.status, first.status, again.status) == (503, 202, 202)
    assert again.body["turn"]["status"] == "complete"
    assert len(model.requests) == 1
    assert _code(api.call("POST", path, headers={"Idempotency-Key": "other"})) == (409, "TurnState")


def test_a_turn_nobody_began_may_be_asked_again_after_20_minutes(
    api: Api, worker: Worker, clock: TestClock, model: PlayedModel
) -> None:
    path, _, _ = _ask(api)
    clock.offset_s = 21 * 60

    assert api.call("GET", path).body["turn"]["error"]["code"] == "Abandoned"
    assert api.call("POST", path).status == 202
    worker.answer(dict(api.invocations.descriptors[-1]), PLENTY_MS)
    assert api.call("GET", path).body["turn"]["status"] == "complete"
