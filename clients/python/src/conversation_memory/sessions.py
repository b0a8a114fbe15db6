"""A conversation by the caller's own name for it, as the frameworks' histories use it: found when it is read, made when
it is first written, and made anew when somebody has deleted it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from conversation_memory import operations
from conversation_memory.calls import to_json
from conversation_memory.errors import InvalidCursorError, NotFoundError, TooLargeError
from conversation_memory.steps import Steps, T
from conversation_memory.types import Message, NewMessage

LONGEST_BYTES = 1024
LARGEST_BODY_BYTES = 5 * 1024 * 1024
"""What the API takes as a body, counted as an escaped JSON string."""
ENVELOPE_BYTES = 1024
_SECONDS_PER_DAY = 24 * 60 * 60
_MOST_TTL_DAYS = 3650
_TRIES = 3


class NamedConversation:
    """The conversation of a session. ``ttl_s`` is counted from the last activity, and kept in whole days."""

    def __init__(self, session_id: str, ttl_s: float | None) -> None:
        check_session_id(session_id)
        if ttl_s is not None and ttl_s <= 0:
            raise ValueError("ttl is more than 0 seconds")
        self.session_id = session_id
        days = None if ttl_s is None else int(-(-ttl_s // _SECONDS_PER_DAY))
        self._ttl_days = None if days is None else min(days, _MOST_TTL_DAYS)
        self._id: str | None = None

    def read(self, steps: Callable[[str], Steps[T]], otherwise: T, tries: int = _TRIES) -> Steps[T]:
        """Do this with the conversation, if there is one; again if it is cleared or deleted in the middle."""
        found = self._id or (yield from self._find())
        if found is None:
            return otherwise
        self._id = found
        try:
            return (yield from steps(found))
        except (NotFoundError, InvalidCursorError):
            self._id = None
            if tries == 1:
                raise
        return (yield from self.read(steps, otherwise, tries - 1))

    def _find(self) -> Steps[str | None]:
        found = yield from operations.find_conversation(self.session_id)
        return found["id"] if found else None

    def append(self, messages: Sequence[NewMessage], key: str | None = None) -> Steps[list[Message]]:
        """Append in order: in one transaction what fits into one, else in several, one after the other.

        Raises:
            TooLargeError: a message is larger than a request may be; nothing was stored.
        """
        appended: list[Message] = []
        key = key or uuid.uuid4().hex
        for number, batch in enumerate(_batches(messages)):
            appended += yield from self._append_batch(batch, f"{key}-{number}")
        return appended

    def _append_batch(self, batch: Sequence[NewMessage], key: str, tries: int = _TRIES) -> Steps[list[Message]]:
        """Append to the conversation; to a new one if it is deleted in the middle."""
        conversation_id = self._id or (yield from self._create())
        try:
            return (yield from operations.append_messages(conversation_id, batch, idempotency_key=key))
        except NotFoundError:
            self._id = None
            if tries == 1:
                raise
        return (yield from self._append_batch(batch, key, tries - 1))

    def _create(self) -> Steps[str]:
        """The id of the session's conversation, with the retention that is asked for."""
        conversation = yield from operations.create_conversation(session_id=self.session_id, ttl_days=self._ttl_days)
        if self._ttl_days is not None and conversation.get("ttlDays") != self._ttl_days:
            yield from operations.change_conversation(conversation["id"], {"ttlDays": self._ttl_days})
        self._id = conversation["id"]
        return self._id

    def clear(self) -> Steps[None]:
        """Clear it of its messages."""
        yield from self.read(operations.clear_messages, None)

    def delete(self) -> Steps[None]:
        """Delete it: the name is free at once."""
        yield from self.read(operations.delete_conversation, None)
        self._id = None


def check_session_id(session_id: object) -> None:
    """Any text of 1 to 1,024 bytes without NUL is a name.

    Raises:
        TypeError, ValueError: this is none.
    """
    if not isinstance(session_id, str):
        raise TypeError("A session id is a str")
    try:
        size = len(session_id.encode())
    except UnicodeEncodeError as error:
        raise ValueError("A session id is Unicode text") from error
    if not 1 <= size <= LONGEST_BYTES or "\0" in session_id:
        raise ValueError(f"A session id has 1 to {LONGEST_BYTES} bytes and no NUL; this one has {size}")


def _batches(messages: Sequence[NewMessage]) -> list[list[NewMessage]]:
    """As many messages at once as one request takes."""
    batches: list[list[NewMessage]] = []
    left = 0
    for place, message in enumerate(messages):
        size = size_of(message, place)
        if size > left or len(batches[-1]) == operations.LARGEST_BATCH:
            batches.append([])
            left = LARGEST_BODY_BYTES - ENVELOPE_BYTES
        batches[-1].append(message)
        left -= size
    return batches


def size_of(message: Any, place: int) -> int:
    """The bytes that a message takes in a request.

    Raises:
        TooLargeError: it is larger than a request may be.
    """
    size = len(json.dumps(to_json(message).decode(), ensure_ascii=False).encode())
    if size > LARGEST_BODY_BYTES - ENVELOPE_BYTES:
        told = f"The message takes {size} bytes as an escaped JSON string, and a request may hold {LARGEST_BODY_BYTES}"
        raise TooLargeError(413, "TooLarge", told, field=f"messages[{place}]")
    return size
