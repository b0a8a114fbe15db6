"""The log: lines of JSON on the standard output, with the ``timestamp`` and ``level`` that Lambda can filter by.

Written here, and not with a library, because a cold start pays for what it loads: this needs nothing that is not loaded
anyway.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from conversations.clock import Clock, SystemClock, to_timestamp

_MILLISECONDS = len("2026-01-31T12:00:00.000")


class Logger:
    """Writes lines about one service; ``append_keys`` gives them what the invocation in hand is about."""

    def __init__(self, service: str, clock: Clock | None = None, stream: TextIO | None = None) -> None:
        self._service = service
        self._clock = clock or SystemClock()
        self._stream = stream
        self._keys: dict[str, Any] = {}

    def append_keys(self, **keys: Any) -> None:
        """Say this in every line from now on."""
        self._keys |= keys

    def begin(self, request_id: str, trace: str | None) -> None:
        """A new invocation: nothing of the last one is said again. ``trace`` is X-Ray's header, if there is one."""
        fields = dict(field.partition("=")[::2] for field in (trace or "").split(";"))
        traced = {"xray_trace_id": fields["Root"]} if "Root" in fields else {}
        self._keys = {"request_id": request_id, **traced}

    def info(self, message: str, *, extra: Mapping[str, Any] | None = None) -> None:
        """Something that is in order."""
        self._write("INFO", message, extra or {})

    def warning(self, message: str, *, extra: Mapping[str, Any] | None = None) -> None:
        """Something that somebody may want to look into."""
        self._write("WARNING", message, extra or {})

    def error(self, message: str, *, extra: Mapping[str, Any] | None = None) -> None:
        """A fault."""
        self._write("ERROR", message, extra or {})

    def _write(self, level: str, message: str, extra: Mapping[str, Any]) -> None:
        caller = sys._getframe(2)
        line = {
            "level": level,
            "location": f"{caller.f_globals['__name__']}.{caller.f_code.co_name}:{caller.f_lineno}",
            "message": message,
            "timestamp": f"{to_timestamp(self._clock.now_ns())[:_MILLISECONDS]}Z",
            "service": self._service,
            **self._keys,
            **extra,
        }
        (self._stream or sys.stdout).write(json.dumps(line, default=str, separators=(",", ":")) + "\n")
