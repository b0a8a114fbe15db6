"""LangChain's messages as ours: content blocks that every route and every model understands, and beside them the rest,
so that the message comes back equal by type and value.

The rest stands as the member ``langchain`` of a block: models are never sent it, and what replaces the block replaces
it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message
from langchain_core.messages.ai import AIMessage
from langchain_core.messages.tool import ToolMessage

from conversation_memory import converse, values
from conversation_memory.errors import UnstorableError
from conversation_memory.types import NewMessage, Role

MEMBER = "langchain"
_ROLES: Mapping[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "user",
}
_ROLES_OF_CHAT: Mapping[str, Role] = {
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
}
_REMOVE = "remove"


def written(messages: Iterable[BaseMessage]) -> list[NewMessage]:
    """The messages as they are stored; chunks of one message become that message.

    Raises:
        UnstorableError: something in them could not be given back as it is.
    """
    return [_written(message, place) for place, message in enumerate(_without_chunks(messages))]


def _without_chunks(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    merged: list[BaseMessage] = []
    for message in messages:
        before = merged[-1] if merged else None
        if isinstance(message, BaseMessageChunk) and before is not None and _goes_on(before, message):
            merged[-1] = before + message
        else:
            merged.append(message)
    return [message_chunk_to_message(message) for message in merged]


def _goes_on(before: BaseMessage, message: BaseMessage) -> bool:
    """Whether both are chunks of one message of a model."""
    return type(before) is type(message) and message.type == "AIMessageChunk" and before.id == message.id


def _written(message: BaseMessage, place: int) -> NewMessage:
    where = f"messages[{place}]"
    role = _role(message)
    if role is None:
        raise UnstorableError(f"{where} is a {type(message).__name__}, which could not be given back as it is")
    blocks = _blocks(message, where)
    rest = values.encode(_fields(message), where=where, blocks=blocks)
    return {"role": role, "content": converse.carrying(blocks, MEMBER, {"type": message.type, "data": rest})}


def _role(message: BaseMessage) -> Role | None:
    if message.type == "chat":
        return _ROLES_OF_CHAT.get(str(getattr(message, "role", "")).lower(), "user")
    return "system" if message.type == _REMOVE else _ROLES.get(message.type)


def _fields(message: BaseMessage) -> dict[str, Any]:
    """What was given beyond the defaults, the members of the caller's own included."""
    known = type(message).model_fields
    given = {
        name: value
        for name, value in message.__dict__.items()
        if name != "type" and (name not in known or value != known[name].get_default(call_default_factory=True))
    }
    return {**given, **(message.__pydantic_extra__ or {})}


# The content blocks


def _blocks(message: BaseMessage, where: str) -> list[dict[str, Any]]:
    if message.type == _REMOVE:
        return []
    shown = _parts(message)
    if isinstance(message, ToolMessage):
        return [converse.tool_result(message.tool_call_id, shown, is_error=message.status == "error")]
    if isinstance(message, AIMessage):
        texts = [block for block in shown if "text" in block]
        return [*texts, *(_tool_use(call, where) for call in message.tool_calls)]
    return shown


def _tool_use(call: Mapping[str, Any], where: str) -> dict[str, Any]:
    arguments = values.encode(call["args"], where=f"{where}.tool_calls")
    return converse.tool_use(call["id"] or "", call["name"], arguments)


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    """What of the content a model can be shown: text, images and documents."""
    if isinstance(message.content, str):
        return converse.text(message.content)
    return [block for part in _standard(message) for block in _part(part)]


def _standard(message: BaseMessage) -> Sequence[Any]:
    """The parts of the content as LangChain's standard says them, whichever provider's they are; as they stand, if it
    cannot.
    """
    parts: Sequence[Any] = message.content
    with suppress(ValueError, TypeError, LookupError, AttributeError):
        parts = message.content_blocks
    return parts


def _part(part: Any) -> list[dict[str, Any]]:
    if isinstance(part, str):
        return converse.text(part)
    if not isinstance(part, Mapping):
        return []
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return converse.text(part["text"])
    if part.get("type") in ("image", "file"):
        extras = part.get("extras") or {}
        return converse.media(part.get("mime_type"), part.get("base64"), extras.get("filename") or extras.get("name"))
    return []
