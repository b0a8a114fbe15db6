"""The rows of LangChain's histories in DynamoDB as messages, so that they come back as the class that wrote them gave
them back. Needs langchain-core.

Python's class stores ``{type, data}``; JavaScript's ``{type, text, additional_kwargs, role?}``, and so neither the
calls of tools nor the ids of what they answer. Which of both a row is, is told by the row.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conversation_memory.errors import MissingExtraError, UnstorableError
from conversation_memory.moving.attributes import Value, fingerprint, plain
from conversation_memory.moving.found import Row
from conversation_memory.types import NewMessage

try:
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        FunctionMessage,
        ToolMessage,
        messages_from_dict,
    )
except ImportError as error:
    raise MissingExtraError("import", "langchain-core") from error

from conversation_memory.langchain.writing import written

_ASKING = ("user", "tool")
_NAMELESS = "unknown"


class UnreadableRowError(ValueError):
    """The row is no message; the text says why."""


def is_row(value: Value) -> bool:
    """Whether a list that holds this may be a history."""
    members = value.get("M", {})
    return "type" in members and ("data" in members or "text" in members)


def rows(listed: Sequence[Value]) -> Iterator[Row]:
    """A history's rows in their order."""
    reading = _Reading()
    before: NewMessage | None = None
    for place, value in enumerate(listed):
        row = _row(reading, place, value)
        if row.message is not None:
            if row.message["role"] == "assistant" and before is not None and before["role"] in _ASKING:
                row = replace(row, answers=place - 1)
            before = row.message
        else:
            before = None
        yield row


def _row(reading: _Reading, place: int, value: Value) -> Row:
    mark = fingerprint(value)
    try:
        message, note = reading.of(place, value)
        [stored] = written([message])
    except (UnreadableRowError, UnstorableError) as error:
        return Row(place, mark, problem=str(error))
    return Row(place, mark, stored, note=note)


class _Reading:
    """Reads rows in their order: what JavaScript's class left out of a tool's row may stand in those before it."""

    def __init__(self) -> None:
        self._calls: deque[str] = deque()
        self._function: str | None = None

    def of(self, place: int, value: Value) -> tuple[BaseMessage, str]:
        """The message of a row, and what a person may want to know of it.

        Raises:
            UnreadableRowError: there is none in it.
        """
        members = value.get("M")
        if not isinstance(members, Mapping):
            raise UnreadableRowError("is no map, so it is no message")
        held = _plain(members)
        if "data" in held:
            message, note = _of_python(held), ""
        elif isinstance(held.get("text"), str):
            message, note = self._of_javascript(place, held)
        else:
            raise UnreadableRowError("has neither data nor text, so it is no message")
        if isinstance(message, AIMessage):
            self._calls = deque(str(call["id"]) for call in [*message.tool_calls, *message.invalid_tool_calls])
            called = message.additional_kwargs.get("function_call")
            self._function = called.get("name") if isinstance(called, Mapping) else None
        return message, note

    def _of_javascript(self, place: int, held: Mapping[str, Any]) -> tuple[BaseMessage, str]:
        kind, text, kwargs = held.get("type"), held["text"], _kwargs(held.get("additional_kwargs"))
        if kind == "tool":
            is_paired = bool(self._calls)
            call_id = self._calls.popleft() if is_paired else f"unpaired-{place}"
            note = "" if is_paired else "the call that it answers is not stored: it is marked as unpaired"
            return ToolMessage(text, tool_call_id=call_id, additional_kwargs=kwargs), note
        if kind == "function":
            name = self._function or _NAMELESS
            note = "" if self._function else "the function's name is not stored"
            return FunctionMessage(text, name=name, additional_kwargs=kwargs), note
        if kind == "generic":
            if not isinstance(held.get("role"), str):
                raise UnreadableRowError("has no role")
            return ChatMessage(text, role=held["role"], additional_kwargs=kwargs), ""
        return _made(kind, {"content": text, "additional_kwargs": kwargs}), ""


def _of_python(held: Mapping[str, Any]) -> BaseMessage:
    data = held["data"]
    if not isinstance(data, dict):
        raise UnreadableRowError("data is no map")
    return _made(held.get("type"), data)


def _made(kind: object, data: dict[str, Any]) -> BaseMessage:
    try:
        [message] = messages_from_dict([{"type": kind, "data": data}])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UnreadableRowError(f"is no message of LangChain: {_told(error)}") from error
    return message


def _told(error: Exception) -> str:
    """What is wrong, without what was said: Pydantic's errors hold the input."""
    if isinstance(error, LookupError):
        return f"it lacks {error}"
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)[:200]
    wrong = errors(include_input=False, include_url=False)[:3]
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)


def _kwargs(text: object) -> dict[str, Any]:
    """JavaScript's class keeps them as JSON in a text; rows of its first versions have none."""
    if text is None:
        return {}
    try:
        kwargs = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        kwargs = None
    if not isinstance(kwargs, dict):
        raise UnreadableRowError("additional_kwargs is no JSON object")
    return kwargs


def _plain(members: Mapping[str, Value]) -> dict[str, Any]:
    try:
        return {name: plain(member) for name, member in members.items()}
    except (ValueError, ArithmeticError) as error:
        raise UnreadableRowError(f"holds a value of an unknown kind: {error}") from error
