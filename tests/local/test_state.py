"""What survives a stop of the emulator, and what a start makes of it."""

import io
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.local import leftovers, state
from infra.local.clients import client
from infra.local.emulator import Emulator, EmulatorSettings

pytestmark = pytest.mark.slow

COPY_INTO_QUEUE = """
import boto3, os
def handle(event, context):
    for record in event["Records"]:
        key = record["dynamodb"]["Keys"]["id"]["S"]
        boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=key)
"""


def zipped(source: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("reader.py", source)
    return packed.getvalue()


def create_table_with_reader(endpoint_url: str) -> str:
    """A table whose stream a function copies into a queue; the queue's address."""
    queue = str(client("sqs", endpoint_url).create_queue(QueueName="seen")["QueueUrl"])
    table = client("dynamodb", endpoint_url).create_table(
        TableName="source",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )["TableDescription"]
    functions = client("lambda", endpoint_url)
    functions.create_function(
        FunctionName="reader",
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/reader",
        Handler="reader.handle",
        Code={"ZipFile": zipped(COPY_INTO_QUEUE)},
        Environment={"Variables": {"QUEUE": queue}},
    )
    functions.create_event_source_mapping(
        EventSourceArn=table["LatestStreamArn"], FunctionName="reader", StartingPosition="LATEST", BatchSize=10
    )
    return queue


def put(endpoint_url: str, *ids: str) -> None:
    for id_ in ids:
        client("dynamodb", endpoint_url).put_item(TableName="source", Item={"id": {"S": id_}})


def received(endpoint_url: str, queue: str, count: int, timeout_s: float = 20) -> list[str]:
    sqs, bodies, deadline = client("sqs", endpoint_url), list[str](), time.monotonic() + timeout_s
    while len(bodies) < count and time.monotonic() < deadline:
        answer = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=1, MaxNumberOfMessages=10)
        for message in answer.get("Messages", []):
            bodies.append(message["Body"])
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return sorted(bodies)


def test_after_a_restart_the_first_records_of_a_stream_are_read_too(tmp_path: Path) -> None:
    settings = EmulatorSettings(folder=tmp_path, keep_state=True)
    with Emulator(settings) as emulator:
        queue = create_table_with_reader(emulator.endpoint_url)
        put(emulator.endpoint_url, "a", "b", "c")
        assert received(emulator.endpoint_url, queue, 3) == ["a", "b", "c"]

    state.tidy(tmp_path)
    with Emulator(settings) as emulator:
        put(emulator.endpoint_url, "d", "e")
        # The queue's address holds the port of the first emulator: the second one, on another, knows it all the same.
        assert received(emulator.endpoint_url, queue, 2) == ["d", "e"]


def test_what_was_acknowledged_before_a_stop_is_there_after_it(tmp_path: Path) -> None:
    settings = EmulatorSettings(folder=tmp_path, keep_state=True)
    with Emulator(settings) as emulator:
        client("s3", emulator.endpoint_url).create_bucket(Bucket="bodies")
        client("s3", emulator.endpoint_url).put_object(Bucket="bodies", Key="c/1", Body=b"large")
        create_table_with_reader(emulator.endpoint_url)
        put(emulator.endpoint_url, *(str(number) for number in range(200)))

    with Emulator(settings) as emulator:
        found = client("dynamodb", emulator.endpoint_url).scan(TableName="source", Select="COUNT")
        body = client("s3", emulator.endpoint_url).get_object(Bucket="bodies", Key="c/1")["Body"]
        assert (found["Count"], body.read()) == (200, b"large")


def test_the_emulator_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    emulator = Emulator(EmulatorSettings(folder=tmp_path, keep_state=True))
    emulator.start()
    create_table_with_reader(emulator.endpoint_url)
    process: Any = emulator._process
    process.stdin.close()

    assert process.wait(20) == 0
    assert (tmp_path / "state" / "dynamodb.json").exists()
    emulator.stop()


def test_what_was_deleted_expired_or_cleared_is_handed_to_cleanup(dynamodb_endpoint: str, tables: Any) -> None:
    now = int(time.time())
    items: dict[str, dict[str, Any]] = {
        "lives": {"chain": {"N": "0"}},
        "cleared": {"chain": {"N": "2"}},
        "livesOn": {"expiresAt": {"N": str(now + 600)}},
        "expired": {"expiresAt": {"N": str(now - 600)}},
        "deleted": {"deletedAt": {"S": "2026-11-30T00:00:00.000000000Z"}},
        "expired.about": {"expiresAt": {"N": str(now - 600)}},
    }
    for id_, attributes in items.items():
        client("dynamodb", dynamodb_endpoint).put_item(
            TableName=tables.conversations, Item={"id": {"S": id_}, **attributes}
        )
    queue = client("sqs", dynamodb_endpoint).create_queue(QueueName="cleanup")["QueueUrl"]

    handed = leftovers.hand_over(dynamodb_endpoint, conversations_table=tables.conversations, queue_url=queue)

    assert handed == 3
    assert sorted(json.loads(body)["conversationId"] for body in received(dynamodb_endpoint, queue, 3)) == [
        "cleared",
        "deleted",
        "expired",
    ]


def test_a_folder_serves_one_at_a_time(tmp_path: Path) -> None:
    with state.sole_use(tmp_path), pytest.raises(state.InUseError, match=str(os.getpid())), state.sole_use(tmp_path):
        pass
    with state.sole_use(tmp_path):
        pass


def test_the_emulators_port_is_kept_unless_it_is_taken(tmp_path: Path) -> None:
    with state.aws_socket(tmp_path) as first:
        port = first.getsockname()[1]
        with state.aws_socket(tmp_path) as second:
            other = second.getsockname()[1]
    with state.aws_socket(tmp_path) as third:
        assert third.getsockname()[1] == other != port


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    state.write_whole(file, json.dumps({"a": 1}))
    state.write_whole(file, json.dumps({"a": 2}))

    assert json.loads(file.read_text()) == {"a": 2}
    assert list(tmp_path.iterdir()) == [file]
