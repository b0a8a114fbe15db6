"""What a turn costs when it is deployed: as much as `tests/budgets` counts in one process, at every length."""

import httpx
import pytest

from tests.bed.prose import prose
from tests.bed.replies import Pause, Reply, Text
from tests.bed.stack import Stack
from tests.e2e.calls import ask, create, followed

pytestmark = pytest.mark.stack

BUDGET = 14
TURNS = 3


def _answer(number: int) -> Reply:
    """A streamed answer that takes as long as one partial text needs to be due once."""
    chunks = [prose(number)[place : place + 32] for place in range(0, 1024, 32)]
    return Reply([Text(chunks[:16]), Pause(0.6), Text(chunks[16:])])


def test_a_turn_of_the_deployed_functions_is_14_write_units(http: httpx.Client, stack: Stack) -> None:
    path = create(http)

    costs = [_cost(http, stack, path, number) for number in range(TURNS)]

    # The hour by which administrators list may change between two of them, which costs 2 more in that one.
    assert sorted(costs)[: TURNS - 1] == [BUDGET] * (TURNS - 1), costs
    assert max(costs) <= BUDGET + 2


def _cost(http: httpx.Client, stack: Stack, path: str, number: int) -> float:
    """The write units of the functions' calls for one turn."""
    stack.reset()
    stack.bedrock.script(_answer(number + 1000))
    question = ask(http, path, prose(number))
    answered = followed(http, path, question)
    assert answered["turn"]["status"] == "complete"
    assert len("".join(block["text"] for block in answered["message"]["content"])) == 1024
    return sum(sum(call.units.values()) for call in stack.meter.calls if call.is_write)
