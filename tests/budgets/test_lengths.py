"""What each use of a conversation takes: as much at 1,000 messages as at 100, and no more than is written here."""

import pytest

from tests.bench.groups.scale import usages
from tests.bench.metered import Metered, Usage
from tests.bench.patterns import PATTERNS

pytestmark = pytest.mark.slow

AT_MOST = {  # calls, read units, write units
    "append one message": (2, 1, 7),
    "the last 20": (2, 3, 0),
    "the first 20": (2, 3, 0),
    "the last 5, and the 5 before them": (4, 3, 0),
    "the first message, then that by its id": (3, 3.5, 0),
    "the history, a window of 20": (2, 3.5, 0),
    "list conversations": (3, 6.5, 0),
    "search, 10 hits, the index at hand": (3, 21, 0),
    "clear": (2, 1, 2),
    "delete": (2, 1, 3),
}


def test_every_use_takes_the_same_at_any_length_and_no_more_than_its_budget(service: Metered) -> None:
    short, long = usages(service, 100), usages(service, 1000)

    assert list(AT_MOST) == [pattern.name for pattern in PATTERNS]
    over = {name: usage for name, usage in long.items() if _is_over(usage, AT_MOST[name])}
    assert over == {}
    for name, usage in long.items():
        assert (usage.calls, usage.write_units) == (short[name].calls, short[name].write_units), name
        assert usage.bytes == pytest.approx(short[name].bytes, rel=0.03), name
        # A position of more digits may take what is read over the next 4 KB.
        assert usage.read_units - short[name].read_units in (0, 0.5), name


def _is_over(usage: Usage, budget: tuple[int, float, int]) -> bool:
    return any(taken > most for taken, most in zip(_counts(usage), budget, strict=True))


def _counts(usage: Usage) -> tuple[int, float, float]:
    return usage.calls, usage.read_units, usage.write_units
