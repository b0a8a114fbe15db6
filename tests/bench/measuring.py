"""What a group of the bench hands over, and how it is measured: all rows by turns, round after round.

A machine drifts, so an absolute time says little. A ratio is taken within a round, between two measurements that
stand a few seconds apart, and what is reported is the median of the rounds' ratios, and their range.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Key = tuple[str, str, int | None]  # group, name, at
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """Something that is measured once in every round."""

    group: str
    name: str
    measure: Callable[[], float]
    """One measurement, in ``unit``."""
    yardstick: str | None
    """The name of the row of this group, with the same ``at``, that it is compared with; ``None`` for the yardstick."""
    unit: str = "us"
    at: int | None = None
    """At what length it is measured, such as the number of messages; it becomes a column of the table."""

    @property
    def key(self) -> Key:
        return self.group, self.name, self.at


@dataclass(frozen=True, slots=True)
class Count:
    """A result that is the same in every run, and so is found once; ``None`` where there is none, with a note why."""

    group: str
    name: str
    value: float | None
    unit: str
    at: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of the rounds and their range."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Measured:
    """What the rounds came to for one row: in its unit, and as a ratio to its yardstick (``None`` without one)."""

    row: Row
    value: Spread
    ratio: Spread | None
    rounds: int


def report(line: str) -> None:
    """Say how far it is, beside the results."""
    print(line, file=sys.stderr, flush=True)


def cpu_us(work: Callable[[], object], times: int) -> float:
    """The processor time of one call in microseconds, as the mean of some calls after one that is not counted.

    It is that of this process with all its threads, and of no other: an engine must run in a process of its own.
    """
    work()
    gc.collect()
    start = time.process_time_ns()
    for _ in range(times):
        work()
    return (time.process_time_ns() - start) / times / 1000


def in_rounds(rows: Sequence[Row], *, rounds: int, until: float, report: Report) -> list[Measured]:
    """Measure every row once in each round; no round but the first begins after ``until`` (of ``time.monotonic``)."""
    found: list[dict[Key, float]] = []
    for number in range(1, rounds + 1):
        if found and time.monotonic() > until:
            report(f"the time is over: {len(found)} rounds of {rounds}")
            break
        found.append({})
        for row in rows:
            report(f"round {number} of {rounds}: {row.group}: {row.name}{'' if row.at is None else f' at {row.at}'}")
            found[-1][row.key] = row.measure()
    return [_measured(row, found) for row in rows]


def _measured(row: Row, rounds: Sequence[dict[Key, float]]) -> Measured:
    value = Spread.of([found[row.key] for found in rounds])
    if row.yardstick is None:
        return Measured(row, value, None, len(rounds))
    yardstick = (row.group, row.yardstick, row.at)
    ratio = Spread.of([found[row.key] / found[yardstick] for found in rounds])
    return Measured(row, value, ratio, len(rounds))
