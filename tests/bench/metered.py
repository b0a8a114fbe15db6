"""The real handlers behind a meter: what a use of the service costs in calls, bytes, and DynamoDB's request units.

Nothing here is timed. The clock is one that moves when it is looked at, so that a run is like the other.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations.clock import NANOSECONDS, SystemClock
from tests.bed.dynamodb_meter import Call, DynamoDBMeter
from tests.bed.in_process import Api
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel, deltas
from tests.bench.bed import Bed, bed
from turn.worker import Worker

_START_NS = 1_700_000_400 * NANOSECONDS  # 22:20: the hour, by which administrators list, is not over for long
_LOOK_NS = 25_000_000  # as long as a model takes for a few words
CHUNK = 20  # characters of a streamed answer


class SteppingClock(SystemClock):
    """A time that moves on by 25 ms whenever somebody looks at it, and by what is slept."""

    def __init__(self) -> None:
        self._now_ns = _START_NS

    def now_ns(self) -> int:
        self._now_ns += _LOOK_NS
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        self._now_ns += int(seconds * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class Usage:
    """What some calls of DynamoDB come to."""

    calls: int
    bytes: int
    """The bodies of requests and answers."""
    read_units: float
    write_units: float

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "Usage":
        made = list(calls)
        units = [(call.is_write, sum(call.units.values())) for call in made]
        return cls(
            calls=len(made),
            bytes=sum(call.request_bytes + call.answer_bytes for call in made),
            read_units=sum(number for is_write, number in units if not is_write),
            write_units=sum(number for is_write, number in units if is_write),
        )


@dataclass(frozen=True)
class Metered:
    """The API and the turn function over a metered store, and beside them a store that nobody counts, to fill it."""

    unmetered: Bed
    api: Api
    meter: DynamoDBMeter
    model: PlayedModel
    worker: Worker
    metrics: Metrics

    def calls(self, work: Callable[[], object]) -> list[Call]:
        """The calls of DynamoDB that some work makes."""
        self.meter.reset()
        work()
        return self.meter.calls

    def usage(self, work: Callable[[], object]) -> Usage:
        return Usage.of(self.calls(work))

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The body of an answer of the API that is no error."""
        answer = self.api.call(method, path, body, query=query)
        assert answer.status < 300, answer
        self.metrics.clear_metrics()  # a hundred of them would be printed among the results
        return answer.body

    def turn(self, conversation_id: str, question: str, answer: str, *, window: int | None = None) -> None:
        """Ask through the API, and answer as the turn function does, streaming, over a window of so many messages."""
        self.ask(conversation_id, question, window=window)
        self.answer(answer)

    def ask(self, conversation_id: str, question: str, *, window: int | None = None) -> None:
        asked = {"content": [{"text": question}], **({"window": {"maxMessages": window}} if window else {})}
        self.request("POST", f"/conversations/{conversation_id}/turns", asked)

    def answer(self, text: str) -> None:
        """Answer what was asked last."""
        self.model.scripts = [lambda: _streamed(text)]
        outcome = self.worker.answer(dict(self.api.invocations.descriptors[-1]), PLENTY_MS)
        assert outcome["outcome"] == "complete", outcome
        self.metrics.clear_metrics()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.unmetered.clock.sleep(seconds)


@contextmanager
def metered(endpoint_url: str) -> Iterator[Metered]:
    """Fresh tables at an engine, and the functions at them through a meter."""
    clock = SteppingClock()
    with DynamoDBMeter(counts_reads=True) as meter, bed(endpoint_url, clock=clock) as direct:
        meter.upstream = endpoint_url
        store = direct.store_through(meter.url)
        model, logger = PlayedModel(), Logger(service="bench", stream=io.StringIO())
        metrics = Metrics(namespace="bench", service="bench")
        worker = Worker(store, clock, model, SETTINGS, logger, metrics)
        yield Metered(direct, Api(store, clock), meter, model, worker, metrics)


def _streamed(text: str) -> Iterator[Mapping[str, Any]]:
    return deltas(*(text[place : place + CHUNK] for place in range(0, len(text), CHUNK)))
