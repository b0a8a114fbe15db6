"""The process of the turn function is killed at each place where it would hurt.

That it is killed in the middle of the stream of the model is among the tests of delivery.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.bed.fault_proxy import Held
from tests.bed.messages import said
from tests.bed.replies import Hold, Reply, Text
from tests.bed.stack import Stack
from tests.e2e.calls import ask, create, followed, messages
from tests.e2e.test_delivery import _impatient_failure_queue, end_lease, eventually

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("_impatient_failure_queue")]
__all__ = ["_impatient_failure_queue"]

WITHIN_S = 30
ANSWER = said("You said: q")


@contextmanager
def _killed_at(stack: Stack, operation: str, *, is_carried_out: bool) -> Iterator[None]:
    """Kill the process that makes the next call of this operation, before or after it is carried out."""
    held = Held(is_carried_out)
    stack.faults.hold(operation, held)
    yield
    assert held.reached.wait(WITHIN_S)
    for worker in stack.workers(stack.turn_function):
        os.kill(worker, signal.SIGKILL)
    held.released.set()


def _seen(http: httpx.Client, path: str) -> list[Any]:
    return [message["content"] for message in messages(http, path)]


def test_killed_before_the_claim_the_retry_answers(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    with _killed_at(stack, "dynamodb.PutItem", is_carried_out=False):
        question = ask(http, path, "q")

    turn = followed(http, path, question)["turn"]

    assert (turn["status"], turn["attempt"]) == ("complete", 1)
    assert _seen(http, path) == [said("q"), ANSWER]
    assert len(stack.bedrock.requests) == 1


def test_killed_after_the_claim_it_fails_when_its_lease_is_over_and_may_be_asked_again(
    http: httpx.Client, stack: Stack
) -> None:
    path = create(http)
    with _killed_at(stack, "dynamodb.PutItem", is_carried_out=True):
        question = ask(http, path, "q")
    leased = http.get(f"{path}/turns/{question}").json()["turn"]
    end_lease(stack, question)

    ended = followed(http, path, question)["turn"]

    assert leased["status"] == "running"
    # The retry takes it over if it comes after the lease, and otherwise it is given up.
    assert (ended["status"], ended["attempt"]) in (("complete", 2), ("failed", 1))
    if ended["status"] == "failed":
        assert ended["error"]["code"] == "GivenUp"
        assert http.post(f"{path}/turns/{question}", json={}).status_code == 202
        assert followed(http, path, question)["turn"]["status"] == "complete"
    assert _seen(http, path) == [said("q"), ANSWER]
    assert len(stack.bedrock.requests) == 1


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["before it is written", "after it is written"])
def test_killed_with_the_answer_in_hand_there_is_one_answer(
    http: httpx.Client, stack: Stack, *, is_carried_out: bool
) -> None:
    path = create(http)
    hold = Hold()
    stack.bedrock.script(Reply([Text(["You said: q"]), hold]))
    question = ask(http, path, "q")
    assert hold.reached.wait(WITHIN_S)
    with _killed_at(stack, "dynamodb.TransactWriteItems", is_carried_out=is_carried_out):
        hold.released.set()
    end_lease(stack, question)

    ended = followed(http, path, question)["turn"]

    if is_carried_out:
        assert (ended["status"], ended["attempt"]) == ("complete", 1)
    if ended["status"] == "failed":
        http.post(f"{path}/turns/{question}", json={}).raise_for_status()
        assert followed(http, path, question)["turn"]["status"] == "complete"
    assert _seen(http, path) == [said("q"), ANSWER]
    assert len(stack.bedrock.requests) == (1 if is_carried_out else 2)
    eventually(lambda: len(stack.bedrock.requests), 1 if is_carried_out else 2)
