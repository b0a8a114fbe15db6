"""Work without input and output: what is to be done is a generator of steps, and somebody else carries them out.

An operation yields ``Request`` and gets the ``Answer`` back, or ``Emit`` to hand a value to whoever iterates.
``retrying.driven`` turns that into what a driver has to be able to do, which is to send once and to sleep. So one piece
of logic serves the client that blocks and the one that awaits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A call of the API. ``body`` is JSON text in UTF-8.

    ``is_removal``: it takes something away, so that "not found" after an answer was lost means that it is done.
    ``waits_s``: for so long the service may keep silent, beside the time that any answer takes.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_removal: bool = False
    waits_s: float = 0


@dataclass(frozen=True)
class Answer:
    """What came back. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Lost:
    """Nothing came back. ``was_sent`` says whether the request may have been carried out."""

    reason: str
    was_sent: bool


@dataclass(frozen=True)
class Send:
    """Send a request once; the reply is an ``Answer``, or ``Lost``."""

    request: Request


@dataclass(frozen=True)
class Sleep:
    """Wait for so long."""

    seconds: float


@dataclass(frozen=True)
class Emit:
    """Hand this to whoever iterates."""

    value: Any


Steps = Generator[Any, Any, T]
"""Yields steps, is sent what came of them, and returns a value."""
