"""What a turn costs in write units, as the engine counts them: flat, whatever the length of the conversation."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conversations.logs import Logger
from conversations.metrics import Metrics
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.played_model import SETTINGS, PlayedModel, deltas
from tests.bed.prose import prose
from tests.integration.conftest import TestClock
from turn.worker import Worker

pytestmark = pytest.mark.slow


@pytest.fixture
def units(own_dynamodb: Any) -> Counter[str]:
    """Write units by operation since the test last cleared it."""
    counted: Counter[str] = Counter()

    def ask(params: dict[str, Any], model: Any, **_: Any) -> None:
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def count(parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        for table in consumed if isinstance(consumed, list) else [consumed]:
            if model.name in ("TransactWriteItems", "PutItem", "UpdateItem"):
                counted[model.name] += table["CapacityUnits"]

    own_dynamodb.meta.events.register("provide-client-params.dynamodb", ask)
    own_dynamodb.meta.events.register("after-call.dynamodb", count)
    return counted


def test_a_turn_of_two_kilobytes_is_14_write_units_at_any_length(
    api: Api, lagging: LaggingStore, clock: TestClock, units: Counter[str]
) -> None:
    model = PlayedModel()
    worker = Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))
    conversation_id = api.create()
    costs = {}
    for turn in range(1, 101):
        units.clear()
        question, answer = prose(turn), prose(turn + 1000)

        def played(text: str = answer) -> Iterator[Mapping[str, Any]]:
            events = list(deltas(*(text[place : place + 20] for place in range(0, 1024, 20))))
            yield from events[:10]
            clock.offset_s += 1
            yield from events[10:]

        model.scripts = [played]
        api.call("POST", f"/conversations/{conversation_id}/turns", {"content": [{"text": question}]})
        worker.answer(dict(api.invocations.descriptors[-1]), 600_000)
        costs[turn] = dict(units)

    totals = {turn: sum(cost.values()) for turn, cost in costs.items()}
    assert {totals[turn] for turn in (1, 10, 100)} == {14}, costs[1]
    assert max(totals.values()) <= 16  # the hour, by which administrators list, may change in between
    assert costs[1] == {"TransactWriteItems": 12, "PutItem": 1, "UpdateItem": 1}


def test_streaming_20_kilobytes_in_a_thousand_chunks_costs_three_times_storing_them_once_at_most(
    api: Api, lagging: LaggingStore, clock: TestClock, units: Counter[str]
) -> None:
    model = PlayedModel()
    worker = Worker(lagging, clock, model, SETTINGS, Logger(service="test"), Metrics("test", "test"))
    answer = "".join(prose(number) for number in range(20))
    size = len(answer) // 1000 + 1

    def played() -> Iterator[Mapping[str, Any]]:
        for event in deltas(*(answer[place : place + size] for place in range(0, len(answer), size))):
            clock.offset_s += 0.03
            yield event

    conversation_id = api.create()
    path = f"/conversations/{conversation_id}"
    api.say(conversation_id, "q")
    units.clear()
    api.say(conversation_id, answer, "assistant")
    once = sum(units.values())
    model.scripts = [played]
    api.call("POST", f"{path}/turns", {"content": [{"text": "q"}]})
    units.clear()
    worker.answer(dict(api.invocations.descriptors[-1]), 600_000)

    assert units["UpdateItem"] > 3  # readers could follow it
    assert sum(units.values()) <= 3 * once


def test_the_prose_is_no_easier_than_english() -> None:
    shrunk = [len(zlib.compress(prose(number).encode())) / 1024 for number in range(10)]

    assert min(shrunk) > 0.5  # English of this length shrinks to 0.50 to 0.58
