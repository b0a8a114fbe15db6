"""One turn without its model: asked through the API, claimed, its history read, answered; beside bare botocore.

All of it is written for real, so a conversation grows by a few turns with every round.
"""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.bench import plain
from tests.bench.bed import Bed, bed, engine, text
from tests.bench.measuring import Row, cpu_us
from tests.bench.metered import CHUNK, SteppingClock
from tests.bench.titles import OURS
from turn.worker import Worker

GROUP = "CPU of a turn of 2 x 500 B after N messages, without the model"
LENGTHS = (20, 100)
SIZE = 500
_TIMES = 5
_YARDSTICK = "bare botocore: PutItem, Query, PutItem"


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    with engine(folder) as url, bed(url, clock=SteppingClock()) as direct:
        plain.make_table(direct.dynamodb)
        yield [row for length in LENGTHS for row in _rows(direct, length)]


def _rows(direct: Bed, length: int) -> Iterator[Row]:
    conversation_id = direct.fill(length, SIZE)
    plain.fill(direct.dynamodb, conversation_id, length, SIZE)
    bare, places = plain.bare(direct.endpoint_url), count(length)

    def by_hand() -> None:
        plain.append(bare, conversation_id, next(places), SIZE)
        plain.read(bare, conversation_id)
        plain.append(bare, conversation_id, next(places), SIZE)

    works: dict[str, Callable[[], None]] = {
        _YARDSTICK: by_hand,
        f"{OURS}: asked, claimed, read, streamed, answered": Turns(direct, conversation_id, text(length, SIZE)).take,
    }
    for name, work in works.items():
        yardstick = None if name == _YARDSTICK else _YARDSTICK
        yield Row(GROUP, name, partial(cpu_us, work, _TIMES), yardstick, at=length)


class Turns:
    """Turns of one conversation, whose question and answer are the same text."""

    def __init__(self, direct: Bed, conversation_id: str, said: str) -> None:
        self._api = direct.api
        self._path = f"/conversations/{conversation_id}/turns"
        self._body = json.dumps({"content": [{"text": said}]})
        self._pieces = [said[place : place + CHUNK] for place in range(0, len(said), CHUNK)]
        self._model = PlayedModel()
        logger, metrics = Logger(service="bench", stream=io.StringIO()), Metrics(namespace="bench", service="bench")
        self._worker = Worker(direct.store, direct.clock, self._model, SETTINGS, logger, metrics)

    def take(self) -> None:
        """Ask, as the API's function does, and answer, as the turn's does."""
        asked = self._api.send("POST", self._path, self._body, {}, {})
        assert asked["statusCode"] == 202, asked
        self._model.scripts = [lambda: deltas(*self._pieces)]
        answered = self._worker.answer(dict(self._api.invocations.descriptors[-1]), PLENTY_MS)
        assert answered["outcome"] == "complete", answered
