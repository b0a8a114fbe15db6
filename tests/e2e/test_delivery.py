"""What happens to a turn when events come twice, the model fails, the function's process dies, or its question goes."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.bed.messages import said
from tests.bed.processes import is_connected_to
from tests.bed.replies import Hold, Pause, Reply, Text, invalid, text
from tests.bed.stack import Stack
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack

WITHIN_S = 30


def _event(question_id: str) -> dict[str, Any]:
    """The three members that the turn function needs."""
    return {
        "conversationId": question_id.partition(".")[0],
        "currentMessageId": question_id,
        "owner": "anonymous",
    }


def _delivered(stack: Stack, event: dict[str, Any]) -> dict[str, Any]:
    """What the turn function says when it is handed an event, or the error that Lambda would see."""
    answer = stack.client("lambda").invoke(FunctionName=stack.turn_function, Payload=json.dumps(event))
    outcome: dict[str, Any] = json.loads(answer["Payload"].read())
    return outcome


def eventually(read: Callable[[], Any], wanted: Any) -> None:
    until = time.monotonic() + WITHIN_S
    while (found := read()) != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.2)


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


# Twice


def test_an_event_that_comes_twice_in_a_row_costs_the_model_once(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    question = ask(http, path, "q")
    followed(http, path, question)
    [invocation] = stack.lambda_recorder.invocations
    before = messages(http, path)

    again = [_delivered(stack, event) for event in (json.loads(invocation.payload), _event(question))]

    assert [outcome["outcome"] for outcome in again] == ["superseded"] * 2
    assert len(stack.bedrock.requests) == 1
    assert messages(http, path) == before
    assert followed(http, path, question)["turn"]["attempt"] == 1


def test_events_that_come_at_once_give_one_answer(http: httpx.Client, stack: Stack, beside: ThreadPoolExecutor) -> None:
    path = create(http)
    question = append(http, path, said("q"))["id"]
    hold = Hold()
    stack.bedrock.script(Reply([hold, Text(["once"])]))

    delivered = [beside.submit(_delivered, stack, _event(question)) for _ in range(4)]
    eventually(lambda: sum(one.done() for one in delivered), 3)
    hold.released.set()
    outcomes = [one.result(WITHIN_S) for one in delivered]

    assert [outcome["outcome"] for outcome in outcomes if "outcome" in outcome] == ["complete"]
    # The others raised, so that Lambda asks again later.
    assert len([outcome for outcome in outcomes if "errorMessage" in outcome]) == 3
    assert len(stack.bedrock.requests) == 1
    assert [message["content"] for message in messages(http, path)] == [said("q"), said("once")]


def test_an_event_that_comes_while_another_works_is_delivered_again_and_finds_it_done(
    http: httpx.Client, stack: Stack
) -> None:
    path = create(http)
    hold = Hold()
    stack.bedrock.script(Reply([hold, Text(["once"])]))
    question = ask(http, path, "q")
    assert hold.reached.wait(WITHIN_S)
    payload = json.dumps(_event(question))
    stack.client("lambda").invoke(FunctionName=stack.turn_function, InvocationType="Event", Payload=payload)
    time.sleep(0.5)
    hold.released.set()

    assert followed(http, path, question)["turn"]["attempt"] == 1
    time.sleep(1.5)  # Lambda, as it is played here, asks again at once
    assert len(stack.bedrock.requests) == 1
    assert [message["content"] for message in messages(http, path)] == [said("q"), said("once")]


# Failures


def test_what_was_refused_fails_at_once_with_a_message_and_may_be_asked_again(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    stack.bedrock.script(invalid("The image is too large."), text("fine now"))
    question = ask(http, path, "q")
    failed = followed(http, path, question)["turn"]

    again = http.post(f"{path}/turns/{question}", json={})
    complete = followed(http, path, question)
    refused = http.post(f"{path}/turns/{question}", json={})

    assert (failed["status"], failed["error"]["code"], failed["attempt"]) == ("failed", "ModelError", 1)
    assert failed["error"]["message"]
    assert (again.status_code, again.json()["turn"]["status"]) == (202, "pending")
    assert (complete["turn"]["status"], complete["turn"]["attempt"]) == ("complete", 2)
    assert complete["message"]["content"] == said("fine now")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "TurnState")
    assert len(stack.bedrock.requests) == 2


# The process dies


def _killed_in_mid_stream(http: httpx.Client, stack: Stack, path: str, *, lease_is_over: bool) -> str:
    """The id of a question whose answer had begun when the function's process was killed."""
    hold = Hold()
    stack.bedrock.script(Reply([Text(["half of it "]), Pause(0.6), Text(["more "]), hold]))
    question = ask(http, path, "q")
    assert hold.reached.wait(WITHIN_S)
    eventually(lambda: followed(http, path, question, after=0)["turn"]["partialText"], "half of it more ")
    if lease_is_over:
        end_lease(stack, question)
    [worker] = _at_work(stack)
    os.kill(worker, signal.SIGKILL)
    hold.released.set()
    return question


def _at_work(stack: Stack) -> list[int]:
    """The process that holds a connection to the model open."""
    port = int(stack.bedrock.url.rpartition(":")[2])
    return [worker for worker in stack.workers(stack.turn_function) if is_connected_to(worker, port)]


def end_lease(stack: Stack, question: str) -> None:
    """As if the minute had passed."""
    stack.client("dynamodb").update_item(
        TableName=stack.messages_table,
        Key={"id": {"S": f"{question}.turn"}},
        UpdateExpression="SET leaseUntil = :over",
        ExpressionAttributeValues={":over": {"N": "1"}},
    )


def test_when_the_process_dies_and_the_lease_is_over_the_next_attempt_answers(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    question = _killed_in_mid_stream(http, stack, path, lease_is_over=True)
    stack.bedrock.script(text("whole"))

    complete = followed(http, path, question)

    assert (complete["turn"]["status"], complete["turn"]["attempt"]) == ("complete", 2)
    assert complete["message"]["content"] == said("whole")
    assert [message["position"] for message in messages(http, path)] == [1, 2]


@pytest.fixture
def _impatient_failure_queue(stack: Stack) -> Iterator[None]:
    """What a consumer leaves in the queue comes back after 2 seconds instead of 11 minutes."""
    queues, url = stack.client("sqs"), stack.local.outputs["TurnFailuresQueueUrl"]
    before = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    queues.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "2"})
    yield
    queues.set_queue_attributes(QueueUrl=url, Attributes=before)


@pytest.mark.usefixtures("_impatient_failure_queue")
def test_when_no_attempt_comes_after_the_lease_the_turn_fails_and_may_be_asked_again(
    http: httpx.Client, stack: Stack
) -> None:
    path = create(http)
    question = _killed_in_mid_stream(http, stack, path, lease_is_over=False)
    eventually(lambda: _waiting(stack), 1)
    leased = http.get(f"{path}/turns/{question}").json()["turn"]

    end_lease(stack, question)
    failed = followed(http, path, question)["turn"]
    stack.bedrock.script(text("whole"))
    http.post(f"{path}/turns/{question}", json={})
    complete = followed(http, path, question)

    assert (leased["status"], leased["partialText"]) == ("running", "half of it more ")
    assert (failed["status"], failed["error"]["code"]) == ("failed", "GivenUp")
    assert failed["partialText"] == "half of it more "
    assert (complete["turn"]["status"], complete["message"]["content"]) == ("complete", said("whole"))
    assert len(stack.bedrock.requests) == 2
    eventually(lambda: _waiting(stack), 0)


def _waiting(stack: Stack) -> int:
    """How many events stand in the failure queue, whether somebody has them in hand or not."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = stack.local.outputs["TurnFailuresQueueUrl"]
    attributes = stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


# The question goes while it is answered


def _while_it_is_answered(
    http: httpx.Client, stack: Stack, beside: ThreadPoolExecutor, path: str
) -> tuple[str, Hold, Future[dict[str, Any]]]:
    """A question whose answer has begun, what holds the model, and what the function will say."""
    hold = Hold()
    stack.bedrock.script(Reply([Text(["too "]), hold, Text(["late"])]))
    question = append(http, path, said("q"), clientMessageId="q")["id"]
    outcome = beside.submit(_delivered, stack, _event(question))
    assert hold.reached.wait(WITHIN_S)
    return question, hold, outcome


def _items_of(stack: Stack, question: str) -> set[str]:
    pages = stack.client("dynamodb").get_paginator("scan").paginate(TableName=stack.messages_table)
    ids = (item["id"]["S"] for page in pages for item in page["Items"])
    return {id_ for id_ in ids if id_.startswith(question.partition(".")[0])}


def test_a_clear_while_a_turn_runs_leaves_no_answer_and_old_keys_bring_nothing_back(
    http: httpx.Client, stack: Stack, beside: ThreadPoolExecutor
) -> None:
    path = create(http)
    question, hold, outcome = _while_it_is_answered(http, stack, beside, path)

    cleared = http.delete(f"{path}/messages")
    hidden = messages(http, path)
    hold.released.set()

    assert outcome.result(WITHIN_S)["outcome"] == "superseded"
    assert (cleared.status_code, hidden, messages(http, path)) == (204, [], [])
    assert f"{question}.response" not in _items_of(stack, question)
    assert http.get(f"{path}/turns/{question}").status_code == 404
    again = append(http, path, said("q"), clientMessageId="q")
    assert (again["position"], again["previousMessageId"]) == (1, None)
    assert again["id"] != question
    assert messages(http, path) == [again]
    eventually(lambda: _items_of(stack, question), {again["id"]})


def test_a_deletion_while_a_turn_runs_leaves_nothing(
    http: httpx.Client, stack: Stack, beside: ThreadPoolExecutor
) -> None:
    path = create(http)
    question, hold, outcome = _while_it_is_answered(http, stack, beside, path)

    assert http.delete(path).status_code == 204
    hold.released.set()

    assert outcome.result(WITHIN_S)["outcome"] == "superseded"
    eventually(lambda: _items_of(stack, question), set())


def test_a_cancelled_turn_leaves_no_answer_and_may_be_asked_again(http: httpx.Client, stack: Stack) -> None:
    path = create(http)
    hold = Hold()
    stack.bedrock.script(Reply([Text(["too "]), Pause(0.6), Text(["early "]), hold, Text(["late"])]))
    question = ask(http, path, "q")
    assert hold.reached.wait(WITHIN_S)

    cancelled = http.delete(f"{path}/turns/{question}").json()["turn"]
    hold.released.set()
    repeated = http.delete(f"{path}/turns/{question}")
    stack.bedrock.script(text("at last"))
    http.post(f"{path}/turns/{question}", json={})
    complete = followed(http, path, question)

    assert cancelled["status"] == "cancelled"
    assert (repeated.status_code, repeated.json()["turn"]) == (200, cancelled)
    assert complete["message"]["content"] == said("at last")
    assert [message["content"] for message in messages(http, path)] == [said("q"), said("at last")]
    assert http.delete(f"{path}/turns/{question}").status_code == 409
