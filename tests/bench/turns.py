"""The names under which what turns cost is told, for the service and its peers alike."""

from collections.abc import Iterator, Mapping, Sequence

from tests.bench.measuring import Count
from tests.bench.metered import Usage
from tests.bench.prices import dollars_per_million

SIZE = 1024
WINDOW = 20
WRITES = "Write units of the t-th turn (two messages of 1 KB)"
READS = "Read units of the t-th turn"
DOLLARS = "DynamoDB, dollars for a million turns such as the t-th"
SHOWN = (1, 10, 100, 1000)  # of reads and dollars; write units are told of every turn


def counts(name: str, turns: Mapping[int, Usage], breaks: str = "", *, shown: Sequence[int] = SHOWN) -> Iterator[Count]:
    """What turns were counted to take. ``breaks`` says why there are none after the last."""
    for turn, usage in turns.items():
        yield Count(WRITES, name, usage.write_units, "write units", turn)
        if turn in shown:
            yield Count(READS, name, usage.read_units, "read units", turn)
            yield Count(DOLLARS, name, dollars_per_million(usage.write_units, usage.read_units), "dollars", turn)
    for turn in (turn for turn in shown if breaks and turn > max(turns)):
        yield from (Count(group, name, None, unit, turn, breaks) for group, unit in _UNITS.items())


_UNITS = {WRITES: "write units", READS: "read units", DOLLARS: "dollars"}
