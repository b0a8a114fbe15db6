"""What has come of moving."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass(frozen=True)
class Remark:
    """Something about a session, or about the row at a place of it."""

    session: str
    reason: str
    place: int | None = None

    def to_json(self) -> dict[str, Any]:
        """``{session, place?, reason}``"""
        place = {} if self.place is None else {"place": self.place}
        return {"session": self.session, **place, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.session}{'' if self.place is None else f' [{self.place}]'}: {self.reason}"


@dataclass
class Report:
    """Counts, and what there is to remark. Threads may share it.

    ``sessions`` were read, of which ``gone`` had expired and ``empty`` held nothing. ``moved`` messages and ``traces``
    were stored (of a dry run: would be), ``present`` messages were there already. ``skipped`` could not be moved;
    ``notes`` were, but a person may want to know. ``is_stopped``: whoever is at work is to end before the next request.
    """

    is_dry: bool = False
    sessions: int = 0
    gone: int = 0
    empty: int = 0
    moved: int = 0
    present: int = 0
    traces: int = 0
    skipped: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    began_s: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    on_change: Callable[[Report], None] | None = None
    is_stopped: bool = False
    _lock: Lock = field(default_factory=Lock, repr=False)

    def count(
        self, *, sessions: int = 0, gone: int = 0, empty: int = 0, moved: int = 0, present: int = 0, traces: int = 0
    ) -> None:
        """Add to the counts."""
        with self._lock:
            self.sessions += sessions
            self.gone += gone
            self.empty += empty
            self.moved += moved
            self.present += present
            self.traces += traces
            self._changed()

    def skip(self, session: str, reason: str, place: int | None = None) -> None:
        """Something could not be moved."""
        with self._lock:
            self.skipped.append(Remark(session, reason, place))
            self._changed()

    def note(self, session: str, reason: str, place: int | None = None) -> None:
        """Something that is worth saying."""
        with self._lock:
            self.notes.append(Remark(session, reason, place))

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "dryRun": self.is_dry,
            "sessions": self.sessions,
            "gone": self.gone,
            "empty": self.empty,
            "moved": self.moved,
            "present": self.present,
            "traces": self.traces,
            "skipped": [remark.to_json() for remark in self.skipped],
            "notes": [remark.to_json() for remark in self.notes],
            "seconds": round(self.seconds, 3),
        }

    def _changed(self) -> None:
        self.seconds = time.monotonic() - self.began_s
        if self.on_change:
            self.on_change(self)
