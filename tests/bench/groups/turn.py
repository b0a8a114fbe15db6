"""One turn without its model: asked through the API, claimed, its history read, answered; beside bare botocore.

All of it is written for real, so a conversation grows by a few turns with every round.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from botocore.client import Config

from tests.bench import plain
from tests.bench.bed import client, engine, text
from tests.bench.measuring import Row, cpu_us
from tests.bench.metered import Metered, metered

GROUP = "CPU of a turn of 2 x 500 B after N messages, without the model"
LENGTHS = (20, 100)
SIZE = 500
_TIMES = 5
_YARDSTICK = "bare botocore: PutItem, Query, PutItem"


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    with engine(folder) as url, metered(url) as service:
        plain.make_table(service.unmetered.dynamodb)
        yield [row for length in LENGTHS for row in _rows(service, length)]


def _rows(service: Metered, length: int) -> Iterator[Row]:
    direct = service.unmetered
    conversation_id = direct.fill(length, SIZE)
    plain.fill(direct.dynamodb, conversation_id, length, SIZE)
    bare, places = client("dynamodb", direct.endpoint_url, Config()), count(length)

    def by_hand() -> None:
        plain.append(bare, conversation_id, next(places), SIZE)
        plain.read(bare, conversation_id)
        plain.append(bare, conversation_id, next(places), SIZE)

    works: dict[str, Callable[[], None]] = {
        _YARDSTICK: by_hand,
        "asked, claimed, read, streamed, answered": partial(
            service.turn, conversation_id, text(length, SIZE), text(length + 1, SIZE)
        ),
    }
    for name, work in works.items():
        yardstick = None if name == _YARDSTICK else _YARDSTICK
        yield Row(GROUP, name, partial(cpu_us, work, _TIMES), yardstick, at=length)
