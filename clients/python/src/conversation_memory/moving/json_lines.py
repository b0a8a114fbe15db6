"""Conversations that were written down as JSON Lines (``conversation_memory.moving.formats``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from conversation_memory.errors import ConversationMemoryError
from conversation_memory.moving.formats import FORMAT, NOTHING
from conversation_memory.moving.found import Row, Session, SourceError, Trace
from conversation_memory.moving.traces import trace_in
from conversation_memory.types import NewMessage

_KEPT = (
    *("aiContext", "metadata", "promptTemplate", "origin"),
    *("usage", "stopReason", "modelId", "latencyMs", "toolCalls", "guardrailTrace"),
)
_ROLES = ("user", "assistant", "system", "tool")
_OF_CONVERSATIONS = {"sessionId": str, "name": str, "metadata": dict, "ttlDays": int}
_CLIENT_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class UnknownFormatError(ConversationMemoryError, ValueError):
    """The file is in no format that is read here."""


@dataclass(frozen=True)
class _Lines:
    """Where the messages of a conversation stand: so many lines from there, and its traces behind them."""

    path: Path
    offset: int
    count: int
    traces: int = 0


class JsonLinesFile:
    """The conversations of a file. It is read twice: a conversation's messages are not held in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sessions(self) -> Iterator[Session]:
        """All conversations of the file.

        Raises:
            UnknownFormatError: it is no such file, or one of a version that is not known here.
        """
        with self._path.open("rb") as file:
            _check_format(file.readline())
            yield from self._sessions(file)

    def _sessions(self, file: BinaryIO) -> Iterator[Session]:
        head: Mapping[str, Any] | None = None
        offset, count, traces, problem, has_ended = file.tell(), 0, 0, "", False
        for number, line in enumerate(iter(file.readline, b""), 2):
            kind, value = _read(line)
            if kind == "conversation":
                if head is not None:
                    yield self._session(head, _Lines(self._path, offset, count, traces), problem)
                head, offset, count, traces, problem = value, file.tell(), 0, 0, ""
            elif kind == "broken":
                problem = f"is not whole in the file: {value}"
            elif kind == "end":
                has_ended = True
            elif kind == "trace" and head is not None:
                traces += 1
            elif head is None:
                yield _nothing(f"line {number}", "belongs to no conversation")
            else:
                count += 1
        if head is not None:
            yield self._session(head, _Lines(self._path, offset, count, traces), problem)
        if not has_ended:
            yield _nothing("the file", "has no last line: it was not written to its end")

    def _session(self, head: Any, lines: _Lines, problem: str) -> Session:
        if not isinstance(head, dict) or not _is_id(head.get("id")):
            return _nothing("a conversation", "has no id")
        strange = [name for name, kind in _OF_CONVERSATIONS.items() if not isinstance(head.get(name), kind | None)]
        return Session(
            source=f"conversation-memory:{head['id']}",
            key=head["id"],
            rows=partial(_rows, lines),
            session_id=head.get("sessionId"),
            name=head.get("name"),
            metadata=head.get("metadata") or {},
            ttl_days=head.get("ttlDays"),
            origin={name: head[name] for name in ("id", "owner", "createdAt", "updatedAt") if name in head},
            original_id=head["id"],
            problem=problem or (f"is no conversation as it was written down: {', '.join(strange)}" if strange else ""),
            is_kept_empty=True,
            traces=partial(_traces, lines),
        )


def _check_format(line: bytes) -> None:
    kind, value = _read(line)
    if kind != "format":
        raise UnknownFormatError(f"The file does not begin with its format, as one of {FORMAT} does.")
    if value != FORMAT:
        raise UnknownFormatError(f"The file is in the format {value}; what is read here is {FORMAT}.")


def _read(line: bytes) -> tuple[str, Any]:
    """What a line is, and what it holds; ``("", None)`` for what is no such line."""
    try:
        [(kind, value)] = json.loads(line).items()
    except (ValueError, AttributeError, RecursionError):
        return "", None
    return kind, value


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and value != ""


def _nothing(key: str, problem: str) -> Session:
    return Session(source="", key=key, rows=lambda: iter(()), problem=problem)


def _rows(lines: _Lines) -> Iterator[Row]:
    places: dict[str, int] = {}
    with lines.path.open("rb") as file:
        file.seek(lines.offset)
        for place in range(lines.count):
            row = _row(place, file.readline(), places)
            if row.message is not None:
                places[row.mark.decode()] = place
            yield row


def _traces(lines: _Lines) -> Iterator[Trace]:
    with lines.path.open("rb") as file:
        file.seek(lines.offset)
        for _ in range(lines.count):
            file.readline()
        for _ in range(lines.traces):
            try:
                yield trace_in(_read(file.readline())[1])
            except (ValueError, TypeError, LookupError, OverflowError) as error:
                raise SourceError("a line of a trace cannot be read") from error


def _row(place: int, line: bytes, places: Mapping[str, int]) -> Row:
    kind, told = _read(line)
    if kind != "message" or not isinstance(told, dict) or not _is_id(told.get("id")):
        return Row(place, line, problem="is no line of a message")
    mark = told["id"].encode()
    if told.get("unreadable"):
        return Row(place, mark, problem="its content was gone already when it was written down")
    content = told.get("content")
    if told.get("role") not in _ROLES or not isinstance(content, list):
        return Row(place, mark, problem="has no role or no content")
    if not isinstance(told.get("metadata"), dict | None):
        return Row(place, mark, problem="has metadata that are no object")
    kept = {name: told[name] for name in _KEPT if name in told}
    message = cast("NewMessage", {"role": told["role"], "content": content or [NOTHING], **kept})
    client_id = told.get("clientMessageId")
    if told["role"] == "user" and isinstance(client_id, str) and _CLIENT_MESSAGE_ID.fullmatch(client_id):
        message["clientMessageId"] = client_id
    origin = {name: told[name] for name in ("id", "createdAt") if name in told}
    return Row(place, mark, message, origin=origin, answers=places.get(str(told.get("associatedUserMessageId"))))
