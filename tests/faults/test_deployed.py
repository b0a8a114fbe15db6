"""Faults of AWS under the deployed service, by a proxy between its functions and the engine."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from infra.api import TIMEOUT
from tests.bed.audited import assert_sound
from tests.bed.fault_proxy import KINDS
from tests.bed.messages import said
from tests.bed.replies import Pause, Reply, Text
from tests.bed.stack import Stack
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack

WITHIN_S = 60
LARGE = said("large " + os.urandom(50_000).hex())


@pytest.fixture(scope="module", autouse=True)
def _sound_afterwards(_deployed_stack: Stack) -> Iterator[None]:
    """Whatever was injected, every invariant holds over all that these tests have stored."""
    before = _ids(_deployed_stack)
    yield
    _deployed_stack.reset()
    _audit(_deployed_stack, before)


def _ids(stack: Stack) -> set[str]:
    pages = stack.client("dynamodb").get_paginator("scan").paginate(TableName=stack.conversations_table)
    return {item["id"]["S"] for page in pages for item in page["Items"]}


def _audit(stack: Stack, before: set[str]) -> None:
    clients = stack.client("dynamodb"), stack.client("s3")
    names = {"messages": stack.messages_table, "conversations": stack.conversations_table}
    assert_sound(*clients, **names, bodies=stack.bodies_bucket, but_for=before)


# What happens once


SLOW_ANSWER = [{"text": "some"}, {"text": "more"}, {"text": "all"}]  # its partial text is kept on the way


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "lost" else pytest.mark.faults) for kind in KINDS]
)
def test_when_every_operation_goes_wrong_once_nobody_notices(http: httpx.Client, stack: Stack, kind: str) -> None:
    stack.faults.first_of_each(kind)
    path = create(http, name="Turin " * 100, sessionId=os.urandom(8).hex())
    large = append(http, path, LARGE)
    assert http.get(f"{path}/messages/{large['id']}").json() == large
    stack.bedrock.script(Reply([Text(["some"]), Pause(0.6), Text(["more"]), Pause(0.1), Text(["all"])]))
    question = ask(http, path, "q")
    answered = followed(http, path, question)
    stack.faults.first_of_each(kind)
    chain = messages(http, path)
    history = http.get(f"{path}/history").json()

    assert answered["turn"]["status"] == "complete"
    assert [message["content"] for message in chain] == [LARGE, said("q"), SLOW_ANSWER]
    assert history["messages"][-1]["content"][-1:] == said("q")
    assert len(stack.bedrock.requests) == 1
    stack.faults.first_of_each(kind)
    assert http.delete(path).status_code == 204
    assert http.get(path).status_code == 404
    _wait_until_cleaned(stack, path.rpartition("/")[2])
    assert set(stack.faults.injected) >= USED


USED = {
    *("dynamodb.GetItem", "dynamodb.BatchGetItem", "dynamodb.Query", "dynamodb.TransactWriteItems"),
    *("dynamodb.PutItem", "dynamodb.UpdateItem", "dynamodb.DeleteItem", "dynamodb.BatchWriteItem"),
    *("s3.PutObject", "s3.GetObject", "s3.DeleteObjects", "s3.ListObjectsV2", "sqs.SendMessage", "lambda.Invoke"),
}
"""Every operation that the functions' permissions allow, but for the removal of one object by who lost a race."""


def _wait_until_cleaned(stack: Stack, conversation_id: str) -> None:
    until = time.monotonic() + WITHIN_S
    while left := _left_of(stack, conversation_id):
        assert time.monotonic() < until, left
        time.sleep(0.5)


def _left_of(stack: Stack, conversation_id: str) -> list[str]:
    """What there is of a conversation beside its tombstone."""
    found = []
    for table in (stack.messages_table, stack.conversations_table):
        for page in stack.client("dynamodb").get_paginator("scan").paginate(TableName=table):
            found += [item["id"]["S"] for item in page["Items"] if item["id"]["S"].startswith(conversation_id)]
    listed = stack.client("s3").list_objects_v2(Bucket=stack.bodies_bucket, Prefix=conversation_id)
    objects = [entry["Key"] for entry in listed.get("Contents", ())]
    return [left for left in found + objects if left != conversation_id]


# What stays


def _post(path: str, body: Any) -> Callable[[httpx.Client, str], httpx.Response]:
    return lambda http, at: http.post(f"{at}{path}", json=body, headers={"Idempotency-Key": "k"})


def _get(path: str) -> Callable[[httpx.Client, str], httpx.Response]:
    return lambda http, at: http.get(f"{at}{path}")


Request = Callable[[httpx.Client, str], httpx.Response]
TOGETHER: list[dict[str, tuple[str, Request]]] = [
    # What is down, and a request that needs it; those of one group wait for their time-outs at once.
    {"reading a head": ("dynamodb.GetItem", _get("/messages"))},
    {
        "reading a message": ("dynamodb.BatchGetItem", lambda http, at: http.get(f"{at}/messages/{at[15:]}.m")),
        "reading a page": ("dynamodb.Query", _get("/messages")),
        "deleting": ("dynamodb.PutItem", lambda http, at: http.delete(at)),
        "appending": ("dynamodb.TransactWriteItems", _post("/messages", {"role": "user", "content": said("x")})),
        "appending a large one": ("s3.PutObject", _post("/messages", {"role": "user", "content": LARGE})),
    },
    {
        "reading a large one": ("s3.GetObject", _get("/messages")),
        "starting a turn": ("lambda.Invoke", _post("/turns", {"content": said("x")})),
    },
]


@pytest.mark.faults
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("requests", TOGETHER, ids=lambda requests: ", ".join(requests))
def test_what_stays_down_is_503_in_time_and_can_be_sent_again(
    http: httpx.Client, stack: Stack, requests: dict[str, tuple[str, Request]], kind: str
) -> None:
    paths = {name: create(http) for name in requests}
    for path in paths.values():
        append(http, path, LARGE, clientMessageId="m")
    for operation, _ in requests.values():
        stack.faults.down(operation, kind)

    with ThreadPoolExecutor(len(requests)) as pool:
        sent = {name: pool.submit(_timed, http, requests[name][1], path) for name, path in paths.items()}
    stack.faults.reset()

    for name, future in sent.items():
        answer, seconds = future.result()
        if answer.is_success and kind in ("lost", "late"):
            continue  # it was carried out, and a new read showed that
        assert answer.status_code == 503, (name, answer.text)
        assert (answer.json()["error"]["code"], answer.headers["retry-after"]) == ("Busy", "1"), name
        assert seconds < TIMEOUT.to_seconds(), name
        again = requests[name][1](http, paths[name]).status_code
        assert again in (200, 201, 202, *AS_WELL.get(name, ())), name


AS_WELL = {"deleting": (204, 404)}  # it was done, and its answer lost


def _timed(http: httpx.Client, request: Request, path: str) -> tuple[httpx.Response, float]:
    started = time.monotonic()
    return request(http, path), time.monotonic() - started
