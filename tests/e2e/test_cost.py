"""What a turn costs in write units, counted from the deployed functions' own calls: flat, and at most 14.

A turn is a user's message and its answer of 1,024 bytes of English prose each, the claim and one partial text.
"""

from collections import Counter
from collections.abc import Iterable

import httpx
import pytest

from tests.bed.dynamodb_meter import Call
from tests.bed.prose import prose
from tests.bed.replies import Pause, Reply, Text
from tests.bed.stack import Stack
from tests.e2e.calls import ask, create, followed

pytestmark = pytest.mark.stack

Units = Counter[tuple[str, str, str]]  # (kind of item, index or "", operation)
BUDGET = 14
TEXTS = 10
LENGTHS = (1, 10, 100)


def _answer(number: int) -> Reply:
    """A streamed answer that takes as long as one partial text needs to be due once."""
    chunks = [prose(number)[place : place + 32] for place in range(0, 1024, 32)]
    return Reply([Text(chunks[:16]), Pause(0.6), Text(chunks[16:])])


def _turn(http: httpx.Client, stack: Stack, path: str, number: int) -> list[Call]:
    """The calls of the functions for one turn."""
    stack.reset()
    stack.bedrock.script(_answer(number + 1000))
    question = ask(http, path, prose(number))
    answered = followed(http, path, question)
    assert answered["turn"]["status"] == "complete"
    assert len("".join(block["text"] for block in answered["message"]["content"])) == 1024
    return stack.meter.calls


def _units(stack: Stack, calls: Iterable[Call]) -> Units:
    counted: Units = Counter()
    for call in (call for call in calls if call.is_write):
        for (table, index), number in call.units.items():
            assert number == int(number)
            kind = _kind(stack, call, table)
            counted[kind, index, call.operation] += int(number)
    return counted


def _kind(stack: Stack, call: Call, table: str) -> str:
    """What the one item of a table is that a call writes; with it the part of the turn that it belongs to."""
    answers = any(id_.endswith(".response") for id_ in call.item_ids(stack.messages_table))
    part = "answer" if answers else "question"
    [id_] = call.item_ids(table)
    if id_.endswith(".turn"):
        return "turn: claim" if call.operation == "PutItem" else "turn: partial text"
    return f"{part}: {'conversation' if table == stack.conversations_table else 'message'}"


def _append_to_length(http: httpx.Client, path: str, turns: int) -> None:
    """Earlier turns, as many as there are to be."""
    count = http.get(path).json()["messageCount"] // 2
    for first in range(count, turns, 49):
        batch = [
            {"role": role, "content": [{"text": prose(5000 + place)}]}
            for place in range(first, min(turns, first + 49))
            for role in ("user", "assistant")
        ]
        assert http.post(f"{path}/messages", json={"messages": batch}).status_code == 201


def test_a_turn_is_at_most_14_write_units_at_any_length(http: httpx.Client, stack: Stack) -> None:
    costs: dict[int, list[Units]] = {}
    path = create(http)
    for turns in LENGTHS:
        _append_to_length(http, path, turns - 1)
        costs[turns] = []
        for text in range(TEXTS):
            at = create(http) if turns == 1 and text else path
            costs[turns].append(_units(stack, _turn(http, stack, at, text)))

    print(_table(costs))
    totals = {turns: {sum(units.values()) for units in found} for turns, found in costs.items()}
    # The hour by which administrators list may change between two of them, which costs 2 more in that one.
    assert {turns: min(found) for turns, found in totals.items()} == dict.fromkeys(LENGTHS, BUDGET), _table(costs)
    assert all(max(found) <= BUDGET + 2 for found in totals.values())
    usual = {turns: sum(sum(units.values()) == BUDGET for units in found) for turns, found in costs.items()}
    assert all(count >= TEXTS - 1 for count in usual.values()), _table(costs)


def _table(costs: dict[int, list[Units]]) -> str:
    """The units of each kind of item and index, as a row for each, at every length."""
    rows = sorted({key for found in costs.values() for units in found for key in units})
    shown = [f"{'item':24}{'index':28}{'by':20}" + "".join(f"turn {turns:<8}" for turns in costs)]
    for row in rows:
        cells = (_range(units[row] for units in found) for found in costs.values())
        shown.append(f"{row[0]:24}{row[1] or '(table)':28}{row[2]:20}" + "".join(f"{cell:13}" for cell in cells))
    totals = (_range(sum(units.values()) for units in found) for found in costs.values())
    return "\n".join([*shown, f"{'all':72}" + "".join(f"{total:13}" for total in totals)])


def _range(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return "-".join(str(number) for number in (found[0], found[-1])) if len(found) > 1 else str(found[0])
