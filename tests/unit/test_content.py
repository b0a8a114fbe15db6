"""Content blocks: what is refused when they are stored, and what a model is sent of those that are."""

from typing import Any

import pytest

from conversations.content import check_content
from conversations.converse import document_name, sendable
from conversations.errors import InvalidRequestError
from tests.bed.documented import operation

PNG = {"format": "png", "source": {"bytes": "AAE="}}
PDF = {"format": "pdf", "name": "d", "source": {"bytes": "AAE="}}
MP4 = {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/k", "bucketOwner": "123456789012"}}}
USE = {"toolUseId": "t", "name": "f", "input": {"a": [1, None]}}
RESULT = {"toolUseId": "t", "status": "error", "content": [{"text": ""}, {"json": {}}, {"image": PNG}]}
SEARCH = {"source": "s", "title": "t", "content": [{"text": "x"}], "citations": {"enabled": True}}

WHOLE: list[dict[str, Any]] = [
    {"text": "hi"},
    {"image": PNG},
    {"document": PDF},
    {"document": {**PDF, "context": "c", "citations": {"enabled": False}}},
    {"document": {"format": "txt", "name": "d", "source": {"text": "x"}}},
    {"document": {"format": "md", "name": "d", "source": {"content": [{"text": "x"}]}}},
    {"video": MP4},
    {"toolUse": USE},
    {"toolUse": {**USE, "input": {}}},
    {"toolResult": RESULT},
    {"toolResult": {"toolUseId": "t", "content": []}},
    {"toolResult": {"toolUseId": "t", "content": [{"document": PDF}, {"video": MP4}, {"searchResult": SEARCH}]}},
    {"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}},
    {"reasoningContent": {"redactedContent": "AAE="}},
    {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}},
    {"guardContent": {"image": PNG}},
]

OTHERS: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
    ({"type": "text", "text": "hi"}, {"text": "hi"}),
    ({"text": "hi", "cache_control": {"type": "ephemeral"}}, {"text": "hi"}),
    ({"text": " "}, None),
    ({"text": "", "type": "text"}, None),
    ({"madeUp": {"x": 1}}, None),
    ({"audio": {"format": "mp3", "source": {"bytes": "AAE="}}}, None),
    ({"cachePoint": {"type": "default", "ttl": "1h"}}, None),
    ({"image": {**PNG, "detail": "high", "error": {"message": "m"}}, "id": 1}, {"image": PNG}),
    ({"image": {"format": "png", "source": {"bytes": "AAE=", "url": "u"}}}, {"image": PNG}),
    ({"document": {**PDF, "name": "a_b.pdf"}}, {"document": {**PDF, "name": "a b pdf"}}),
    ({"document": {**PDF, "context": None}}, {"document": PDF}),
    ({"document": {"format": "txt", "name": "d", "source": {"text": " "}}}, None),
    ({"toolUse": {**USE, "type": "server_tool_use"}}, {"toolUse": USE}),
    ({"toolResult": {**RESULT, "type": "x"}}, {"toolResult": RESULT}),
    (
        {"toolResult": {"toolUseId": "t", "status": None, "content": [{"foo": 1}, {"type": "text", "text": "x"}]}},
        {"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}},
    ),
    (
        {"toolResult": {"toolUseId": "t", "content": [{"json": [1, "ü"]}, {"json": None}, {"json": 0}]}},
        {"toolResult": {"toolUseId": "t", "content": [{"text": '[1,"ü"]'}, {"text": "0"}]}},
    ),
    ({"citationsContent": {"content": [{"text": "a"}, {"text": " b"}], "citations": [{}]}}, {"text": "a b"}),
    ({"citationsContent": {"content": []}}, None),
]

BAD: list[tuple[Any, str, dict[str, Any] | None]] = [
    # a block, the field that is named, and what is sent where it was stored all the same
    ({"text": 5}, ".text", None),
    ({"text": "x", "image": None}, "", {"text": "x"}),
    ({"text": "x", "image": PNG}, "", None),
    ({"image": None}, ".image", None),
    ({"image": {"format": "png", "source": {"url": "u"}}}, ".image.source", None),
    ({"image": {"format": "png", "source": {**PNG["source"], **MP4["source"]}}}, ".image.source", None),  # type: ignore[dict-item]
    ({"image": {**PNG, "format": "jpg"}}, ".image.format", None),
    ({"image": {**PNG, "format": "png\n"}}, ".image.format", None),
    ({"image": {**PNG, "source": {"bytes": ""}}}, ".image.source.bytes", None),
    ({"image": {**PNG, "source": {"bytes": "AA"}}}, ".image.source.bytes", None),
    ({"image": {**PNG, "source": {"bytes": 5}}}, ".image.source.bytes", None),
    ({"image": {**PNG, "source": {"text": "x"}}}, ".image.source", None),
    (
        {"document": {"format": "pdf", "source": PDF["source"]}},
        ".document.name",
        {"document": {**PDF, "name": "Document"}},
    ),
    ({"document": {**PDF, "name": 7}}, ".document.name", {"document": {**PDF, "name": "Document"}}),
    ({"document": {**PDF, "name": ""}}, ".document.name", {"document": {**PDF, "name": "Document"}}),
    ({"document": {**PDF, "format": "rtf"}}, ".document.format", None),
    ({"document": {**PDF, "context": 7}}, ".document.context", {"document": PDF}),
    ({"document": {**PDF, "citations": {}}}, ".document.citations.enabled", {"document": PDF}),
    ({"document": {**PDF, "source": {"content": [{"x": 1}]}}}, ".document.source.content[0]", None),
    ({"video": {"format": "mp4", "source": {"s3Location": {}}}}, ".video.source.s3Location.uri", None),
    (
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "https://x"}}}},
        ".video.source.s3Location.uri",
        None,
    ),
    ({"video": {**MP4, "format": "avi"}}, ".video.format", None),
    ({"toolUse": {**USE, "input": "{}"}}, ".toolUse.input", None),
    ({"toolUse": {**USE, "input": [1]}}, ".toolUse.input", None),
    ({"toolUse": {**USE, "name": "a b"}}, ".toolUse.name", None),
    ({"toolUse": {**USE, "toolUseId": "t" * 65}}, ".toolUse.toolUseId", None),
    ({"toolUse": {**USE, "toolUseId": "t u"}}, ".toolUse.toolUseId", None),
    ({"toolResult": {**RESULT, "status": "ok"}}, ".toolResult.status", {"toolResult": {**RESULT, "status": None}}),
    ({"toolResult": {**RESULT, "content": "x"}}, ".toolResult.content", None),
    (
        {"toolResult": {"toolUseId": "t", "content": [{}]}},
        ".toolResult.content[0]",
        {"toolResult": {"toolUseId": "t", "content": []}},
    ),
    (
        {"toolResult": {"toolUseId": "t", "content": [{"toolResult": RESULT}]}},
        ".toolResult.content[0].toolResult",
        {"toolResult": {"toolUseId": "t", "content": []}},
    ),
    (
        {"toolResult": {"toolUseId": "t", "content": [{"text": "x", "json": {}}, {"text": None}]}},
        ".toolResult.content[0]",
        {"toolResult": {"toolUseId": "t", "content": []}},
    ),
    ({"reasoningContent": {}}, ".reasoningContent", None),
    ({"reasoningContent": {"redactedContent": "!"}}, ".reasoningContent.redactedContent", None),
    (
        {"reasoningContent": {"reasoningText": {"signature": "s"}}},
        ".reasoningContent.reasoningText.text",
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}},
    ),
    ({"reasoningContent": {"reasoningText": "x"}}, ".reasoningContent.reasoningText", None),
    ({"guardContent": {}}, ".guardContent", None),
    ({"guardContent": "x"}, ".guardContent", None),
    ({"guardContent": {"text": "x"}}, ".guardContent.text", None),
    ({"guardContent": {"image": {**PNG, "format": "gif"}}}, ".guardContent.image.format", None),
    ({"cachePoint": {}}, ".cachePoint.type", None),
    ({"cachePoint": {"type": "default", "ttl": "2h"}}, ".cachePoint.ttl", None),
    ({"citationsContent": {"content": [5]}}, ".citationsContent.content[0]", None),
]


def _documented(block: Any) -> bool:
    body = operation("POST", "/conversations/{conversationId}/messages").body
    assert body is not None
    return body.is_valid({"role": "user", "content": [block, {"text": "x"}]})


@pytest.mark.parametrize("block", WHOLE, ids=str)
def test_what_converse_takes_is_stored_and_sent_whole(block: dict[str, Any]) -> None:
    assert check_content([block]) == [block]
    assert sendable(block) == block
    assert _documented(block)


@pytest.mark.parametrize(("block", "sent"), OTHERS, ids=lambda value: str(value)[:60])
def test_what_is_not_known_is_stored_as_it_is_and_not_sent(block: dict[str, Any], sent: dict[str, Any] | None) -> None:
    assert check_content([block, {"text": "x"}])[0] is block
    assert sendable(block) == sent
    assert _documented(block)


@pytest.mark.parametrize(("block", "field", "sent"), BAD, ids=lambda value: str(value)[:60])
def test_what_is_malformed_is_refused_by_name_and_never_sent(
    block: dict[str, Any], field: str, sent: dict[str, Any] | None
) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        check_content([{"text": "x"}, block])

    assert raised.value.field == f"content[1]{field}"
    assert not _documented(block)
    if sent and "toolResult" in sent:
        sent = {"toolResult": {name: member for name, member in sent["toolResult"].items() if member is not None}}
    assert sendable(block) == sent


def test_old_data_is_not_sent_what_json_does_not_know() -> None:
    deep: Any = 1
    for _ in range(101):
        deep = [deep]
    for value in (float("nan"), float("inf"), 10**400, "\ud800", deep):
        assert sendable({"toolUse": {**USE, "input": {"a": value}}}) is None
        assert sendable({"toolResult": {**RESULT, "content": [{"json": value}]}}) == {
            "toolResult": {**RESULT, "content": []}
        }


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("a-b (1) [x]", "a-b (1) [x]"),
        ("report_v1.2.pdf", "report v1 2 pdf"),
        (" a \t\u3000 b ", "a b"),
        ("資料", "Document"),
        ("...", "Document"),
        ("x" * 199 + " yy", "x" * 199),
    ],
)
def test_names_of_documents_are_as_converse_wants_them(name: str, accepted: str) -> None:
    assert document_name(name) == accepted == document_name(accepted)
