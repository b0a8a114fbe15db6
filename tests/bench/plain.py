"""The yardstick: the same messages as one keeps them without much thought, read and written by botocore alone.

One item per message with a native attribute for each of its fields, under the conversation and a sortable id.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from botocore.client import Config

from tests.bench.bed import ROLES, client, text
from tests.bench.measuring import Row, cpu_us
from tests.bench.titles import APPEND, READ

YARDSTICK_READ = "bare botocore: Query of plain items"
YARDSTICK_APPEND = "bare botocore: PutItem of a plain item"
SIZE = 500
READ_LENGTHS = (20, 100, 1000)
APPEND_LENGTHS = (1, 100, 1000)
APPENDS_AT_ONCE = 30  # in one measurement
_MESSAGES_AT_ONCE = 2000

TABLE = "plain"
_OWNER = "a1b2c3d4-0000-4000-8000-000000000001"


def bare(endpoint_url: str) -> Any:
    """A client of the engine as botocore makes it by itself, with nothing of what the functions set."""
    return client("dynamodb", endpoint_url, Config())


def reads_at_once(length: int) -> int:
    """How often a conversation of that length is read for one measurement."""
    return max(2, _MESSAGES_AT_ONCE // length)


def yardsticks(direct: Any, again: Any) -> Iterator[Row]:
    """Those of reading and appending. ``direct`` and ``again`` are clients, of the engine and of its canned answers."""
    make_table(direct)
    for length in READ_LENGTHS:
        fill(direct, f"read-{length}", length, SIZE)
        reading = partial(read, again, f"read-{length}")
        assert len(reading()) == length
        yield Row(READ, YARDSTICK_READ, partial(cpu_us, reading, reads_at_once(length)), None, at=length)
    for length in APPEND_LENGTHS:
        appending = partial(append, again, f"append-{length}", length, SIZE)
        yield Row(APPEND, YARDSTICK_APPEND, partial(cpu_us, appending, APPENDS_AT_ONCE), None, at=length)


def make_table(dynamodb: Any) -> None:
    dynamodb.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": "conversationId", "KeyType": "HASH"},
            {"AttributeName": "messageId", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("conversationId", "messageId")
        ],
    )


def fill(dynamodb: Any, conversation_id: str, messages: int, size: int) -> None:
    """The messages that ``Bed.fill`` writes, as plain items."""
    for first in range(0, messages, 25):
        items = [item(conversation_id, place, size) for place in range(first, min(first + 25, messages))]
        dynamodb.batch_write_item(RequestItems={TABLE: [{"PutRequest": {"Item": given}} for given in items]})


def item(conversation_id: str, place: int, size: int) -> dict[str, Any]:
    """Eight attributes for an answer, six for a question."""
    role = ROLES[place % 2]
    answered: dict[str, Any] = {
        "model": {"S": "anthropic.claude-sonnet"},
        "usage": {"M": {"inputTokens": {"N": str(100 + place)}, "outputTokens": {"N": "120"}}},
    }
    return {
        "conversationId": {"S": conversation_id},
        "messageId": {"S": f"01JD{place:022d}"},
        "role": {"S": role},
        "createdAt": {"S": f"2026-11-30T12:{place // 60 % 60:02}:{place % 60:02}.000Z"},
        "owner": {"S": _OWNER},
        "content": {"L": [{"M": {"text": {"S": text(place, size)}}}]},
        **(answered if role == "assistant" else {}),
    }


def read(dynamodb: Any, conversation_id: str) -> list[Mapping[str, Any]]:
    """All items of a conversation that fit one page, oldest first."""
    found: list[Mapping[str, Any]] = dynamodb.query(**query(conversation_id))["Items"]
    return found


def query(conversation_id: str) -> dict[str, Any]:
    """What a Query of a conversation asks for."""
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "conversationId = :c",
        "ExpressionAttributeValues": {":c": {"S": conversation_id}},
    }


def append(dynamodb: Any, conversation_id: str, place: int, size: int) -> None:
    """One PutItem, which overwrites nothing."""
    dynamodb.put_item(
        TableName=TABLE,
        Item=item(conversation_id, place, size),
        ConditionExpression="attribute_not_exists(messageId)",
    )
