"""What comes in wrongly is refused by name and changes nothing; what comes in rightly comes back as it was."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.strict_json import LARGEST_ESCAPED_BYTES
from conversations.ids import digest
from tests.bed.in_process import Api
from tests.bed.messages import said

CONTENT = said("x")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

BAD_MESSAGES: list[tuple[str, str]] = [
    ("", "role"),
    ("{", "body"),
    ("[]", "body"),
    ("5", "body"),
    ('"x"', "body"),
    ("\x00", "body"),
    ('{"role": "user", "role": "tool"}', "role"),
    ('{"role": "user", "content": ' + "[" * 10_000, "body"),
    ('{"role": "user", "metadata": ' + '{"a":' * 101 + "1" + "}" * 101 + "}", "metadata" + ".a" * 28),
    ('{"role": "user", "metadata": {"a": 1e400}}', "metadata.a"),
    ('{"role": "user", "metadata": {"a": NaN}}', "metadata.a"),
    ('{"role": "user", "metadata": {"a": ' + "9" * 400 + "}}", "metadata.a"),
    ('{"role": "user", "metadata": {"a": ' + "9" * 5000 + "}}", "body"),
    ('{"role": "user", "content": [{"text": "\\ud800"}]}', "content[0].text"),
    ('{"role": "user", "metadata": {"\\udfff": 1}}', "metadata.?"),
]
BAD_MEMBERS: list[tuple[dict[str, Any], str]] = [
    ({"content": CONTENT}, "role"),
    ({"role": "bot", "content": CONTENT}, "role"),
    ({"role": 5, "content": CONTENT}, "role"),
    ({"role": ["user"], "content": CONTENT}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "user", "content": None}, "content"),
    ({"role": "user", "content": "x"}, "content"),
    ({"role": "user", "content": {}}, "content"),
    ({"role": "user", "content": []}, "content"),
    ({"role": "user", "content": [5]}, "content[0]"),
    ({"role": "user", "content": [{}]}, "content[0]"),
    ({"role": "user", "content": [{"text": ""}]}, "content"),
    ({"role": "user", "content": [{"text": " \n\t "}, {"text": "\u3000"}]}, "content"),
    ({"role": "user", "content": [{"text": 5}]}, "content[0].text"),
    ({"role": "user", "content": [{"text": "x"}, {"text": None}]}, "content[1].text"),
    ({"role": "user", "content": [{"text": "x", "toolUse": {}}]}, "content[0]"),
    ({"role": "user", "content": [{"image": {"source": {"bytes": "AA=="}}}]}, "content[0].image.format"),
    ({"role": "user", "content": [{"image": {"format": "png", "source": {}}}]}, "content[0].image.source"),
    (
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "!"}}}]},
        "content[0].image.source.bytes",
    ),
    ({"role": "user", "content": [{"toolResult": {"content": []}}]}, "content[0].toolResult.toolUseId"),
    ({"role": "user", "content": [{"toolResult": {"toolUseId": "t"}}]}, "content[0].toolResult.content"),
    ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f"}}]}, "content[0].toolUse.input"),
    ({"role": "tool", "content": CONTENT}, "content[0]"),
    ({"role": "user", "content": CONTENT, "metadata": []}, "metadata"),
    ({"role": "user", "content": CONTENT, "clientMessageId": ""}, "clientMessageId"),
    ({"role": "user", "content": CONTENT, "clientMessageId": "a b"}, "clientMessageId"),
    ({"role": "user", "content": CONTENT, "clientMessageId": "a" * 65}, "clientMessageId"),
    ({"role": "assistant", "content": CONTENT, "clientMessageId": "a"}, "clientMessageId"),
    ({"role": "user", "content": CONTENT, "associatedUserMessageId": "x"}, "associatedUserMessageId"),
    ({"role": "assistant", "content": CONTENT, "associatedUserMessageId": 5}, "associatedUserMessageId"),
    ({"role": "user", "content": CONTENT, "toolConfiguration": {}}, "toolConfiguration"),
    (
        {"role": "user", "content": CONTENT, "toolConfiguration": {"tools": [{"toolSpec": {"name": "f"}}]}},
        "toolConfiguration.tools[0].toolSpec.inputSchema.json",
    ),
    ({"role": "user", "content": CONTENT, "madeUp": 1}, "madeUp"),
    ({"messages": []}, "messages"),
    ({"messages": {}}, "messages"),
    ({"messages": [5]}, "messages[0]"),
    ({"messages": [{"role": "user", "content": CONTENT}, {"role": "user"}]}, "messages[1].content"),
    ({"messages": [{"role": "user", "content": CONTENT, "clientMessageId": "a"}] * 2}, "messages"),
]
BAD_CONVERSATIONS: list[tuple[dict[str, Any], str]] = [
    ({"name": 5}, "name"),
    ({"name": ""}, "name"),
    ({"name": "n" * 1025}, "name"),
    ({"metadata": "x"}, "metadata"),
    ({"sessionId": ""}, "sessionId"),
    ({"sessionId": "a\0b"}, "sessionId"),
    ({"sessionId": "ü" * 513}, "sessionId"),
    ({"ttlDays": 0}, "ttlDays"),
    ({"ttlDays": True}, "ttlDays"),
    ({"ttlDays": 1.5}, "ttlDays"),
    ({"madeUp": 1}, "madeUp"),
]
BAD_PARAMETERS: list[tuple[str, dict[str, str], str]] = [
    ("", {"limit": "0"}, "limit"),
    ("", {"limit": "1001"}, "limit"),
    ("", {"limit": "x"}, "limit"),
    ("", {"limit": "-1"}, "limit"),
    ("", {"limit": "٣"}, "limit"),
    ("", {"madeUp": "1"}, "madeUp"),
    ("/C/messages", {"order": "up"}, "order"),
    ("/C/history", {"maxMessages": "0"}, "maxMessages"),
    ("/C/history", {"maxTokens": "1.5"}, "maxTokens"),
    ("/C/turns/M", {"wait": "21"}, "wait"),
    ("/C/turns/M", {"after": "x"}, "after"),
]


def _refused(answer: Any, field: str, status: int = 400) -> None:
    assert answer.status == status, answer
    assert answer.body["error"]["code"] == "InvalidRequest"
    assert answer.body["error"]["field"] == field
    assert field.split(".")[0].split("[")[0] in answer.body["error"]["message"]
    assert answer.body["error"]["requestId"]


@pytest.mark.parametrize(("raw", "field"), BAD_MESSAGES)
def test_what_is_no_sound_json_is_refused_and_nothing_stored(api: Api, raw: str, field: str) -> None:
    path = f"/conversations/{api.create()}/messages"

    _refused(api.call("POST", path, raw=raw), field)
    assert api.call("GET", path).body == {"messages": [], "nextCursor": None}


@pytest.mark.parametrize(("body", "field"), BAD_MEMBERS)
def test_what_breaks_a_rule_is_refused_by_name_and_nothing_stored(api: Api, body: Any, field: str) -> None:
    path = f"/conversations/{api.create()}/messages"

    _refused(api.call("POST", path, body), field)
    assert api.call("GET", path).body == {"messages": [], "nextCursor": None}


@pytest.mark.parametrize(("body", "field"), BAD_CONVERSATIONS)
def test_a_conversation_that_breaks_a_rule_is_refused(api: Api, body: Any, field: str) -> None:
    _refused(api.call("POST", "/conversations", body), field)
    assert api.call("GET", "/conversations").body["conversations"] == []


@pytest.mark.parametrize(("path", "query", "field"), BAD_PARAMETERS)
def test_a_parameter_that_breaks_a_rule_is_refused(api: Api, path: str, query: dict[str, str], field: str) -> None:
    conversation_id = api.create()
    message = api.say(conversation_id, "x")
    path = path.replace("C", conversation_id).replace("M", message["id"])

    _refused(api.call("GET", f"/conversations{path}", query=query), field)


@pytest.mark.parametrize("cursor", ["", "x", "e30", "W10", "Li4v", "\x00"])
def test_a_cursor_that_is_none_is_refused(api: Api, cursor: str) -> None:
    conversation_id = api.create()
    for path in ("/conversations", f"/conversations/{conversation_id}/messages"):
        answer = api.call("GET", path, query={"cursor": cursor or "?"})
        assert (answer.status, answer.body["error"]["code"]) == (400, "InvalidCursor")


TIMES = [
    *("", "x", "2026", "\ud800", "0000-01-01T00:00:00.000000000Z", "9999-99-01T00:00:00.000000000Z"),
    *("9999-12-31T23:59:59.999999999Z", "٢٠٢٦-11-30T12:00:00.000000000Z", "2026-02-30T00:00:00.000000000Z"),
]


def _forged(*parts: Any) -> str:
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    ("time", "position"),
    [*((time, 1) for time in TIMES), ("first", -1), ("first", 3), ("first", 10**300), ("last", 1), ("last", 3)],
)
def test_a_forged_cursor_of_messages_is_refused(api: Api, order: str, time: str, position: int) -> None:
    conversation_id = api.create()
    said_at = {place: api.say(conversation_id, place) for place in ("first", "middle", "last")}
    created_at = said_at[time]["createdAt"] if time in said_at else time
    cursor = _forged("m1", conversation_id, order, said_at["first"]["id"], created_at, position)

    answer = api.call("GET", f"/conversations/{conversation_id}/messages", query={"cursor": cursor, "order": order})

    assert (answer.status, answer.body["error"]["code"]) == (400, "InvalidCursor")


@pytest.mark.parametrize(
    ("owner", "sort_keys"), [("anonymous", TIMES[:-3] + TIMES[-2:]), ("*", [*TIMES, "2026-13-01T00"])]
)
def test_a_forged_cursor_of_conversations_is_refused(api: Api, owner: str, sort_keys: list[str]) -> None:
    conversation_id = api.create()
    for sort_key in sort_keys:
        cursor = _forged("c1", digest(owner), sort_key, conversation_id)
        answer = api.call("GET", "/conversations", query={"cursor": cursor, "owner": owner})
        assert (answer.status, answer.body["error"]["code"]) == (400, "InvalidCursor"), sort_key


@pytest.mark.parametrize("owner", ["", "x" * 257, "a\0b"])
def test_conversations_of_what_can_be_nobody_are_not_listed(api: Api, owner: str) -> None:
    _refused(api.call("GET", "/conversations", query={"owner": owner}), "owner")


@pytest.mark.parametrize("part", ["x", "../..", "a" * 20, "a" * 2049, "%2e%2e", "a#b", "日本"])
def test_ids_that_name_nothing_are_not_found(api: Api, part: str) -> None:
    conversation_id = api.create()
    for path in (
        f"/conversations/{part}",
        f"/conversations/{part}/messages",
        f"/conversations/{conversation_id}/messages/{part}",
        f"/conversations/{conversation_id}/messages/{conversation_id}.{part}",
        f"/conversations/{conversation_id}/turns/{part}",
    ):
        answer = api.call("GET", path)
        assert (answer.status, answer.body["error"]["code"]) == (404, "NotFound"), path
    answer = api.call("GET", f"/conversations/{conversation_id}/history", query={"currentMessageId": part})
    assert (answer.status, answer.body["error"]["code"]) == (404, "CurrentMessageNotFound")


@pytest.mark.parametrize("key", ["", " ", "k" * 256])
def test_an_idempotency_key_has_a_length(api: Api, key: str) -> None:
    _refused(api.call("POST", "/conversations", {}, headers={"Idempotency-Key": key}), "Idempotency-Key")


def test_no_route_is_no_route(api: Api) -> None:
    for method, path in [("GET", "/nothing"), ("PUT", "/conversations"), ("GET", "/conversations/a/b/c/d")]:
        assert api.call(method, path).body["error"]["code"] == "NotFound"


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1), context=JSON, kept=JSON)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_sent_comes_back_equal_by_type(api: Api, text: str, context: Any, kept: Any) -> None:
    conversation_id = api.create(metadata={"kept": kept})
    content = [{"text": "x" + text}, {"madeUp": kept}]
    body = {"role": "user", "content": content, "metadata": {"kept": kept}, "aiContext": context}
    path = f"/conversations/{conversation_id}/messages"
    appended = api.call("POST", path, body)
    assert appended.status == 201, appended

    for back in (
        appended.body,
        api.call("GET", f"{path}/{appended.body['id']}").body,
        api.call("GET", path).body["messages"][0],
        api.call("GET", path, query={"order": "desc"}).body["messages"][0],
    ):
        assert json.dumps(back["content"]) == json.dumps(content)
        assert json.dumps(back["metadata"]) == json.dumps({"kept": kept})
        assert json.dumps(back.get("aiContext")) == json.dumps(context)
    stored = api.call("GET", f"/conversations/{conversation_id}").body["metadata"]
    assert json.dumps(stored) == json.dumps({"kept": kept})


@pytest.mark.parametrize("filler", ["x", '"', "\n", "😀"])
def test_the_largest_message_is_taken_and_given_back_and_one_byte_more_is_413(api: Api, filler: str) -> None:
    conversation_id = api.create()
    path = f"/conversations/{conversation_id}/messages"

    def body(text: str) -> str:
        return json.dumps({"role": "user", "content": said(text)}, ensure_ascii=False)

    def escaped(text: str) -> int:
        return len(json.dumps(body(text), ensure_ascii=False).encode())

    unit = escaped(filler) - escaped("")
    text = filler * ((LARGEST_ESCAPED_BYTES - escaped("")) // unit)
    text += "y" * (LARGEST_ESCAPED_BYTES - escaped(text))
    assert escaped(text) == LARGEST_ESCAPED_BYTES

    appended = api.call("POST", path, raw=body(text))
    assert appended.status == 201
    assert api.call("GET", path).body["messages"] == [appended.body]
    assert appended.body["content"] == said(text)
    refused = api.call("POST", path, raw=body(text + "y"))
    assert (refused.status, refused.body["error"]["code"]) == (413, "TooLarge")
    assert str(LARGEST_ESCAPED_BYTES) in refused.body["error"]["message"]
