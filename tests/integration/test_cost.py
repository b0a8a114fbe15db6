"""What a turn costs in write units, as the engine counts them: flat, whatever the length of the conversation."""

import random
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.integration.conftest import TestClock
from tests.integration.test_turn import SETTINGS, PlayedModel, deltas
from turn.worker import Worker

WORDS = (  # noqa: SIM905 - a list of 350 lines would hide the test
    "about above across after again against almost along already always among another answer around asked away back "
    "became because before began behind being below between both bread bridge bring brother brought build business "
    "called came cannot carried caught certain change children city clear close cold come could country course covered "
    "dark daughter days decided deep different does door down dream during each early earth east eight either enough "
    "evening ever every eyes face family father feet few field fire first five follow food forest form found friend "
    "front garden gave girl give glass going gold good great green grew ground group grow half hand happened harbour "
    "hard have head hear heart heavy help here high himself hold home horse hour house hundred inside island itself "
    "just keep kept kind king knew know land large last late laugh learn leave left letter light like line listen "
    "little live long look lost love machine made make many matter mean might mile mind money moon more morning most "
    "mother mountain much music must myself name near never next night nothing number ocean often once only open order "
    "other outside over own page paper part people perhaps person picture place plain point poor power question quiet "
    "rain reach read ready reason remember rest river road room round said same save school second seemed seen several "
    "shall ship short should show side silence simple since sister slow small snow some song soon sound south spoke "
    "spring stand stars still stone stood stopped story street strong such summer sure table take talk tell their then "
    "there these thing think third those thought thousand three through time today together told took toward town tree "
    "true turned under until upon usual valley very village voice walk wall want warm watch water week well went were "
    "west what where which while white whole whose wide wind window winter without woman wonder wood word work world "
    "would write year yellow young"
).split()


def prose(number: int) -> str:
    """1,024 bytes of English words, other ones for each number: they compress about as well as English does."""
    rng = random.Random(number)
    words = [rng.choice(WORDS).capitalize() if place % 9 == 0 else rng.choice(WORDS) for place in range(260)]
    return " ".join(f"{word}." if place % 9 == 8 else word for place, word in enumerate(words))[:1024]


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


def test_the_prose_is_no_easier_than_english() -> None:
    shrunk = [len(zlib.compress(prose(number).encode())) / 1024 for number in range(10)]

    assert min(shrunk) > 0.5  # English of this length shrinks to 0.50 to 0.58
