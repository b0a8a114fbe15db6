"""What a turn costs in write units: a user's message and its answer of 1,024 bytes of English prose each, the claim and
one partial text, at any length of the conversation at most 14.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

import pytest

from tests.bed.dynamodb_meter import Call
from tests.bed.prose import prose
from tests.bench.bed import text
from tests.bench.metered import Metered
from tests.bench.turns import SIZE

pytestmark = pytest.mark.slow

Units = Counter[tuple[str, str, str]]  # kind of item, index or "", operation
BUDGET = 14
LENGTHS = (1, 10, 100, 1000)
TEXTS = 3


def test_a_turn_is_14_write_units_at_any_length(service: Metered) -> None:
    conversation_id = service.api.create()
    messages = 0
    costs: dict[int, list[Units]] = {}
    for turn in LENGTHS:
        service.unmetered.extend(conversation_id, messages, 2 * (turn - 1), SIZE)
        costs[turn] = [_cost(service, conversation_id, number) for number in range(TEXTS)]
        messages = 2 * (turn - 1 + TEXTS)

    totals = {turn: {sum(units.values()) for units in found} for turn, found in costs.items()}
    assert totals == {turn: {BUDGET} for turn in LENGTHS}, _table(costs)
    assert costs[1000] == costs[1], _table(costs)


def test_streaming_20_kilobytes_costs_three_times_storing_them_once_at_most(service: Metered) -> None:
    answer = text(7, 20_480)
    conversation_id = service.api.create()
    service.api.say(conversation_id, "q")
    once = service.usage(lambda: service.api.say(conversation_id, answer, "assistant")).write_units
    service.ask(conversation_id, "q")

    calls = service.calls(lambda: service.answer(answer))

    writes = [call for call in calls if call.is_write]
    assert len([call for call in writes if call.operation == "UpdateItem"]) > 3  # readers could follow it
    assert sum(sum(call.units.values()) for call in writes) <= 3 * once


def test_the_prose_is_no_easier_than_english() -> None:
    shrunk = [len(zlib.compress(prose(number).encode())) / 1024 for number in range(10)]

    assert min(shrunk) > 0.5  # English of this length shrinks to 0.50 to 0.58


def _cost(service: Metered, conversation_id: str, number: int) -> Units:
    question, answer = text(2 * number, SIZE), text(2 * number + 1, SIZE)
    calls = service.calls(partial(service.turn, conversation_id, question, answer, window=20))
    counted: Units = Counter()
    for call in (call for call in calls if call.is_write):
        for (table, index), units in call.units.items():
            counted[_kind(service, call, table), index, call.operation] += int(units)
    return counted


def _kind(service: Metered, call: Call, table: str) -> str:
    """What the one item of a table is that a call writes; with it the part of the turn that it belongs to."""
    tables = service.unmetered.tables
    answers = any(id_.endswith(".response") for id_ in call.item_ids(tables.messages))
    part = "answer" if answers else "question"
    [id_] = call.item_ids(table)
    if id_.endswith(".turn"):
        return "turn: claim" if call.operation == "PutItem" else "turn: partial text"
    return f"{part}: {'conversation' if table == tables.conversations else 'message'}"


def _table(costs: Mapping[int, Iterable[Units]]) -> str:
    """The units of each kind of item and index, a row for each, at every length."""
    rows = sorted({key for found in costs.values() for units in found for key in units})
    shown = [f"{'item':24}{'index':28}{'by':20}" + "".join(f"turn {turn:<8}" for turn in costs)]
    for row in rows:
        cells = ("-".join(map(str, sorted({units[row] for units in found}))) for found in costs.values())
        shown.append(f"{row[0]:24}{row[1] or '(table)':28}{row[2]:20}" + "".join(f"{cell:13}" for cell in cells))
    return "\n".join(shown)
