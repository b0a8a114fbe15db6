"""Schemas of what the Converse API shapes: content blocks and tools.

They are open. What Converse may add later is stored as it comes, so they say no more than ``conversations.content`` and
``conversations.tools`` check.
"""

from typing import Any

from conversations.content import MEDIA_KINDS
from conversations.converse import (
    ACCOUNT_ID,
    CACHE_TTLS,
    DOCUMENT_FORMATS,
    GUARD_QUALIFIERS,
    GUARDED_IMAGE_FORMATS,
    IMAGE_FORMATS,
    KINDS,
    LONGEST_S3_URI,
    S3_URI,
    STATUSES,
    TOOL_NAME,
    TOOL_USE_ID,
    VIDEO_FORMATS,
)

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_TOOL_NAME = {"type": "string", "pattern": f"^{TOOL_NAME}$"}
_TOOL_USE_ID = {"type": "string", "pattern": f"^{TOOL_USE_ID}$"}
_BASE64 = {
    "type": "string",
    "contentEncoding": "base64",
    "minLength": 4,
    "pattern": r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}
_S3_LOCATION = {
    "type": "object",
    "required": ["uri"],
    "properties": {
        "uri": {"type": "string", "maxLength": LONGEST_S3_URI, "pattern": f"^{S3_URI}$"},
        "bucketOwner": {"type": ["string", "null"], "pattern": f"^{ACCOUNT_ID}$"},
    },
}
_TEXTS = {"type": "array", "items": {"type": "object", "required": ["text"], "properties": {"text": _TEXT}}}
_CITATIONS = {"type": ["object", "null"], "required": ["enabled"], "properties": {"enabled": {"type": "boolean"}}}


def schema_ref(name: str) -> dict[str, Any]:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _one_of(kinds: dict[str, Any], *, is_open: bool = False) -> dict[str, Any]:
    """An object that holds exactly one of these members; if it is open, it may hold none of them."""
    each = [{"required": [kind]} for kind in kinds]
    none = [{"not": {"anyOf": each}}] if is_open else []
    return {"type": "object", "minProperties": 1, "properties": kinds, "oneOf": [*each, *none]}


def _media(formats: tuple[str, ...], sources: dict[str, Any], **required: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["format", "source", *required],
        "properties": {"format": {"enum": list(formats)}, "source": _one_of(sources), **required},
    }


_SOURCES = {"bytes": _BASE64, "s3Location": _S3_LOCATION}
_DOCUMENT = _media(DOCUMENT_FORMATS, {**_SOURCES, "text": _TEXT, "content": _TEXTS}, name=_NAME)
_DOCUMENT["properties"] |= {"context": {"type": ["string", "null"]}, "citations": _CITATIONS}
_MEDIA_SCHEMAS = {
    "image": _media(IMAGE_FORMATS, _SOURCES),
    "document": _DOCUMENT,
    "video": _media(VIDEO_FORMATS, _SOURCES),
}
_MEDIA = {kind: schema_ref(f"{kind.capitalize()}Block") for kind in MEDIA_KINDS}
_REASONING = _one_of(
    {
        "reasoningText": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": _TEXT, "signature": {"type": ["string", "null"]}},
        },
        "redactedContent": _BASE64,
    }
)
_GUARDED = _one_of(
    {
        "text": {
            "type": "object",
            "required": ["text"],
            "properties": {
                "text": _TEXT,
                "qualifiers": {"type": ["array", "null"], "items": {"enum": list(GUARD_QUALIFIERS)}},
            },
        },
        "image": _media(GUARDED_IMAGE_FORMATS, {"bytes": _BASE64}),
    }
)
_SEARCH_RESULT = {
    "type": "object",
    "required": ["source", "title", "content"],
    "properties": {"source": _TEXT, "title": _TEXT, "content": _TEXTS, "citations": _CITATIONS},
}
_ELSEWHERE: dict[str, Any] = {
    "toolUse": schema_ref("ToolUse"),
    "reasoningContent": _REASONING,
    "guardContent": _GUARDED,
    "citationsContent": {"type": "object", "required": ["content"], "properties": {"content": _TEXTS}},
    "cachePoint": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"const": "default"}, "ttl": {"enum": [*CACHE_TTLS, None]}},
    },
}
_BLOCKS: dict[str, Any] = {"text": _TEXT, "toolResult": schema_ref("ToolResult"), **_MEDIA, **_ELSEWHERE}
assert set(_BLOCKS) == set(KINDS)
_PART = _one_of(
    {"text": _TEXT, "json": {"description": "Any JSON."}, "searchResult": _SEARCH_RESULT, **_MEDIA}, is_open=True
)
_PART["properties"] |= dict.fromkeys(("toolResult", *_ELSEWHERE), False)

CONTENT_SCHEMAS: dict[str, dict[str, Any]] = {
    "ContentBlock": {
        "description": "A content block of the Converse API: one member tells its kind. Unknown kinds and members are "
        "kept as they are, and not sent to a model; but a block is of one known kind at most.",
        **_one_of(_BLOCKS, is_open=True),
    },
    **{f"{kind.capitalize()}Block": schema for kind, schema in _MEDIA_SCHEMAS.items()},
    "ToolUse": {
        "type": "object",
        "description": "The model asks for a tool to be used.",
        "required": ["toolUseId", "name", "input"],
        "properties": {"toolUseId": _TOOL_USE_ID, "name": _TOOL_NAME, "input": {"type": "object"}},
    },
    "ToolResult": {
        "type": "object",
        "description": "What a tool that the model asked for has come to.",
        "required": ["toolUseId", "content"],
        "properties": {
            "toolUseId": _TOOL_USE_ID,
            "content": {"type": "array", "items": _PART},
            "status": {"enum": [*STATUSES, None]},
        },
    },
    "ToolCall": {
        "type": "object",
        "description": "A use of a tool that the service called itself. Those of one round were asked for in one "
        "message of the model, which ends before the block of the answer's content with that index.",
        "required": ["toolUseId", "name", "input", "status", "content", "round", "contentIndex"],
        "properties": {
            "toolUseId": {"type": "string"},
            "name": {"type": "string"},
            "input": {"type": "object"},
            "status": {"enum": list(STATUSES)},
            "content": {"type": "array", "items": _PART},
            "round": {"type": "integer", "minimum": 1},
            "contentIndex": {"type": "integer", "minimum": 0},
        },
        "additionalProperties": False,
    },
    "ToolConfiguration": {
        "type": "object",
        "description": "The tools that the model may ask for, each of a name of its own.",
        "required": ["tools"],
        "properties": {
            "tools": {"type": "array", "minItems": 1, "items": schema_ref("Tool")},
            "toolChoice": {
                **_one_of(
                    {
                        "auto": {"type": "object"},
                        "any": {"type": "object"},
                        "tool": {"type": "object", "required": ["name"], "properties": {"name": _TOOL_NAME}},
                    }
                ),
                "type": ["object", "null"],
            },
        },
    },
    "Tool": {
        "type": "object",
        "required": ["toolSpec"],
        "properties": {
            "toolSpec": {
                "type": "object",
                "required": ["name", "inputSchema"],
                "properties": {
                    "name": _TOOL_NAME,
                    "description": {"type": ["string", "null"], "minLength": 1},
                    "strict": {"type": ["boolean", "null"]},
                    "inputSchema": {
                        "type": "object",
                        "required": ["json"],
                        "properties": {"json": {"type": "object", "description": "A JSON Schema."}},
                    },
                },
            },
        },
    },
}
