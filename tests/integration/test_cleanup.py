"""Cleanup: whatever happens to it, nothing but the tombstone is left of a conversation, and nothing else is touched."""

import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics
from botocore.awsrequest import AWSResponse

from cleanup.worker import Worker
from conversations import dynamo_cleaning
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.dynamo_cleaning import DynamoRemains
from conversations.model import Message, Trace
from conversations.traces import NewTrace, add_trace
from tests.bed.cleanup import PLENTY_MS, Cleanup, MemoryQueue, Populate
from tests.bed.in_process import Api
from tests.bed.opensearch import Cluster
from tests.bed.tables import Tables
from tests.integration.conftest import TestClock

pytestmark = pytest.mark.slow


@pytest.fixture
def remains(own_dynamodb: Any, s3: Any, tables: Tables, clock: TestClock) -> DynamoRemains:
    names = TableNames(tables.messages, tables.conversations)
    return DynamoRemains(own_dynamodb, names, lambda: s3, tables.bodies, clock)


@pytest.fixture(scope="session")
def streams(dynamodb_endpoint: str) -> Any:
    return boto3.client("dynamodbstreams", endpoint_url=dynamodb_endpoint)


@pytest.fixture
def cleanup(
    store: DynamoStore,
    remains: DynamoRemains,
    clock: TestClock,
    dynamodb: Any,
    streams: Any,
    s3: Any,
    tables: Tables,
) -> Iterator[Cleanup]:
    bodies: list[str] = []
    metrics = Metrics("test", "test")
    worker = Worker(store, remains, clock, MemoryQueue(bodies), Logger(service="test"), metrics)
    yield Cleanup(worker, dynamodb, streams, s3, tables, bodies)
    metrics.clear_metrics()  # all instances share them


@pytest.fixture
def populate(api: Api, store: DynamoStore, clock: TestClock, cleanup: Cleanup) -> Populate:
    return Populate(api, store, clock, cleanup)


def _delete(api: Api, conversation_id: str) -> None:
    assert api.call("DELETE", f"/conversations/{conversation_id}").status == 204


def _bare(conversation_id: str) -> str:
    return json.dumps({"conversationId": conversation_id})


@pytest.fixture
def on_call(own_dynamodb: Any) -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Registers what is called before a call of DynamoDB leaves, and takes its place if it returns an answer."""
    registered: list[tuple[str, Callable[..., Any]]] = []

    def register(operation: str, hook: Callable[..., Any]) -> None:
        registered.append((f"before-send.dynamodb.{operation}", hook))
        own_dynamodb.meta.events.register(*registered[-1])

    yield register
    for event, hook in registered:
        own_dynamodb.meta.events.unregister(event, hook)


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def _answer(request: Any, status: int, body: Any) -> AWSResponse:
    headers = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, status, headers, _Raw(json.dumps(body).encode()))


class KilledError(BaseException):
    """The process is no more."""


# What is removed


def test_nothing_is_left_of_a_deleted_conversation_but_a_tombstone_without_content(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    other = populate()
    conversation_id = populate(300)
    kinds = cleanup.contents().of(conversation_id)
    assert len(kinds) == 300 + len(
        ["turn", "receipt", "about", "trace", "session", "recent", "object", "a trace's object"]
    )
    others = cleanup.contents().of(other)

    _delete(api, conversation_id)
    cleanup.settle()

    left = cleanup.contents()
    assert left.of(conversation_id) == []
    assert set(left.conversations[conversation_id]) == {
        *("id", "owner", "version", "chain", "createdAt", "deletedAt", "expiresAt"),
        *("lastMessageId", "sessionRecordId", "traceCount"),
    }
    assert left.of(other) == others
    assert len(left.conversations) == 1 + len([other, "about", "session", "recent"])
    assert cleanup.contents() == left


def test_the_record_of_new_conversations_goes_with_the_last_of_them(api: Api, cleanup: Cleanup) -> None:
    conversation_id = api.create()

    _delete(api, conversation_id)
    cleanup.settle()

    assert list(cleanup.contents().conversations) == [conversation_id]
    assert api.call("GET", "/conversations").body["conversations"] == []


def test_a_record_of_new_conversations_that_has_become_empty_is_read_as_such(
    api: Api, cleanup: Cleanup, on_call: Callable[..., None]
) -> None:
    conversation_id = api.create()
    _delete(api, conversation_id)
    cut_off = False

    def cut(**_: Any) -> None:
        nonlocal cut_off
        cut_off = True
        raise KilledError

    def cut_next_delete(**_: Any) -> None:
        on_call("DeleteItem", cut)

    on_call("UpdateItem", cut_next_delete)
    with pytest.raises(KilledError):
        cleanup.deliver(_bare(conversation_id))

    assert cut_off
    assert api.call("GET", "/conversations").body["conversations"] == []


def test_a_session_name_that_was_taken_again_stays_taken(api: Api, cleanup: Cleanup) -> None:
    deleted = api.create(sessionId="mine")
    _delete(api, deleted)
    anew = api.create(sessionId="mine")

    cleanup.settle()

    assert cleanup.contents().of(deleted) == []
    assert api.call("GET", "/conversations", query={"sessionId": "mine"}).body["conversations"][0]["id"] == anew


def test_all_chains_of_a_deleted_conversation_are_removed(api: Api, cleanup: Cleanup, populate: Populate) -> None:
    conversation_id = populate()
    _clear(cleanup, conversation_id, chain=3)
    api.say(conversation_id, "in another chain " + os.urandom(50_000).hex())

    _delete(api, conversation_id)
    cleanup.settle()

    assert cleanup.contents().of(conversation_id) == []


def test_of_a_standing_conversation_only_older_chains_are_removed(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate()
    before = cleanup.contents()
    assert cleanup.deliver(_bare(conversation_id))
    assert cleanup.contents() == before

    _clear(cleanup, conversation_id, chain=2)
    kept = api.say(conversation_id, "kept " + os.urandom(50_000).hex())
    assert cleanup.deliver(_bare(conversation_id))

    left = cleanup.contents()
    assert list(left.messages) == [kept["id"]]
    assert len(left.objects) == 1
    assert set(left.conversations) == set(before.conversations)
    page = api.call("GET", f"/conversations/{conversation_id}/messages").body
    assert page["messages"] == [kept]


def _clear(cleanup: Cleanup, conversation_id: str, *, chain: int) -> None:
    expression = "SET chain = :chain, messageCount = :count, version = version + :one REMOVE lastMessageId"
    cleanup.edit(conversation_id, expression, chain=chain, count=0, one=1)


# What has expired


def test_an_expired_conversation_is_cleaned_and_leaves_a_tombstone(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate(ttlDays=1)
    cleanup.edit(conversation_id, "SET expiresAt = :past", past=1)
    assert api.call("GET", f"/conversations/{conversation_id}").status == 404

    assert cleanup.deliver(_bare(conversation_id))

    left = cleanup.contents()
    assert left.of(conversation_id) == []
    assert "deletedAt" in left.conversations[conversation_id]
    assert "Turin" not in str(left.conversations[conversation_id])


def test_a_conversation_that_ttl_removed_gets_a_tombstone_and_is_cleaned(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate(ttlDays=1)
    cleanup.remove_head(conversation_id)

    cleanup.settle()

    left = cleanup.contents()
    assert left.of(conversation_id) == []
    assert "deletedAt" in left.conversations[conversation_id]


def test_a_removal_that_is_told_twice_leaves_one_tombstone(api: Api, cleanup: Cleanup, populate: Populate) -> None:
    conversation_id = populate()
    cleanup.hand_over()
    cleanup.remove_head(conversation_id)
    removal = cleanup.stream()
    cleanup.worker.follow(removal)
    tombstone = cleanup.contents().conversations[conversation_id]

    assert cleanup.worker.follow(removal) == {"batchItemFailures": []}

    assert cleanup.contents().conversations[conversation_id] == tombstone


def test_when_the_tombstone_expires_the_last_is_removed_and_nothing_is_left(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate()
    _clear(cleanup, conversation_id, chain=1)
    api.say(conversation_id, "came too late to be cleaned")
    _delete(api, conversation_id)
    cleanup.stream()  # was never listened to

    cleanup.remove_head(conversation_id)
    cleanup.settle()

    left = cleanup.contents()
    assert left.of(conversation_id) == []
    assert conversation_id not in left.conversations


def test_records_beside_conversations_and_ordinary_changes_are_no_work(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    populate()
    for record_id in list(cleanup.contents().conversations):
        if "." in record_id:
            cleanup.remove_head(record_id)

    cleanup.hand_over()

    assert cleanup.queue == []


# What goes wrong


def test_it_gets_done_however_often_it_is_killed(
    api: Api, cleanup: Cleanup, populate: Populate, on_call: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamo_cleaning, "_PAGE", 10)
    conversation_id = populate(40)
    _delete(api, conversation_id)
    left: list[int] = []
    calls_left = 0

    def kill(**_: Any) -> None:
        nonlocal calls_left
        calls_left -= 1
        if calls_left < 0:
            raise KilledError

    on_call("*", kill)
    for calls_left in range(1, 100):  # noqa: B007 - the hook counts it down
        left.append(len(cleanup.contents().of(conversation_id)))
        try:
            assert cleanup.deliver(_bare(conversation_id))
            break
        except KilledError:
            continue

    assert len(left) > 8
    assert left == sorted(left, reverse=True)
    assert cleanup.contents().of(conversation_id) == []


def test_two_deliveries_at_once_do_no_harm(api: Api, cleanup: Cleanup, populate: Populate) -> None:
    conversation_id, other = populate(40), populate()
    others = cleanup.contents().of(other)
    _delete(api, conversation_id)

    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(cleanup.deliver, [_bare(conversation_id)] * 3))

    assert all(done)
    assert cleanup.contents().of(conversation_id) == []
    assert cleanup.contents().of(other) == others


def test_when_time_is_short_it_says_where_to_go_on_and_every_round_removes_something(
    api: Api, cleanup: Cleanup, populate: Populate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamo_cleaning, "_PAGE", 10)
    conversation_id = populate(30)
    _clear(cleanup, conversation_id, chain=2)
    populate.add(conversation_id, 20)
    _delete(api, conversation_id)
    left = [len(cleanup.contents().of(conversation_id))]
    cleanup.queue.append(_bare(conversation_id))

    while cleanup.queue:
        assert cleanup.deliver(cleanup.queue.pop(0), remaining_ms=0)
        left.append(len(cleanup.contents().of(conversation_id)))

    assert len(left) > 6
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


def test_when_time_is_short_the_last_round_of_an_expired_tombstone_still_knows_the_chains(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate()
    _clear(cleanup, conversation_id, chain=2)
    populate.add(conversation_id, 5)
    _delete(api, conversation_id)
    cleanup.stream()
    cleanup.remove_head(conversation_id)
    cleanup.hand_over()

    while cleanup.queue:
        assert cleanup.deliver(cleanup.queue.pop(0), remaining_ms=0)

    assert cleanup.contents().of(conversation_id) == []


@pytest.mark.parametrize("withheld", [[39], [0], [20, 21, 35], range(40)], ids=["last", "first", "some", "all"])
def test_messages_that_the_index_does_not_have_yet_are_removed_too(
    api: Api, cleanup: Cleanup, populate: Populate, monkeypatch: pytest.MonkeyPatch, withheld: Sequence[int]
) -> None:
    conversation_id = populate(40)
    _delete(api, conversation_id)
    positions = {place + 1 for place in withheld}
    indexed = DynamoRemains.messages

    def lagging(remains: DynamoRemains, chain_id: str) -> Iterator[Sequence[Message]]:
        for page in indexed(remains, chain_id):
            yield [message for message in page if message.position not in positions]

    monkeypatch.setattr(dynamo_cleaning, "_PAGE", 7)
    monkeypatch.setattr(DynamoRemains, "messages", lagging)
    cleanup.settle()

    assert cleanup.contents().of(conversation_id) == []


@pytest.mark.parametrize("path", ["", "/messages"], ids=["deleted", "cleared"])
@pytest.mark.parametrize("withheld", [{2}, {1, 3}, {1, 2, 3, 4}], ids=str)
def test_traces_that_the_index_does_not_have_yet_are_removed_too(
    api: Api,
    store: DynamoStore,
    clock: TestClock,
    cleanup: Cleanup,
    populate: Populate,
    monkeypatch: pytest.MonkeyPatch,
    withheld: set[int],
    path: str,
) -> None:
    """With their objects, and the newest messages, whether all of the conversation is removed or one chain."""
    conversation_id = populate()
    parent = api.call("GET", f"/conversations/{conversation_id}/messages").body["messages"][0]["id"]
    for number in range(3):
        new = NewTrace(parent, number, input=os.urandom(50_000).hex())
        add_trace(store, clock, owner=None, conversation_id=conversation_id, new=new)
    newest = api.say(conversation_id, "newest " + os.urandom(50_000).hex())["id"]
    indexed, indexed_messages = DynamoRemains.traces, DynamoRemains.messages

    def lagging(remains: DynamoRemains, chain_id: str) -> Iterator[list[Trace]]:
        for page in indexed(remains, chain_id):
            if kept := [trace for trace in page if trace.ordinal not in withheld]:
                yield kept

    def without_newest(remains: DynamoRemains, chain_id: str) -> Iterator[list[Message]]:
        for page in indexed_messages(remains, chain_id):
            if kept := [message for message in page if message.id != newest]:
                yield kept

    monkeypatch.setattr(DynamoRemains, "traces", lagging)
    monkeypatch.setattr(DynamoRemains, "messages", without_newest)
    assert api.call("DELETE", f"/conversations/{conversation_id}{path}").status == 204
    cleanup.settle()

    assert list(cleanup.contents().messages) == []
    assert cleanup.contents().objects == []


@pytest.mark.parametrize("item_id", ["trace.1", "m.trace1"])
@pytest.mark.parametrize("key", ["m#1", "", "m#0000000001#0000000001"])
def test_what_stands_among_the_traces_and_cannot_be_read_goes_too(
    api: Api, cleanup: Cleanup, populate: Populate, item_id: str, key: str
) -> None:
    conversation_id = populate()
    chain = {"traceConversationId": conversation_id, "traceKey": f"{conversation_id}.{key}", "body": "{"}
    item = {name: {"S": text} for name, text in {"id": f"{conversation_id}.{item_id}", **chain}.items()}
    cleanup.dynamodb.put_item(TableName=cleanup.tables.messages, Item=item)

    _delete(api, conversation_id)
    cleanup.settle()

    assert cleanup.contents().of(conversation_id) == []


def test_what_a_batch_leaves_unprocessed_is_asked_for_again(
    api: Api, cleanup: Cleanup, populate: Populate, on_call: Callable[..., None]
) -> None:
    conversation_id = populate(30)
    _delete(api, conversation_id)
    asked: list[int] = []

    def half_done(request: Any, **_: Any) -> AWSResponse | None:
        wanted = json.loads(request.body)["RequestItems"]
        asked.append(len(wanted[cleanup.tables.messages]))
        return _answer(request, 200, {"UnprocessedItems": wanted}) if len(asked) % 2 else None

    on_call("BatchWriteItem", half_done)
    cleanup.settle()

    assert asked[::2] == asked[1::2]
    assert cleanup.contents().of(conversation_id) == []


def test_objects_that_could_not_be_removed_leave_the_message_in_the_queue(
    api: Api, cleanup: Cleanup, populate: Populate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 answers 200, and says in its answer which ones."""
    conversation_id = populate()
    _delete(api, conversation_id)

    def none_of_them(Delete: Any, **_: Any) -> Any:  # noqa: N803 - a parameter of S3's
        return {"Errors": [{**named, "Code": "InternalError"} for named in Delete["Objects"]]}

    monkeypatch.setattr(cleanup.s3, "delete_objects", none_of_them)
    assert not cleanup.deliver(_bare(conversation_id))

    monkeypatch.undo()
    assert cleanup.deliver(_bare(conversation_id))
    assert cleanup.contents().of(conversation_id) == []


def test_objects_are_found_to_the_last_page(
    api: Api, cleanup: Cleanup, populate: Populate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that no message tells of are listed, a thousand a page; here it is one."""
    conversation_id = populate()
    for name in "abc":
        cleanup.s3.put_object(Bucket=cleanup.tables.bodies, Key=f"{conversation_id}/lost/{name}", Body=b"x")
    listed: list[int] = []
    whole = cleanup.s3.list_objects_v2

    def page(**query: Any) -> Any:
        answer = whole(**query, MaxKeys=1)
        listed.append(len(answer.get("Contents", ())))
        return answer

    monkeypatch.setattr(cleanup.s3, "list_objects_v2", page)
    _delete(api, conversation_id)
    cleanup.settle()
    monkeypatch.undo()

    assert listed[:3] == [1, 1, 1]
    assert cleanup.contents().of(conversation_id) == []


@pytest.mark.parametrize(
    "body",
    [{"__type": "ThrottlingException"}, {"UnprocessedItems": {"t": [{"DeleteRequest": {"Key": {"id": {"S": "a"}}}}]}}],
    ids=["throttled", "never processed"],
)
def test_a_store_that_stays_busy_leaves_the_message_in_the_queue(
    api: Api, cleanup: Cleanup, populate: Populate, on_call: Callable[..., None], body: dict[str, Any]
) -> None:
    conversation_id = populate()
    _delete(api, conversation_id)
    is_down = True

    def busy(request: Any, **_: Any) -> AWSResponse | None:
        return _answer(request, 400 if "__type" in body else 200, body) if is_down else None

    on_call("BatchWriteItem", busy)
    assert not cleanup.deliver(_bare(conversation_id))

    is_down = False
    assert cleanup.deliver(_bare(conversation_id))
    assert cleanup.contents().of(conversation_id) == []


def test_a_stream_record_that_cannot_be_handed_over_holds_up_those_after_it(
    api: Api, cleanup: Cleanup, populate: Populate, on_call: Callable[..., None], clock: TestClock
) -> None:
    cleanup.hand_over()
    conversation_id, deleted = populate(), populate()
    cleanup.stream()
    cleanup.remove_head(conversation_id)
    _delete(api, deleted)
    removal, tombstone = cleanup.stream()

    def down(request: Any, **_: Any) -> AWSResponse:
        clock.offset_s += 10
        return _answer(request, 500, {"__type": "InternalServerError"})

    on_call("PutItem", down)
    answer = cleanup.worker.follow([removal, tombstone])

    assert answer == {"batchItemFailures": [{"itemIdentifier": removal["dynamodb"]["SequenceNumber"]}]}
    assert cleanup.queue == []


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"conversationId": 1}', '{"conversationId": "short"}', '{"conversationId": null}']
)
def test_a_malformed_message_fails_so_that_it_is_seen_among_the_dead_letters(cleanup: Cleanup, body: str) -> None:
    assert not cleanup.deliver(body)


def test_a_message_for_what_never_was_is_done(cleanup: Cleanup) -> None:
    assert cleanup.deliver(_bare("a" * 20))


# The function itself


class _Context:
    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        return PLENTY_MS


def test_the_function_takes_the_stream_to_the_queue_and_works_on_the_queue(
    api: Api,
    cleanup: Cleanup,
    populate: Populate,
    dynamodb_endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sqs = boto3.client("sqs", endpoint_url=dynamodb_endpoint)
    queue_url = sqs.create_queue(QueueName=cleanup.tables.bodies)["QueueUrl"]
    environment = {
        "MESSAGES_TABLE": cleanup.tables.messages,
        "CONVERSATIONS_TABLE": cleanup.tables.conversations,
        "BODIES_BUCKET": cleanup.tables.bodies,
        "CLEANUP_QUEUE_URL": queue_url,
        "POWERTOOLS_METRICS_NAMESPACE": "ConversationMemory",
        "POWERTOOLS_SERVICE_NAME": "conversation-memory-cleanup",
        "AWS_ENDPOINT_URL": dynamodb_endpoint,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    handler: Any = importlib.import_module("cleanup.handler")
    sys.modules.pop("cleanup.handler")  # it is made for this environment
    conversation_id = populate(name="Secret", sessionId="Secret session")
    _delete(api, conversation_id)

    assert handler.lambda_handler({"Records": cleanup.stream()}, _Context()) == {"batchItemFailures": []}
    (message,) = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10)["Messages"]
    record = {"messageId": message["MessageId"], "body": message["Body"], "eventSource": "aws:sqs"}
    assert handler.lambda_handler({"Records": [record]}, _Context()) == {"batchItemFailures": []}

    assert cleanup.contents().of(conversation_id) == []
    logged = capsys.readouterr().out
    assert "Secret" not in logged + message["Body"]
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    (metrics,) = [line for line in lines if "ItemsRemoved" in line]
    assert (metrics["ConversationsCleaned"], metrics["ItemsRemoved"]) == ([1.0], [5.0])
    (told,) = [line for line in lines if line.get("message") == "cleaned"]
    assert (told["conversation_id"], told["items"], told["objects"]) == (conversation_id, 5, 2)


def test_what_a_clear_hides_is_removed_once_and_later_appends_are_no_work(
    api: Api, cleanup: Cleanup, populate: Populate
) -> None:
    conversation_id = populate(10)
    cleanup.settle()
    before = set(cleanup.contents().messages)
    assert api.call("DELETE", f"/conversations/{conversation_id}/messages").status == 204
    kept = api.say(conversation_id, "after the clear")

    cleanup.hand_over()
    [told] = [json.loads(body) for body in cleanup.queue]
    assert told.pop("lastMessageId") in before
    assert told == {"conversationId": conversation_id, "traces": 1}
    cleanup.settle()
    api.say(conversation_id, "later")
    cleanup.hand_over()

    assert cleanup.queue == []
    assert before & set(cleanup.contents().messages) == set()
    assert kept["id"] in cleanup.contents().messages
    assert cleanup.contents().objects == []
    assert api.call("GET", f"/conversations/{conversation_id}").body["messageCount"] == 2


def test_a_memory_beyond_the_reach_of_pages_is_deleted_whole(
    api: Api, cleanup: Cleanup, populate: Populate, own_dynamodb: Any
) -> None:
    """OpenSearch pages through what it deletes, and so never gets behind the 10,000th message; traces it leaves."""
    memory_id = populate()
    cluster = Cluster(api)
    message_id = cluster.message(memory_id, input="q", response="a")
    for number in range(3):
        cluster.message(memory_id, input="t", parent_message_id=message_id, trace_number=number)
    item = cleanup.dynamodb.get_item(TableName=cleanup.tables.messages, Key={"id": {"S": message_id}})["Item"]
    copies = [
        item | {"id": {"S": f"{memory_id}.{number}"}, "createdAt": {"S": f"2026-01-01T00:00:00.{number:09}Z"}}
        for number in range(10_500)
    ]
    for first in range(0, len(copies), 25):
        puts = [{"PutRequest": {"Item": copy}} for copy in copies[first : first + 25]]
        written = own_dynamodb.batch_write_item(RequestItems={cleanup.tables.messages: puts})
        assert not written["UnprocessedItems"]

    assert cluster.delete(f"/{memory_id}") == {"success": True}

    assert cluster.get() == {"memories": []}
    cleanup.settle()
    assert cleanup.contents().of(memory_id) == []
