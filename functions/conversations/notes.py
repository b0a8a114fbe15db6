"""What the head of a chain notes of changes in place and of traces, which the indexes may not have yet.

Messages show by their chain that the index lacks one; a change in place does not. So the head counts changes and
traces, says how many there were before the last minute, and names the places of the last changes. By the counts,
whoever keeps what it has read knows whether there is more to read. Traces are numbered in the order of their writing,
and their ids tell the number, so that those of the last minute can be read whether or not an index has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

SETTLED_AFTER_S = 60
"""After this time an index has what was written; it lags by much less than a second as a rule."""
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Mark:
    """How many changes and traces there were before a time, in seconds since the epoch."""

    at_s: int = 0
    changes: int = 0
    traces: int = 0


@dataclass(frozen=True, slots=True)
class Notes:
    """Counts of changes in place and of traces, in one chain.

    ``changed`` are the places of the last changes, oldest first: a message's position, or a trace's number below zero.
    ``last_s`` is the time of the last change or trace. When a mark is set, the one before is older than a minute.
    """

    changes: int = 0
    traces: int = 0
    changed: tuple[int, ...] = ()
    last_s: int = 0
    older: Mark = Mark()
    newer: Mark = Mark()

    def with_changes(self, places: Sequence[int], now_s: int) -> "Notes":
        """The notes after changes in place there."""
        noted = (*self.changed, *places)[-MOST_NAMED:]
        return replace(self._marked(now_s), changes=self.changes + len(places), changed=noted)

    def with_trace(self, now_s: int) -> "Notes":
        """The notes after one more trace."""
        return replace(self._marked(now_s), traces=self.traces + 1)

    def settled(self, now_s: int) -> Mark:
        """How many of each the indexes have by now."""
        if now_s - self.last_s >= SETTLED_AFTER_S:
            return Mark(self.last_s, self.changes, self.traces)
        return self.newer if now_s - self.newer.at_s >= SETTLED_AFTER_S else self.older

    def changed_since(self, changes: int) -> tuple[int, ...] | None:
        """The places that have changed since there were so many changes; ``None`` if not all of them are named."""
        new = self.changes - changes
        if not 0 <= new <= len(self.changed):
            return None
        return self.changed[len(self.changed) - new :]

    def _marked(self, now_s: int) -> "Notes":
        if now_s - self.newer.at_s < SETTLED_AFTER_S:
            return replace(self, last_s=max(now_s, self.last_s))
        mark = Mark(now_s, self.changes, self.traces)
        return replace(self, last_s=max(now_s, self.last_s), older=self.newer, newer=mark)
