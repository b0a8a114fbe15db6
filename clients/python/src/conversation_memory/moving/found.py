"""What a source yields: sessions, and what is said in each."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from conversation_memory.errors import ConversationMemoryError
from conversation_memory.types import NewMessage

MOVED_FROM = "movedFrom"
"""The member of metadata that says where a message, or a conversation, was moved from."""


@dataclass(frozen=True)
class Row:
    """What stands at a place of a session, counted from 0.

    ``mark`` is what the row is told by when it is met again. ``message`` is how it is to be stored; without one,
    ``problem`` says why it cannot be. ``origin`` is what the message cannot hold (ids, times); it goes into its
    ``movedFrom``. ``answers`` is the place of the row that an assistant's message answers. ``note`` is for people.
    """

    place: int
    mark: bytes
    message: NewMessage | None = None
    problem: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    answers: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Trace:
    """A step on the way to an answer: ``parent`` is the source's id of the message that it belongs to, ``number`` its
    place among that message's traces. ``texts`` and ``info`` are as OpenSearch names them.
    """

    id: str
    parent: str
    number: int
    texts: Mapping[str, str]
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Session:
    """A conversation of a source.

    ``source`` and ``key`` name it for good (without a source it is none, but a problem); the key is what reports call
    it. ``rows`` may be called again, for what stands there then. ``original_id`` is its id if it is a conversation of
    such a service. ``problem`` says why nothing of it can be moved, ``is_gone`` that its time is over,
    ``is_kept_empty`` that it is one even without a message. ``traces`` is for sources that have them.
    """

    source: str
    key: str
    rows: Callable[[], Iterator[Row]]
    session_id: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    ttl_days: int | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
    original_id: str | None = None
    problem: str = ""
    is_gone: bool = False
    is_kept_empty: bool = False
    traces: Callable[[], Iterator[Trace]] | None = None


class SourceError(ConversationMemoryError):
    """The source, or a session of it, cannot be read."""


class Source(Protocol):
    """Where conversations are moved from."""

    def sessions(self) -> Iterator[Session]:
        """All sessions, one after the other; what cannot be read is a session with a problem."""


class Chained:
    """The digest of all rows so far, by which it is known that a source has only grown since."""

    def __init__(self) -> None:
        self._state = b""

    def add(self, mark: bytes) -> str:
        """The digest of the rows up to this one."""
        self._state = hashlib.sha256(self._state + hashlib.sha256(mark).digest()).digest()
        return urlsafe_b64encode(self._state[:12]).decode()


def key_of(*parts: str) -> str:
    """A text that stands for these, as an idempotency key may be."""
    hashed = hashlib.sha256()
    for part in parts:
        encoded = part.encode(errors="surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return f"moved-{hashed.hexdigest()[:40]}"
