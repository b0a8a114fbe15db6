"""Messages as AppSync's answers hold them, made the domain's: one way, whichever query they come from.

Members that have no value are ``null``, and what is ``AWSJSON`` in the schema is JSON as text. Clients that encode
twice are common; a tool's input and ``aiContext`` are decoded until they are what they must be.
"""

import json
from collections.abc import Mapping
from typing import Any

from conversations.content import TOOL_RESULT, TOOL_USE
from conversations.model import Block, Message, Role

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_NO_TIME = ""  # the order of a list is its own


def message_of(item: object, place: int) -> Message | None:
    """The message of an item at that place in its list; ``None`` if there is none in it that a model could be sent.

    An assistant message that answers nothing is left out: AppSync's clients write none, and no order is known for it.
    """
    if not isinstance(item, dict):
        return None
    role, associated = _ROLES.get(str(item.get("role"))), item.get("associatedUserMessageId")
    answers = isinstance(associated, str) and associated != ""
    if role is None or not isinstance(item.get("id"), str) or (role == "assistant" and not answers):
        return None
    return Message(
        id=item["id"],
        conversation_id=str(item.get("conversationId")),
        role=role,
        content=_content(item.get("content")),
        created_at=_NO_TIME,
        position=place,
        associated_user_message_id=associated if role == "assistant" else None,
        ai_context=_decoded(item.get("aiContext")) if role == "user" else None,
    )


def _content(blocks: object) -> list[Block]:
    return [_block(block) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def _block(given: Mapping[str, Any]) -> Block:
    block = _without_nulls(given)
    if isinstance(block.get(TOOL_USE), dict):
        use = _without_nulls(block[TOOL_USE])
        block[TOOL_USE] = {**use, "input": _decoded(use["input"])} if "input" in use else use
    if isinstance(block.get(TOOL_RESULT), dict):
        result = _without_nulls(block[TOOL_RESULT])
        parts = result.get("content")
        result["content"] = [_part(part) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        block[TOOL_RESULT] = result
    return block


def _part(given: Mapping[str, Any]) -> Block:
    """A part of a tool's result. ``json`` that is text in the end is shown as text, not as a quotation of it."""
    part = _without_nulls(given)
    if "json" in part:
        value = _decoded(part.pop("json"))
        part |= {"text": value} if isinstance(value, str) else {"json": value}
    return part


def _without_nulls(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _decoded(value: Any) -> Any:
    """What JSON text stands for: decoded once, and again if that gives the text of an object or a list."""
    once = _parsed(value)
    twice = _parsed(once)
    return twice if isinstance(twice, dict | list) else once


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
