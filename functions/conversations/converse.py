"""What the Converse API takes: the shapes of its content blocks, and the part of a stored block that a model is sent.

After the pages ``ContentBlock``, ``ImageBlock``, ``DocumentBlock``, ``VideoBlock``, ``ToolUseBlock``,
``ToolResultBlock``, ``ReasoningContentBlock``, ``GuardrailConverseContentBlock``, ``CitationsContentBlock`` and
``CachePointBlock`` of the Amazon Bedrock API Reference, and botocore's model of the service, which refuses a member
that it does not know. What those say of a request as a whole is in ``conversations.attachments``.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from conversations import shapes
from conversations.model import Block
from conversations.shapes import Complaints, Shape, kind_of, list_of, object_of, one_of, text_like

IMAGE_FORMATS = ("png", "jpeg", "gif", "webp")
DOCUMENT_FORMATS = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
VIDEO_FORMATS = ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")
GUARDED_IMAGE_FORMATS = ("png", "jpeg")
GUARD_QUALIFIERS = ("grounding_source", "query", "guard_content")
STATUSES = ("success", "error")
CACHE_TTLS = ("5m", "1h")
S3_URI = r"s3://[a-z0-9][.a-z0-9-]{1,61}[a-z0-9](/.*)?"
LONGEST_S3_URI = 1024
ACCOUNT_ID = r"[0-9]{12}"
TOOL_USE_ID = r"[a-zA-Z0-9_.:-]{1,64}"
TOOL_NAME = r"[a-zA-Z0-9_-]{1,64}"
LONGEST_DOCUMENT_NAME = 200
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_NAMELESS = "Document"


def document_name(name: str) -> str:
    """A name as ``DocumentBlock`` wants it: letters, digits, hyphens, parentheses, square brackets, single spaces.

    The service takes no other white space than that of ASCII, whatever the page says.
    """
    return _NOT_IN_A_NAME.sub(" ", name).strip()[:LONGEST_DOCUMENT_NAME].rstrip() or _NAMELESS


def _name_of_document(value: object, field: str, complaints: Complaints) -> str:
    if not isinstance(value, str) or not value:
        complaints.append((field, "must be a string that is not empty"))
        return _NAMELESS
    return document_name(value)


def _text_of_reasoning(value: object, field: str, complaints: Complaints) -> str | None:
    """Required, but some models sign their reasoning without showing it: that was stored without text once."""
    known = shapes.text(value, field, complaints)
    return "" if value is None else known


def _s3_uri(value: object, field: str, complaints: Complaints) -> str | None:
    if isinstance(value, str) and len(value) <= LONGEST_S3_URI:
        return _any_s3_uri(value, field, complaints)  # type: ignore[no-any-return]
    complaints.append((field, f"must be an S3 URI of {LONGEST_S3_URI} characters at most"))
    return None


_any_s3_uri = text_like(S3_URI, "an S3 URI")
_VISIBLE_TEXTS = list_of(kind_of({"text": shapes.visible_text}))
_TOOL_USE_ID = text_like(TOOL_USE_ID, "1 to 64 of A-Z, a-z, 0-9, _, ., : and -")
_S3_LOCATION = object_of({"uri": _s3_uri}, {"bucketOwner": text_like(ACCOUNT_ID, "an account id of 12 digits")})
_SOURCES: dict[str, Shape] = {"bytes": shapes.base64, "s3Location": _S3_LOCATION}


def _some_texts(value: object, field: str, complaints: Complaints) -> list[Any] | None:
    return _VISIBLE_TEXTS(value, field, complaints) or None


_IMAGE = object_of({"format": one_of(*IMAGE_FORMATS), "source": kind_of(_SOURCES)})
_VIDEO = object_of({"format": one_of(*VIDEO_FORMATS), "source": kind_of(_SOURCES)})
_DOCUMENT = object_of(
    {
        "format": one_of(*DOCUMENT_FORMATS),
        "name": _name_of_document,
        "source": kind_of({**_SOURCES, "text": shapes.visible_text, "content": _some_texts}),
    },
    {"context": shapes.visible_text, "citations": object_of({"enabled": shapes.truth})},
)
_MEDIA: dict[str, Shape] = {"image": _IMAGE, "document": _DOCUMENT, "video": _VIDEO}
_SEARCH_RESULT = object_of(
    {"source": shapes.text, "title": shapes.text, "content": list_of(object_of({"text": shapes.text}))},
    {"citations": object_of({"enabled": shapes.truth})},
)
_IN_TOOL_RESULTS: dict[str, Shape] = {
    "text": shapes.text,
    "json": shapes.json_value,
    "searchResult": _SEARCH_RESULT,
    **_MEDIA,
}
_GUARDED: dict[str, Shape] = {
    "text": object_of({"text": shapes.visible_text}, {"qualifiers": list_of(one_of(*GUARD_QUALIFIERS))}),
    "image": object_of({"format": one_of(*GUARDED_IMAGE_FORMATS), "source": kind_of({"bytes": shapes.base64})}),
}
_ELSEWHERE: dict[str, Shape] = {
    "toolUse": object_of(
        {
            "toolUseId": _TOOL_USE_ID,
            "name": text_like(TOOL_NAME, "1 to 64 of A-Z, a-z, 0-9, _ and -"),
            "input": shapes.json_object,
        }
    ),
    "reasoningContent": kind_of(
        {
            "reasoningText": object_of({"text": _text_of_reasoning}, {"signature": shapes.text}),
            "redactedContent": shapes.base64,
        }
    ),
    "guardContent": kind_of(_GUARDED),
    "cachePoint": object_of({"type": one_of("default")}, {"ttl": one_of(*CACHE_TTLS)}),
    "citationsContent": object_of({"content": list_of(kind_of({"text": shapes.text}))}),
}
_TOOL_RESULT = object_of(
    {
        "toolUseId": _TOOL_USE_ID,
        "content": list_of(kind_of(_IN_TOOL_RESULTS, misplaced=("toolResult", *_ELSEWHERE), is_open=True)),
    },
    {"status": one_of(*STATUSES)},
)
KINDS: dict[str, Shape] = {"text": shapes.text, "toolResult": _TOOL_RESULT, **_MEDIA, **_ELSEWHERE}
"""The kinds of content blocks that are known, each with its shape."""

block_shape = kind_of(KINDS, is_open=True)


def sendable(block: Block) -> Block | None:
    """What a model is sent of a stored block: the members that Converse knows; ``None`` if it would refuse the rest."""
    if len(block) == 1 and "text" in block:  # nearly all are: this is the way of every message read
        text = block["text"]
        return block if isinstance(text, str) and text and not text.isspace() else None
    taken = block_shape(block, "", [])
    if taken is None or "cachePoint" in taken:  # changes no answer, and is refused by models without a cache
        return None
    if "text" in taken:
        return sendable(taken)
    if "citationsContent" in taken:
        return _cited_text(taken["citationsContent"])
    if "toolResult" in taken:
        return {"toolResult": _told(taken["toolResult"])}
    return taken  # type: ignore[no-any-return]


def _cited_text(cited: Mapping[str, Any]) -> Block | None:
    """The text alone: citations count the documents of their request, and those are others later."""
    return sendable({"text": "".join(part["text"] for part in cited["content"])})


def _told(result: Mapping[str, Any]) -> dict[str, Any]:
    """A tool result in which JSON that is no object is text: ``ToolResultContentBlock`` takes objects only."""
    return {**result, "content": [_told_part(part) for part in result["content"]]}


def _told_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    value = part.get("json")
    if "json" not in part or isinstance(value, dict):
        return part
    return {"text": json.dumps(value, ensure_ascii=False, separators=(",", ":"))}
