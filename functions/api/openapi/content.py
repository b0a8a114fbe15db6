"""Schemas of what the Converse API shapes: content blocks and tools.

They are open. What Converse may add later is stored as it comes, so they say no more than ``conversations.content`` and
``conversations.tools`` check.
"""

from typing import Any

from conversations.content import KNOWN_KINDS, MEDIA_KINDS

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_ANY_OBJECT = {"type": "object"}
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


def schema_ref(name: str) -> dict[str, Any]:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


_KINDS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(KNOWN_KINDS, _ANY_OBJECT),
    "text": _TEXT,
    **dict.fromkeys(MEDIA_KINDS, schema_ref("Media")),
    "toolUse": schema_ref("ToolUse"),
    "toolResult": schema_ref("ToolResult"),
}

CONTENT_SCHEMAS: dict[str, dict[str, Any]] = {
    "ContentBlock": {
        "type": "object",
        "description": "A content block of the Converse API: one member tells its kind. Unknown kinds are kept as they "
        "are, but a block is of one known kind at most.",
        "minProperties": 1,
        "properties": {kind: _KINDS[kind] for kind in sorted(_KINDS)},
        "oneOf": [
            *({"required": [kind]} for kind in sorted(_KINDS)),
            {"not": {"anyOf": [{"required": [kind]} for kind in sorted(_KINDS)]}},
        ],
    },
    "Media": {
        "type": "object",
        "description": "An image, a document or a video.",
        "required": ["format", "source"],
        "properties": {
            "format": {**_NAME, "examples": ["png", "pdf", "mp4"]},
            "source": {
                "type": "object",
                "minProperties": 1,
                "properties": {"bytes": {"type": "string", "contentEncoding": "base64", "pattern": _BASE64}},
            },
        },
    },
    "ToolUse": {
        "type": "object",
        "description": "The model asks for a tool to be used.",
        "required": ["toolUseId", "name", "input"],
        "properties": {"toolUseId": _NAME, "name": _NAME, "input": {"description": "Any JSON."}},
    },
    "ToolResult": {
        "type": "object",
        "description": "What a tool that the model asked for has come to.",
        "required": ["toolUseId", "content"],
        "properties": {
            "toolUseId": _NAME,
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"text": _TEXT, **dict.fromkeys(MEDIA_KINDS, schema_ref("Media"))},
                },
            },
        },
    },
    "ToolConfiguration": {
        "type": "object",
        "description": "The tools that the model may ask for, each of a name of its own.",
        "required": ["tools"],
        "properties": {"tools": {"type": "array", "minItems": 1, "items": schema_ref("Tool")}},
    },
    "Tool": {
        "type": "object",
        "required": ["toolSpec"],
        "properties": {
            "toolSpec": {
                "type": "object",
                "required": ["name", "inputSchema"],
                "properties": {
                    "name": _NAME,
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
