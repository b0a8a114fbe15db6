"""Short ways to write messages, and what Converse demands of a list of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conversations.model import Message, Role

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent.parent / "vectors" / "history.json").read_text())


def message(message_id: str, role: Role, content: Sequence[Mapping[str, Any]], **fields: Any) -> Message:
    """A message whose place in a chain does not matter."""
    return Message(message_id, "c", role, content, "2026-01-01T00:00:00.000000000Z", 1, **fields)


def said(text: str) -> list[dict[str, Any]]:
    return [{"text": text}]


def tool_use(tool_use_id: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": tool_use_id, "name": f"tool_{tool_use_id}", "input": {}}}


def tool_result(tool_use_id: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": tool_use_id, "status": "success", "content": [{"text": "r"}]}}


def complaints(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """What Converse would refuse in a list of messages; empty when it is valid."""
    listed = list(messages)
    found = []
    if not listed or listed[0]["role"] != "user" or listed[-1]["role"] != "user":
        found.append("does not start and end with the user")
    before: Mapping[str, Any] = {"role": "", "content": []}
    for entry in [*listed, {"role": "", "content": []}]:
        if entry["role"] == before["role"]:
            found.append("does not alternate")
        results = _ids(entry, "toolResult") if entry["role"] == "user" else []
        uses = _ids(before, "toolUse") if before["role"] == "assistant" else []
        if sorted(results) != sorted(uses):
            found.append(f"tool results {results} after tool uses {uses}")
        before = entry
    for entry in listed:
        found += _misplaced(entry)
    return found


def _ids(entry: Mapping[str, Any], kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in entry["content"] if kind in block]


def _misplaced(entry: Mapping[str, Any]) -> list[str]:
    found = [] if entry["content"] else ["an empty message"]
    for block in entry["content"]:
        if "text" in block and not block["text"].strip():
            found.append("blank text")
        if entry["role"] == "user" and "toolUse" in block:
            found.append("a tool use of the user")
        if entry["role"] == "assistant" and ("toolResult" in block or "image" in block):
            found.append("a tool result or an image of the assistant")
    return found
