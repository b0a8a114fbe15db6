"""What each use of a conversation takes, by its length."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.bench.bed import engine
from tests.bench.measuring import Count
from tests.bench.metered import Metered, Usage, metered
from tests.bench.patterns import PATTERNS, SIZE

GROUP = "By the messages in the conversation"
_AFTER_S = 180  # what was created in the last minute is listed at a price of its own
LENGTHS = (10, 100, 1000, 10_000)


@contextmanager
def rows(folder: Path) -> Iterator[list[Count]]:
    with engine(folder) as url, metered(url) as service:
        found = {length: usages(service, length) for length in LENGTHS}
    yield [
        count
        for pattern in PATTERNS
        for length in LENGTHS
        for count in _counts(pattern.name, length, found[length][pattern.name])
    ]


def usages(service: Metered, length: int) -> dict[str, Usage]:
    conversation_id = service.unmetered.fill(length, SIZE)
    service.wait(_AFTER_S)
    found = {}
    for pattern in PATTERNS:
        pattern.before(service, conversation_id)
        found[pattern.name] = service.usage(partial(pattern.use, service, conversation_id))
    return found


def _counts(name: str, length: int, usage: Usage) -> Iterator[Count]:
    yield Count(GROUP, name, usage.calls, "calls", length)
    yield Count(GROUP, name, usage.bytes / 1000, "KB", length)
    yield Count(GROUP, name, usage.read_units, "read units", length)
    yield Count(GROUP, name, usage.write_units, "write units", length)
