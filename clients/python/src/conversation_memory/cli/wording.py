"""Messages in words: what a person reads of them in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click

from conversation_memory.cli.harmless import harmless, on_one_line
from conversation_memory.types import Message

_LONGEST_INPUT = 200


def at(time: str) -> str:
    """A time of the API, to the second and still in UTC."""
    return time[:19].replace("T", " ")


def message_text(message: Message) -> str:
    """A message under a heading, with an empty line after it."""
    heading = f"{message['role']}  {at(message['createdAt'])}  {message['id']}"
    return f"{click.style(harmless(heading), bold=True)}\n{body_text(message)}\n"


def body_text(message: Message) -> str:
    """What was said, and what else there is, in square brackets."""
    if message.get("unreadable"):
        return "[what it held is gone]"
    parts = [_block(block) for block in message["content"]]
    return "\n".join([*parts, *tool_lines(message.get("toolCalls", ()))])


def tool_lines(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tools that the service called for an answer."""
    return [f"[used {on_one_line(str(call.get('name')))}: {on_one_line(str(call.get('status')))}]" for call in calls]


def uses_of(message: Message) -> list[str]:
    """The tools of the client's own that an answer asks for."""
    return [_tool_use(block["toolUse"]) for block in message["content"] if "toolUse" in block]


def _block(block: Mapping[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return harmless(block["text"])
    kind = next(iter(block), "nothing")
    value = block.get(kind)
    value = value if isinstance(value, Mapping) else {}
    if kind == "toolUse":
        return _tool_use(value)
    if kind == "toolResult":
        return _tool_result(value)
    about = " ".join(str(value[name]) for name in ("name", "format") if name in value)
    return f"[{on_one_line(f'{kind} {about}'.strip())}]"


def _tool_use(use: Mapping[str, Any]) -> str:
    given = json.dumps(use.get("input"), ensure_ascii=False)
    shown = given if len(given) <= _LONGEST_INPUT else given[:_LONGEST_INPUT] + "…"
    return f"[asks for the tool {on_one_line(str(use.get('name')))} {on_one_line(shown)}]"


def _tool_result(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    texts = [str(part.get("text", part)) for part in content] if isinstance(content, list) else []
    return f"[result of a tool: {on_one_line(' '.join(texts))}]"
