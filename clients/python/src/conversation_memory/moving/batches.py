"""Rows on their way: as many at once as a request takes, each answer with what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conversation_memory.errors import ApiError
from conversation_memory.moving.found import MOVED_FROM, Row
from conversation_memory.operations import LARGEST_BATCH
from conversation_memory.sessions import ENVELOPE_BYTES, LARGEST_BODY_BYTES, size_of
from conversation_memory.types import NewMessage

_ASKING = ("user", "tool")
_ASSOCIATION_BYTES = 400
_PLACE_IN_FIELD = re.compile(r"messages\[([0-9]+)\]")


@dataclass(frozen=True)
class Taken:
    """A row that is to be stored, and the message for it, which says where it comes from."""

    row: Row
    message: NewMessage
    size: int

    @property
    def asks(self) -> bool:
        return self.message["role"] in _ASKING


def taken(row: Row, message: NewMessage, source: str, digest: str) -> Taken:
    """The row with its message's ``movedFrom``; what stood there from an earlier move is kept in it.

    Raises:
        TooLargeError: the message is larger than a request may be.
    """
    metadata = dict(message.get("metadata") or {})
    before = {MOVED_FROM: metadata[MOVED_FROM]} if MOVED_FROM in metadata else {}
    metadata[MOVED_FROM] = {"source": source, "place": row.place, "digest": digest, **row.origin, **before}
    marked: NewMessage = {**message, "metadata": metadata}
    return Taken(row, marked, size_of(marked, row.place) + _ASSOCIATION_BYTES)


class Batch:
    """The rows of the next request. Where one ends follows from the rows alone, so that all who move the same agree."""

    def __init__(self) -> None:
        self.rows: list[Taken] = []
        self._left = LARGEST_BODY_BYTES - ENVELOPE_BYTES

    def has_room_for(self, one: Taken) -> bool:
        """Whether it fits, with the id of what it answers known by then."""
        if not self.rows:
            return True
        fits = one.size <= self._left and len(self.rows) < LARGEST_BATCH
        return fits and not self._holds_apart(one.row.answers)

    def add(self, one: Taken) -> None:
        self.rows.append(one)
        self._left -= one.size

    def _holds_apart(self, answers: int | None) -> bool:
        return any(one.row.place == answers for one in self.rows[:-1])


def messages_of(rows: Sequence[Taken], stored: int, id_of: Callable[[int], str | None]) -> list[NewMessage]:
    """The messages for a request, counted on from those that are ``stored``: each answer with its question, be that the
    one before or one of an earlier request.

    ``id_of`` knows the messages that are stored, by their places.
    """
    befores = [None, *rows]
    return [
        _numbered(_associated(one, before, id_of), number)
        for number, (one, before) in enumerate(zip(rows, befores, strict=False), stored + 1)
    ]


def _numbered(message: NewMessage, number: int) -> NewMessage:
    metadata = message.get("metadata") or {}
    return {**message, "metadata": {**metadata, MOVED_FROM: {**metadata[MOVED_FROM], "number": number}}}


def _associated(one: Taken, before: Taken | None, id_of: Callable[[int], str | None]) -> NewMessage:
    if one.message["role"] != "assistant":
        return one.message
    question = one.row.answers
    if question is not None:
        if before is not None and before.row.place == question:
            return one.message
        if (known := id_of(question)) is not None:
            return {**one.message, "associatedUserMessageId": known}
    return {**one.message, "answersNone": True} if before is None or before.asks else one.message


def refused_in(error: ApiError) -> int | None:
    """Which message of a request was refused; ``None`` if the error names none."""
    named = _PLACE_IN_FIELD.match(error.field or "")
    return int(named[1]) if named else None
