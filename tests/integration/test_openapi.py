"""The OpenAPI document bites: what the API does and what the document says cannot come apart unnoticed.

That all other tests over the API hold every answer to the document is done in `tests.bed.in_process`.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from api import conversation_routes, parameters
from api.wire import conversation_json
from tests.bed import in_process
from tests.bed.documented import Exchange, UndocumentedError, check_exchange, operation, operation_of, resolved_document
from tests.bed.in_process import Api
from tests.bed.messages import said, tool_result, tool_use
from tests.integration.test_api import BAD_CONVERSATIONS, BAD_MEMBERS, BAD_PARAMETERS

FREE = {"metadata", "aiContext", "content", "usage"}  # what stands in these is not ours to close


@pytest.fixture
def exchanges(monkeypatch: pytest.MonkeyPatch) -> list[Exchange]:
    """What the API is asked and answers, as it is checked."""
    seen: list[Exchange] = []

    def check_and_keep(exchange: Exchange) -> None:
        check_exchange(exchange)
        seen.append(exchange)

    monkeypatch.setattr(in_process, "check_exchange", check_and_keep)
    return seen


def _use_everything(api: Api) -> None:
    conversation_id = api.create(name="n", metadata={"a": 1}, sessionId="s", ttlDays=3)
    path = f"/conversations/{conversation_id}"
    api.call("POST", "/conversations", {"sessionId": "s"})
    api.call("GET", "/conversations", query={"limit": 1})
    api.call("GET", path)
    api.call("PATCH", path, {"name": None})
    message = api.say(conversation_id, "q", clientMessageId="mine", aiContext={"page": 1}, metadata={"b": 2})
    api.call("POST", f"{path}/messages", {"messages": [{"role": "assistant", "content": said("a")}]})
    api.call("GET", f"{path}/messages", query={"order": "desc", "limit": 1})
    api.call("GET", f"{path}/messages/{message['id']}")
    asked = api.call("POST", f"{path}/turns", {"content": said("q")}).body["message"]["id"]
    api.call("DELETE", f"{path}/turns/{asked}")
    api.call("POST", f"{path}/turns/{asked}")
    api.say(conversation_id, "a", "assistant", associatedUserMessageId=asked)
    api.call("GET", f"{path}/turns/{asked}", query={"wait": 1})
    api.say(conversation_id, "be brief", "system")
    api.call("GET", f"{path}/history", query={"currentMessageId": asked})
    api.call("GET", f"{path}/search", query={"q": "q a", "limit": 5})
    api.call("DELETE", f"{path}/messages")
    api.call("DELETE", path)
    api.call("POST", "/conversations/delete", {"ids": [conversation_id]})
    api.call("GET", "/status")
    api.call("GET", "/openapi.json")
    api.call("GET", path)
    api.call("POST", "/conversations", {"name": 5})


def _documented_successes() -> set[tuple[str, str, int]]:
    return {
        (method.upper(), path, int(status))
        for path, methods in resolved_document()["paths"].items()
        for method, described in methods.items()
        for status in described["responses"]
        if int(status) < 300
    }


def _renamed(value: Any) -> Iterator[Any]:
    """Copies of a value, in each of which one member of ours has another name."""
    if isinstance(value, list):
        for place, member in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in _renamed(member))
    elif isinstance(value, dict):
        for name, member in value.items():
            yield {f"{name}X" if other == name else other: kept for other, kept in value.items()}
            if name not in FREE:
                yield from ({**value, name: other} for other in _renamed(member))


def test_a_renamed_member_of_any_answer_is_noticed(api: Api, exchanges: list[Exchange]) -> None:
    _use_everything(api)

    met = {(of.method, of.path, e.status) for e in exchanges if (of := operation_of(e)) and e.status < 300}
    assert met == _documented_successes()
    bodies = [(exchange, json.loads(exchange.answered)) for exchange in exchanges if exchange.answered]
    renamed = [(e, body) for e, answered in bodies if e.path != "/openapi.json" for body in _renamed(answered)]
    assert len(renamed) > 150
    for exchange, body in renamed:
        with pytest.raises(UndocumentedError):
            check_exchange(replace(exchange, answered=json.dumps(body)))


def test_a_route_that_answers_another_name_fails_the_call(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(conversation: Any) -> dict[str, Any]:
        shown = conversation_json(conversation)
        return {"title": shown.pop("name"), **shown}

    monkeypatch.setattr(conversation_routes, "conversation_json", renamed)

    with pytest.raises(UndocumentedError, match="title"):
        api.create()


def test_a_member_that_is_taken_but_not_documented_fails_the_call(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "known_members", lambda *_: None)

    with pytest.raises(UndocumentedError, match="colour"):
        api.create(colour="red")
    with pytest.raises(UndocumentedError, match="page is not documented"):
        api.call("GET", "/conversations", query={"page": 2})


ERROR = {"code": "NotFound", "message": "m", "requestId": "r"}
IN_JSON = {"content-type": "application/json"}
MISSING = Exchange("GET", "/conversations/x", 404, json.dumps({"error": ERROR}), answer_headers=IN_JSON)
BUSY = replace(MISSING, status=503, answered=json.dumps({"error": {**ERROR, "code": "Busy"}}))


@pytest.mark.parametrize(
    ("exchange", "complaint"),
    [
        (replace(MISSING, status=418), "status"),
        (replace(MISSING, answered=json.dumps({"error": {**ERROR, "code": "TurnState"}})), "TurnState"),
        (replace(MISSING, answered=json.dumps({"error": {**ERROR, "stack": "..."}})), "stack"),
        (replace(MISSING, answer_headers={"content-type": "text/plain"}), "text/plain"),
        (replace(MISSING, method="PUT", status=200), "route"),
        (replace(MISSING, method="DELETE", status=204), "body"),
        (replace(MISSING, status=401, answered='{"message": "Unauthorized"}'), "gateway"),
        (BUSY, "Retry-After"),
        (replace(BUSY, answer_headers={**IN_JSON, "retry-after": "soon"}), "soon"),
    ],
)
def test_what_the_document_does_not_know_is_noticed(exchange: Exchange, complaint: str) -> None:
    check_exchange(MISSING)
    check_exchange(replace(BUSY, answer_headers={**IN_JSON, "retry-after": "1"}))
    check_exchange(replace(MISSING, status=401, answered='{"message": "Unauthorized"}', by_gateway=True))

    with pytest.raises(UndocumentedError, match=complaint):
        check_exchange(exchange)


# What comes in

# A schema counts characters, not bytes, and does not compare the members of a list by one of theirs.
BEYOND_A_SCHEMA = [BAD_MEMBERS[-1][0], {"sessionId": "ü" * 513}]


def _is_taken(method: str, path: str, body: Any = None, query: dict[str, str] | None = None) -> bool:
    sent = Exchange(method, path, 200, "", query=query or {}, sent=json.dumps(body))
    return not list(operation(method, path).complaints_of_request(sent))


def test_the_document_refuses_what_the_api_refuses() -> None:
    messages = "/conversations/{conversationId}/messages"
    bodies = [(messages, body) for body, _ in BAD_MEMBERS] + [("/conversations", body) for body, _ in BAD_CONVERSATIONS]
    whole = {"C": "{conversationId}", "M": "{messageId}"}

    assert [body for path, body in bodies if _is_taken("POST", path, body)] == BEYOND_A_SCHEMA
    for path, query, _ in BAD_PARAMETERS:
        template = "/".join(whole.get(step, step) for step in f"/conversations{path}".split("/"))
        assert not _is_taken("GET", template, query=query), (path, query)


def _example(method: str, path: str) -> Any:
    body = operation(method, path).document["requestBody"]
    return body["content"]["application/json"]["example"]


def test_every_example_is_taken(api: Api) -> None:
    of_conversation = "/conversations/{conversationId}"
    created = api.call("POST", "/conversations", _example("POST", "/conversations"))
    path = f"/conversations/{created.body['id']}"
    changed = api.call("PATCH", path, _example("PATCH", of_conversation))
    appended = api.call("POST", f"{path}/messages", _example("POST", f"{of_conversation}/messages"))
    asked = api.call("POST", f"{path}/turns", _example("POST", f"{of_conversation}/turns"))
    turn = f"{path}/turns/{asked.body['message']['id']}"
    api.call("DELETE", turn)
    again = api.call("POST", turn, _example("POST", f"{of_conversation}/turns/{{messageId}}"))
    deleted = api.call("POST", "/conversations/delete", _example("POST", "/conversations/delete"))

    statuses = [answer.status for answer in (created, changed, appended, asked, again, deleted)]
    assert statuses == [201, 200, 201, 202, 202, 200]


@pytest.mark.parametrize(
    "body",
    [
        {"role": "user", "content": [{"text": " "}, {"madeUp": 1}], "metadata": None, "toolConfiguration": None},
        {
            "role": "assistant",
            "content": [tool_use("t"), {"reasoningContent": {"redactedContent": "AA=="}}],
            "clientMessageId": None,
        },
        {"role": "tool", "content": [tool_result("t")], "associatedUserMessageId": None},
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "AAA="}}, "more": 1}]},
        {"role": "user", "content": [{"document": {"format": "txt", "name": "a.txt", "source": {"text": "t"}}}]},
        {"messages": [{"role": "system", "content": said("x")}, {"role": "user", "content": said("y")}]},
    ],
)
def test_what_both_take(api: Api, body: dict[str, Any]) -> None:
    assert api.call("POST", f"/conversations/{api.create()}/messages", body).status == 201
