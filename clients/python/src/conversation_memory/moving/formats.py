"""How conversations are written down: JSON Lines, which hold everything and are read again, and Markdown for people.

JSON Lines, ``conversation-memory/1``: each line is an object with one member that says what it is.

====================  ==================================================================================
``format``            the first line: ``"conversation-memory/1"``
``conversation``      as the API shows it; the messages up to the next one are its
``message``           as the API shows it, oldest first
``trace``             with ``--traces``, behind the messages: ``id``, ``parentId``, ``number``, and what it holds
``broken``            behind a conversation: it was cleared or deleted while it was read; its lines do not count
``end``               the last line: how many ``conversations`` and ``messages`` there are
====================  ==================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from conversation_memory.types import Conversation, Message

FORMAT = "conversation-memory/1"
NOTHING: Mapping[str, Any] = {"empty": {}}
"""The only block of a message that holds none: such are written over OpenSearch's API, and stored so when moved."""


class Format(Protocol):
    """Writes conversations, each followed by its messages."""

    def begin(self) -> str: ...
    def conversation(self, conversation: Conversation) -> str: ...
    def message(self, message: Message) -> str: ...
    def trace(self, trace: Mapping[str, Any]) -> str: ...
    def broken(self, reason: str) -> str: ...
    def end(self, conversations: int, messages: int) -> str: ...


class JsonLines:
    """Everything, to be read by programs and moved in again."""

    def begin(self) -> str:
        return _line(format=FORMAT)

    def conversation(self, conversation: Conversation) -> str:
        return _line(conversation=conversation)

    def message(self, message: Message) -> str:
        content = [] if message["content"] == [NOTHING] else message["content"]
        return _line(message={**message, "content": content})

    def trace(self, trace: Mapping[str, Any]) -> str:
        return _line(trace=trace)

    def broken(self, reason: str) -> str:
        return _line(broken=reason)

    def end(self, conversations: int, messages: int) -> str:
        return _line(end={"conversations": conversations, "messages": messages})


class Markdown:
    """What was said, to be read by people. Images and documents are noted, not shown."""

    def begin(self) -> str:
        return ""

    def conversation(self, conversation: Conversation) -> str:
        title = _on_one_line(conversation["name"] or conversation.get("sessionId") or conversation["id"])
        about = [f"- Conversation `{conversation['id']}` of {_on_one_line(conversation['owner'])}"]
        if "sessionId" in conversation:
            about.append(f"- Session: {_on_one_line(conversation['sessionId'])}")
        about.append(f"- From {conversation['createdAt'][:19]}Z to {conversation['updatedAt'][:19]}Z")
        return "\n".join([f"# {title}", "", *about, "\n"])

    def message(self, message: Message) -> str:
        model = f" · {message['modelId']}" if "modelId" in message else ""
        head = f"## {message['role'].capitalize()} · {message['createdAt'][:19]}Z{model}"
        told = [part for block in message["content"] for part in _block(block)]
        told += [part for call in message.get("toolCalls", []) for part in _call_and_result(call)]
        if message.get("unreadable"):
            told.append("*(The stored content is gone.)*")
        return "\n\n".join([head, *(told or ["*(Nothing.)*"])]) + "\n\n"

    def trace(self, trace: Mapping[str, Any]) -> str:
        return ""

    def broken(self, reason: str) -> str:
        return f"*({reason})*\n\n"

    def end(self, conversations: int, messages: int) -> str:
        return ""


def _line(**member: Any) -> str:
    return json.dumps(member, ensure_ascii=False, separators=(",", ":")) + "\n"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(block.get("text"), str):
        if block["text"].strip():
            yield block["text"]
    elif "toolUse" in block:
        yield from _call(block["toolUse"])
    elif "toolResult" in block:
        yield from _result(block["toolResult"])
    elif "reasoningContent" in block:
        said = block["reasoningContent"].get("reasoningText", {}).get("text", "")
        yield "\n".join(f"> {line}".rstrip() for line in (said or "(Reasoning that is not shown.)").split("\n"))
    elif "json" in block:
        yield _fenced(json.dumps(block["json"], ensure_ascii=False, indent=2), "json")
    else:
        yield from (_note(kind, held) for kind, held in block.items() if kind in _MEDIA)


_MEDIA = ("image", "document", "video")


def _note(kind: str, held: Mapping[str, Any]) -> str:
    source = held.get("source", {})
    size = f", {len(source['bytes']) * 3 // 4:,} bytes" if isinstance(source.get("bytes"), str) else ""
    named = f" {_on_one_line(str(held['name']))}," if "name" in held else ""
    return f"*({kind.capitalize()}:{named} {held.get('format')}{size})*"


def _call_and_result(call: Mapping[str, Any]) -> Iterator[str]:
    yield from _call(call)
    yield from _result(call)


def _call(use: Mapping[str, Any]) -> Iterator[str]:
    yield f"**Calls `{use.get('name')}`** (`{use.get('toolUseId')}`)"
    yield _fenced(json.dumps(use.get("input"), ensure_ascii=False, indent=2), "json")


def _result(result: Mapping[str, Any]) -> Iterator[str]:
    failed = " (an error)" if result.get("status") == "error" else ""
    yield f"**Result of `{result.get('toolUseId')}`**{failed}"
    content: Sequence[Mapping[str, Any]] = result.get("content", [])
    for part in content:
        if isinstance(part.get("text"), str):
            yield _fenced(part["text"], "")
        else:
            yield from _block(part)


def _fenced(text: str, language: str) -> str:
    """The text between fences that do not stand in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
