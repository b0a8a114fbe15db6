"""What is logged of a fault: its kind and its place, and none of its words, which may repeat what somebody said."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from conversations.errors import ServiceError, Signal


class FaultError(Exception):
    """A fault of ours, named by its kind alone."""


class Log(Protocol):
    """Where it is told."""

    def error(self, msg: str, *, extra: dict[str, Any]) -> None:
        """Write a line."""


def told_of(error: BaseException) -> dict[str, Any]:
    """Kind and place of an error: ``{"kind", "frames": [lines of source]}``."""
    return {"kind": type(error).__name__, "frames": traceback.format_tb(error.__traceback__)}


@contextmanager
def quietly(log: Log) -> Iterator[None]:
    """Let errors pass whose words are ours; tell of others, and raise ``FaultError`` in their place, since Lambda logs
    what a function raises.
    """
    try:
        yield
    except (ServiceError, Signal):
        raise
    except Exception as error:
        log.error("fault", extra=told_of(error))
        raise FaultError(type(error).__name__) from None
