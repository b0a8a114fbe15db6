"""Many at once, with conflicts and throttles among them, and with deletes and clears in between."""

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from cleanup.worker import Worker as Cleaner
from conversations import appending, turns
from conversations.appending import Appending
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.dynamo_cleaning import DynamoRemains
from conversations.errors import ServiceError
from conversations.model import Draft
from conversations.traces import NewTrace, add_trace
from tests.bed.audited import assert_sound
from tests.bed.cleanup import Cleanup, MemoryQueue
from tests.bed.faults import service_error
from tests.bed.in_process import Answer, Api
from tests.bed.messages import said
from tests.bed.played_model import PLENTY_MS, SETTINGS, PlayedModel
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock
from turn.worker import Worker

REASONS = [
    service_error("TransactionCanceledException", ["TransactionConflict", "None"]),
    service_error("TransactionCanceledException", ["None", "TransactionConflict"]),
    service_error("TransactionCanceledException", ["ThrottlingError", "None"]),
    service_error("TransactionCanceledException", ["None", "ProvisionedThroughputExceeded"]),
    service_error("TransactionInProgressException"),
    service_error("ThrottlingException"),
]


@pytest.fixture
def conflicts(own_dynamodb: Any) -> list[int]:
    """A third of all transactions meet a conflict or a throttle that nobody caused."""
    chance, met = random.Random(7), []
    lock = threading.Lock()

    def hook(request: Any, **_: Any) -> Any:
        with lock:
            if chance.random() > 1 / 3:
                return None
            met.append(1)
            return chance.choice(REASONS)(request)

    own_dynamodb.meta.events.register("before-send.dynamodb.TransactWriteItems", hook)
    return met


@pytest.fixture
def cleanup(
    store: DynamoStore, own_dynamodb: Any, dynamodb: Any, s3: Any, tables: Tables, clock: TestClock
) -> Iterator[Cleanup]:
    names = TableNames(tables.messages, tables.conversations)
    remains = DynamoRemains(own_dynamodb, names, lambda: s3, tables.bodies, clock)
    bodies: list[str] = []
    metrics = Metrics("test", "test")
    worker = Cleaner(store, remains, clock, MemoryQueue(bodies), Logger(service="test"), metrics)
    streams = boto3.client("dynamodbstreams", endpoint_url=dynamodb.meta.endpoint_url)
    yield Cleanup(worker, dynamodb, streams, s3, tables, bodies)
    metrics.clear_metrics()


def _texts(api: Api, conversation_id: str) -> list[str]:
    page = api.call("GET", f"/conversations/{conversation_id}/messages", query={"limit": 1000}).body
    return [message["content"][0]["text"] for message in page["messages"]]


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "in_a_row"), [(8, 5), (40, 1)])
def test_all_are_stored_in_the_order_of_each_writer(
    api: Api,
    store: DynamoStore,
    clock: TestClock,
    conflicts: list[int],
    dynamodb: Any,
    s3: Any,
    tables: Tables,
    writers: int,
    in_a_row: int,
) -> None:
    conversation_id = api.create()

    def write(writer: int) -> None:
        for turn in range(in_a_row):
            draft = Draft(os.urandom(8).hex(), "user", said(f"{writer}.{turn}"))
            appending.append(store, clock, Appending("anonymous", conversation_id, [draft], "hash"))

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))

    found = _texts(api, conversation_id)
    assert sorted(found) == sorted(f"{writer}.{turn}" for writer in range(writers) for turn in range(in_a_row))
    for writer in range(writers):
        own = [text for text in found if text.partition(".")[0] == str(writer)]
        assert own == [f"{writer}.{turn}" for turn in range(in_a_row)]
    assert len(conflicts) > 5
    assert_sound(dynamodb, s3, **asdict(tables))


# Deletes and clears in between


def _append(api: Api, conversation_id: str, role: str = "user", text: str = "x") -> Answer:
    return api.call("POST", f"/conversations/{conversation_id}/messages", {"role": role, "content": said(text)})


Act = Callable[[Api, str], Answer]
WRITES: list[Act] = [
    _append,
    lambda api, id_: _append(api, id_, text=os.urandom(40_000).hex()),
    lambda api, id_: _append(api, id_, "assistant"),
    lambda api, id_: api.call("PATCH", f"/conversations/{id_}", {"name": "Turin " * 100}),
    lambda api, id_: api.call("GET", f"/conversations/{id_}/messages"),
    lambda api, id_: api.call("GET", f"/conversations/{id_}/history"),
]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["DELETE /conversations/{c}", "DELETE /conversations/{c}/messages"])
def test_what_races_a_deletion_or_a_clear_fails_or_is_removed(
    api: Api,
    lagging: Any,
    clock: TestClock,
    cleanup: Cleanup,
    dynamodb: Any,
    s3: Any,
    tables: Tables,
    end: str,
) -> None:
    rounds = 6
    ended: list[str] = []
    for _ in range(rounds):
        conversation_id = api.create(name="x", sessionId=os.urandom(4).hex())
        path = f"/conversations/{conversation_id}"
        asked = [api.call("POST", f"{path}/turns", {"content": said("q")}).body["message"]["id"] for _ in range(3)]
        acts: list[Callable[[], Any]] = [partial(act, Api(api.store, clock), conversation_id) for act in WRITES * 2]
        acts += [partial(_answer, lagging, clock, question) for question in asked]
        method, _, ending = end.replace("{c}", conversation_id).partition(" ")
        acts.insert(len(acts) // 2, partial(Api(api.store, clock).call, method, ending))
        with ThreadPoolExecutor(len(acts)) as pool:
            done = [pool.submit(act) for act in acts]
        statuses = {future.result().status for future in done if hasattr(future.result(), "status")}
        assert statuses <= {200, 201, 204, 404, 409, 422}, statuses
        ended.append(conversation_id)
    cleanup.settle()

    for conversation_id in ended:
        path = f"/conversations/{conversation_id}"
        if end.endswith("messages"):
            before = _texts(api, conversation_id)
            added = api.say(conversation_id, "after it")
            assert added["position"] == len(before) + 1
            assert _texts(api, conversation_id) == [*before, "after it"]
        else:
            assert api.call("GET", path).status == 404
            left = [id_ for id_ in cleanup.contents().of(conversation_id) if not id_.endswith(".turn")]
            assert left == []
    assert_sound(dynamodb, s3, **asdict(tables))


def _answer(store: Any, clock: TestClock, question: str) -> Any:
    """An event that comes while the conversation goes: whatever becomes of it, it says so in order."""
    worker = Worker(store, clock, PlayedModel(), SETTINGS, Logger(service="test"), Metrics("test", "test"))
    event = {"conversationId": question[:20], "currentMessageId": question, "owner": "anonymous"}
    try:
        return worker.answer(event, PLENTY_MS)
    except ServiceError as error:
        return error


# A thousand of everything


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("end", ["delete", "clear", "expire"])
def test_a_thousand_messages_traces_turns_and_objects_are_gone(
    api: Api,
    store: DynamoStore,
    clock: TestClock,
    cleanup: Cleanup,
    dynamodb: Any,
    s3: Any,
    tables: Tables,
    end: str,
) -> None:
    thousand = 1000
    conversation_id = api.create(ttlDays=1)
    path = f"/conversations/{conversation_id}"
    asked: list[str] = []
    for first in range(0, thousand, 50):
        batch = [_large(place) for place in range(first, first + 50)]
        added = api.call("POST", f"{path}/messages", {"messages": batch})
        asked += [message["id"] for message in added.body["messages"]]
    for number, message_id in enumerate(asked):
        turns.claim(store, clock, turns.Question(conversation_id, message_id, None))
        new = NewTrace(message_id, number, input="step")
        add_trace(store, clock, owner=None, conversation_id=conversation_id, new=new)
    before = cleanup.contents()
    assert (len(before.messages), len(before.objects)) == (3 * thousand, thousand)
    cleanup.hand_over()

    if end == "expire":
        cleanup.edit(conversation_id, "SET expiresAt = :past", past=1)
        cleanup.queue.append(json.dumps({"conversationId": conversation_id}))
    else:
        assert api.call("DELETE", path if end == "delete" else f"{path}/messages").status == 204
    cleanup.settle()

    left = cleanup.contents()
    assert (len(left.messages), len(left.objects)) == (0, 0)
    assert_sound(dynamodb, s3, **asdict(tables))


def _large(place: int) -> dict[str, Any]:
    return {"role": "user", "content": said(f"{place} " + os.urandom(33_000).hex())}
