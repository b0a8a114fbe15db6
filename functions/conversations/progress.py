"""When the partial text of an answer is written, so that readers can follow it and it costs little.

Each write costs as much as all of the text so far. Writing again only when the text has grown to 1.6 times its size,
and by a write unit at least, keeps the sum within three times the cost of the final text, whatever the number of
chunks: the sizes written are at most n, n/1.6, n/1.6², ..., which add up to 2.7n; the rest is for rounding up.
"""

from dataclasses import dataclass

from conversations.codec import LARGEST_PARTIAL_BYTES, WRITE_UNIT_BYTES

FIRST_AFTER_NS = 400_000_000
_GROWTH = 1.6


@dataclass(slots=True)
class Progress:
    """Decides when to write. Times are in nanoseconds, sizes in characters of text (a lower bound of its bytes)."""

    started_ns: int
    written: int = 0

    def is_due(self, size: int, now_ns: int) -> bool:
        """Whether a text of this size should be written now."""
        if size == 0 or size > LARGEST_PARTIAL_BYTES or now_ns - self.started_ns < FIRST_AFTER_NS:
            return False
        return self.written == 0 or size >= max(self.written * _GROWTH, self.written + WRITE_UNIT_BYTES)
