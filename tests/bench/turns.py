"""What turns cost, told in the same way of the service and of its peers."""

from collections.abc import Iterator, Mapping, Sequence

from tests.bench.measuring import Count
from tests.bench.metered import Usage
from tests.bench.prices import dollars_per_million
from tests.bench.titles import DOLLARS, READS, WRITES

SIZE = 1024
WINDOW = 20
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
