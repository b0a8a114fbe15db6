"""Fresh tables and a bucket for one test, in the shapes that the infrastructure deploys.

The names of keys and indexes are the functions' own (`conversations.schema`); that the deployed tables have them too
is what `tests/infra` holds.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from conversations import schema

Index = tuple[str, str, str, str]  # name, partition key, sort key, projection

_MESSAGES_INDEXES: list[Index] = [
    (schema.MESSAGES_INDEX, schema.CONVERSATION_ID, schema.CREATED_AT, "ALL"),
    (schema.TRACES_INDEX, schema.TRACE_CONVERSATION_ID, schema.TRACE_KEY, "ALL"),
]
_CONVERSATIONS_INDEXES: list[Index] = [
    (schema.OWNER_INDEX, schema.OWNER, schema.UPDATED_AT, "KEYS_ONLY"),
    (schema.ACTIVITY_INDEX, schema.ACTIVE_MONTH, schema.ACTIVE_HOUR, "KEYS_ONLY"),
]


@dataclass(frozen=True)
class Tables:
    """What a test's store is made of, by name."""

    messages: str
    conversations: str
    bodies: str


@contextmanager
def fresh_tables(dynamodb: Any, s3: Any) -> Iterator[Tables]:
    """Create both tables and the bucket under names of their own, and remove them afterwards."""
    unique = secrets.token_hex(6)
    tables = Tables(f"messages-{unique}", f"conversations-{unique}", f"bodies-{unique}")
    _create_table(dynamodb, tables.messages, _MESSAGES_INDEXES, stream=False)
    _create_table(dynamodb, tables.conversations, _CONVERSATIONS_INDEXES, stream=True)
    s3.create_bucket(Bucket=tables.bodies)
    try:
        yield tables
    finally:
        dynamodb.delete_table(TableName=tables.messages)
        dynamodb.delete_table(TableName=tables.conversations)
        _delete_bucket(s3, tables.bodies)


def _create_table(dynamodb: Any, name: str, indexes: list[Index], *, stream: bool) -> None:
    keys = {schema.ID, *(key for _, partition, sort, _ in indexes for key in (partition, sort))}
    specification: dict[str, Any] = {"StreamEnabled": stream}
    if stream:
        specification["StreamViewType"] = "NEW_AND_OLD_IMAGES"
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": schema.ID, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in sorted(keys)],
        GlobalSecondaryIndexes=[_index(*index) for index in indexes],
        StreamSpecification=specification,
    )


def _index(name: str, partition: str, sort: str, projection: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": projection},
    }


def _delete_bucket(s3: Any, name: str) -> None:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
        for found in page.get("Contents", []):
            s3.delete_object(Bucket=name, Key=found["Key"])
    s3.delete_bucket(Bucket=name)
