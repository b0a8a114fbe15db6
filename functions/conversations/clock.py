"""Time, passed in, so that tests need not wait."""

import re
import time
from datetime import UTC, datetime
from typing import Protocol

NANOSECONDS = 1_000_000_000
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z", re.ASCII)
_FRACTION_DIGITS = 9


class Clock(Protocol):
    """The time of day and the means to wait for another."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def to_timestamp(now_ns: int) -> str:
    """RFC 3339 in UTC with nine fraction digits and ``Z``, so that text order is time order."""
    seconds, fraction = divmod(now_ns, NANOSECONDS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:0{_FRACTION_DIGITS}d}Z"


def from_timestamp(timestamp: str) -> int:
    """The nanoseconds since the epoch of what ``to_timestamp`` made."""
    whole, fraction = timestamp[:-1].split(".")
    seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    return int(seconds) * NANOSECONDS + int(fraction)


def shown_time(timestamp: str) -> str:
    """A timestamp as OpenSearch prints it: zeros at the end are dropped, but for three digits."""
    whole, fraction = timestamp[:-1].split(".")
    return f"{whole}.{fraction.rstrip('0'):0<3}Z"


def is_timestamp(text: str) -> bool:
    """Whether ``to_timestamp`` can have made this: a time since the epoch that there is, in ASCII digits."""
    if not TIMESTAMP.match(text):
        return False
    try:
        now_ns = from_timestamp(text)
    except ValueError:
        return False
    return now_ns >= 0 and to_timestamp(now_ns) == text
