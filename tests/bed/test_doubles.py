"""The doubles of the test bed speak to the real SDK as the services do."""

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, EventStreamError

from conversations.dynamo_reads import Reads
from tests.bed.cutting import Cutter
from tests.bed.dynamodb_meter import DynamoDBMeter
from tests.bed.recorder import Invocation, LambdaRecorder
from tests.bed.replies import (
    Answer,
    Break,
    EndWithoutStop,
    Hold,
    Reasoning,
    Reply,
    StreamError,
    Text,
    denied,
    invalid,
    text,
    throttled,
    tool_use,
    unavailable,
)
from tests.bed.request_units import item_bytes
from tests.bed.scripted_bedrock import ScriptedBedrock
from tests.bed.strict_dynamodb import be_strict
from tests.bed.tables import Tables

QUESTION = [{"role": "user", "content": [{"text": "Hello?"}]}]


@pytest.fixture
def bedrock() -> Iterator[ScriptedBedrock]:
    with ScriptedBedrock() as server:
        yield server


def ask(bedrock: ScriptedBedrock) -> list[dict[str, Any]]:
    once = Config(retries={"total_max_attempts": 1}, read_timeout=10)
    with closing(boto3.client("bedrock-runtime", endpoint_url=bedrock.url, config=once)) as client:
        return list(client.converse_stream(modelId="us.some.model-v1:0", messages=QUESTION)["stream"])


def texts(events: list[dict[str, Any]]) -> list[str]:
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return [delta["text"] for delta in deltas if "text" in delta]


def test_a_text_streams_with_stop_reason_and_usage(bedrock: ScriptedBedrock) -> None:
    bedrock.script(text("Hel", "lo é🦉", stop_reason="max_tokens", output_tokens=2))

    events = ask(bedrock)

    assert texts(events) == ["Hel", "lo é🦉"]
    assert {"messageStop": {"stopReason": "max_tokens"}} in events
    assert events[-1]["metadata"]["usage"] == {"inputTokens": 11, "outputTokens": 2, "totalTokens": 13}


def test_without_a_script_it_echoes_and_every_request_is_recorded(bedrock: ScriptedBedrock) -> None:
    assert "".join(texts(ask(bedrock))) == "You said: Hello?"

    (request,) = bedrock.requests
    assert request.model_id == "us.some.model-v1:0"
    assert request.body == {"messages": QUESTION}
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256")


def test_tool_use_comes_with_its_input_in_pieces(bedrock: ScriptedBedrock) -> None:
    bedrock.script(tool_use("weather", {"city": "Turin"}, "tool-9", before="Let me look."))

    events = ask(bedrock)

    start = next(event["contentBlockStart"] for event in events if "contentBlockStart" in event)
    assert start == {
        "contentBlockIndex": 1,
        "start": {"toolUse": {"toolUseId": "tool-9", "name": "weather"}},
    }
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    assert "".join(delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta) == '{"city": "Turin"}'
    assert {"messageStop": {"stopReason": "tool_use"}} in events


def test_reasoning_is_signed(bedrock: ScriptedBedrock) -> None:
    bedrock.script(Reply([Reasoning(["Well"], "sig"), Text(["Yes"])]))

    deltas = [event["contentBlockDelta"]["delta"] for event in ask(bedrock) if "contentBlockDelta" in event]

    assert deltas == [
        {"reasoningContent": {"text": "Well"}},
        {"reasoningContent": {"signature": "sig"}},
        {"text": "Yes"},
    ]


@pytest.mark.parametrize(
    ("answer", "code", "status"),
    [
        (throttled(), "ThrottlingException", 429),
        (invalid("no"), "ValidationException", 400),
        (denied(), "AccessDeniedException", 403),
        (unavailable(), "ServiceUnavailableException", 503),
    ],
)
def test_errors_have_the_service_s_code_and_status(
    bedrock: ScriptedBedrock, answer: Answer, code: str, status: int
) -> None:
    bedrock.script(answer)

    with pytest.raises(ClientError) as caught:
        ask(bedrock)

    assert caught.value.response["Error"]["Code"] == code
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_an_exception_in_the_stream_is_raised_after_the_text_before_it(bedrock: ScriptedBedrock) -> None:
    bedrock.script(Reply([Text(["So"]), StreamError("throttlingException", "slow down")]))

    with pytest.raises(EventStreamError) as caught:
        ask(bedrock)

    assert caught.value.response["Error"] == {"Code": "throttlingException", "Message": "slow down"}


def test_a_stream_can_end_without_its_stop_event(bedrock: ScriptedBedrock) -> None:
    bedrock.script(Reply([Text(["half"]), EndWithoutStop()]))

    events = ask(bedrock)

    assert texts(events) == ["half"]
    assert not any("messageStop" in event for event in events)


def test_a_connection_can_break(bedrock: ScriptedBedrock) -> None:
    bedrock.script(Reply([Text(["half"]), Break()]))

    with pytest.raises(Exception, match=r"Connection|Response ended"):
        ask(bedrock)


def test_an_answer_can_be_held_until_the_test_releases_it(bedrock: ScriptedBedrock) -> None:
    hold = Hold()
    bedrock.script(Reply([Text(["one"]), hold, Text(["two"])]))
    answers: list[list[str]] = []
    asking = threading.Thread(target=lambda: answers.append(texts(ask(bedrock))))

    asking.start()
    assert hold.reached.wait(10)
    assert not answers
    hold.released.set()
    asking.join(10)

    assert answers == [["one", "two"]]


def test_the_recorder_forwards_an_invocation_unchanged(dynamodb_endpoint: str) -> None:
    with LambdaRecorder() as recorder:
        recorder.upstream = dynamodb_endpoint
        client = boto3.client("lambda", endpoint_url=recorder.url)

        with pytest.raises(client.exceptions.ResourceNotFoundException):
            client.invoke(FunctionName="nobody", InvocationType="Event", Payload=b'{"a": 1}')

    assert recorder.invocations == [Invocation("nobody", "Event", b'{"a": 1}', 404)]


def test_the_meter_counts_the_units_of_each_table_and_index_and_changes_nothing(
    dynamodb_endpoint: str, tables: Tables
) -> None:
    def put(local: str, **attributes: str) -> dict[str, dict[str, str]]:
        return {name: {"S": text} for name, text in {"id": f"c.{local}", **attributes}.items()}

    indexed = {"conversationId": "c", "createdAt": "2026-01-01"}
    with DynamoDBMeter() as meter:
        meter.upstream = dynamodb_endpoint
        client = boto3.client("dynamodb", endpoint_url=meter.url)
        client.put_item(TableName=tables.messages, Item=put("m", body="x" * 1500, **indexed))
        actions = [{"Put": {"TableName": tables.messages, "Item": put(local)}} for local in ("a", "b")]
        client.transact_write_items(TransactItems=actions)
        puts = [{"PutRequest": {"Item": put(local, body="x" * 1500)}} for local in ("d", "e")]
        client.batch_write_item(RequestItems={tables.messages: puts})
        read = client.get_item(TableName=tables.messages, Key={"id": {"S": "c.m"}})["Item"]
        single, transaction, batch, reading = meter.calls

    assert read == put("m", body="x" * 1500, **indexed)
    assert single.units == {(tables.messages, ""): 2, (tables.messages, "conversationId-createdAt"): 2}
    assert transaction.units == {(tables.messages, ""): 4}
    assert transaction.item_ids(tables.messages) == ["c.a", "c.b"]
    assert batch.units == {(tables.messages, ""): 4}
    assert batch.item_ids(tables.messages) == ["c.d", "c.e"]
    assert [call.is_write for call in (single, transaction, batch, reading)] == [True, True, True, False]
    assert reading.answer_bytes > 1500


def test_the_meter_counts_reads_by_the_whole_size_of_what_is_read(dynamodb_endpoint: str, tables: Tables) -> None:
    def item(local: str, size: int) -> dict[str, dict[str, str]]:
        keys = {"id": f"c.{local}", "conversationId": "c", "createdAt": f"2026-01-0{local}"}
        return {name: {"S": text} for name, text in {**keys, "body": "x" * size}.items()}

    at_index = {"TableName": tables.messages, "IndexName": "conversationId-createdAt"}
    of_c = {"KeyConditionExpression": "conversationId = :c", "ExpressionAttributeValues": {":c": {"S": "c"}}}
    with DynamoDBMeter(counts_reads=True) as meter:
        meter.upstream = dynamodb_endpoint
        client = boto3.client("dynamodb", endpoint_url=meter.url)
        for local, size in (("1", 4000), ("2", 4200), ("3", 900)):
            client.put_item(TableName=tables.messages, Item=item(local, size))
        meter.reset()
        client.query(**at_index, **of_c)
        named = {"ProjectionExpression": "#i", "ExpressionAttributeNames": {"#i": "id"}}
        projected = client.query(**at_index, **of_c, **named, Limit=2)
        client.get_item(TableName=tables.messages, Key={"id": {"S": "c.2"}}, ConsistentRead=True)
        client.get_item(TableName=tables.messages, Key={"id": {"S": "c.2"}})
        keys = [{"id": {"S": f"c.{local}"}} for local in ("2", "3", "none")]
        client.batch_get_item(RequestItems={tables.messages: {"Keys": keys, "ConsistentRead": True}})
        units = [sum(call.units.values()) for call in meter.calls]

    assert projected["Items"] == [{"id": {"S": "c.1"}}, {"id": {"S": "c.2"}}]
    # 9,229 bytes are 3 blocks of 4 KB, by halves; 8,286 are 3 as well; 4,243 are 2; each of a batch by itself.
    assert units == [1.5, 1.5, 2, 1, 2 + 1 + 1]
    assert meter.calls[0].request_bytes > 100


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"id": {"S": "abc"}}, 5),
        ({"id": {"S": "日本"}}, 8),
        ({"n": {"N": "12345"}, "m": {"N": "-100"}}, 5 + 3),
        ({"b": {"B": "eHh4"}, "t": {"BOOL": True}, "z": {"NULL": True}}, 4 + 2 + 2),
        ({"l": {"L": [{"S": "ab"}, {"S": "c"}]}}, 1 + 3 + (1 + 2) + (1 + 1)),
        ({"m": {"M": {"key": {"S": "v"}}}}, 1 + 3 + (1 + 3 + 1)),
        ({"s": {"SS": ["ab", "c"]}}, 1 + 3),
    ],
)
def test_the_size_of_an_item_is_as_documented(item: dict[str, Any], size: int) -> None:
    assert item_bytes(item) == size


def test_the_cutter_loses_the_answer_of_what_was_done(dynamodb_endpoint: str, tables: Tables) -> None:
    once = Config(retries={"total_max_attempts": 1})
    with Cutter() as cutter:
        cutter.upstream = dynamodb_endpoint
        lossy = boto3.client("dynamodb", endpoint_url=cutter.url, config=once)
        with pytest.raises(ConnectionClosedError):
            lossy.put_item(TableName=tables.messages, Item={"id": {"S": "done"}})

    found = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint).scan(TableName=tables.messages)["Items"]
    assert cutter.lost == [200]
    assert found == [{"id": {"S": "done"}}]


def test_a_strict_client_sees_what_was_written_only_if_it_asks_for_it(dynamodb_endpoint: str, tables: Tables) -> None:
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    be_strict(client)
    key = {"id": {"S": "c.m"}}
    client.put_item(TableName=tables.messages, Item=key)

    def batch(**options: Any) -> Any:
        return client.batch_get_item(RequestItems={tables.messages: {"Keys": [key], **options}})["Responses"]

    assert "Item" not in client.get_item(TableName=tables.messages, Key=key)
    assert client.get_item(TableName=tables.messages, Key=key, ConsistentRead=True)["Item"] == key
    assert batch() == {tables.messages: []}
    assert batch(ConsistentRead=True) == {tables.messages: [key]}


def test_a_strict_client_takes_no_reserved_word_for_a_name(dynamodb_endpoint: str, tables: Tables) -> None:
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    be_strict(client)
    query = {"TableName": tables.conversations, "IndexName": "owner-updatedAt", "ScanIndexForward": False}
    values = {":o": {"S": "o"}, ":t": {"S": "t"}}

    with pytest.raises(AssertionError, match="owner"):
        client.query(**query, KeyConditionExpression="owner = :o AND updatedAt < :t", ExpressionAttributeValues=values)
    named = {
        "KeyConditionExpression": "#owner = :o AND updatedAt < :t",
        "ExpressionAttributeNames": {"#owner": "owner"},
    }
    assert client.query(**query, **named, ExpressionAttributeValues=values)["Items"] == []


def test_a_strict_client_is_as_strict_with_reads_that_go_a_shorter_way(dynamodb_endpoint: str, tables: Tables) -> None:
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    be_strict(client)
    reads, key = Reads(client), {"id": {"S": "c.m"}}
    client.put_item(TableName=tables.messages, Item=key)
    query = {"TableName": tables.conversations, "IndexName": "owner-updatedAt"}

    assert reads.get_item(TableName=tables.messages, Key=key) == {}
    assert reads.get_item(TableName=tables.messages, Key=key, ConsistentRead=True) == {"Item": key}
    with pytest.raises(AssertionError, match="owner"):
        reads.query(**query, KeyConditionExpression="owner = :o", ExpressionAttributeValues={":o": {"S": "o"}})
