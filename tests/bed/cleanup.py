"""Cleanup as Lambda drives it, with the real stream of the table and a queue in memory, and something of each kind to
clean.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cleanup.worker import Worker
from conversations import turns
from conversations.clock import Clock
from conversations.store import Store
from conversations.traces import NewTrace, add_trace
from tests.bed.in_process import Api
from tests.bed.tables import Tables

LONG_NAME = "Turin " * 100  # stands in an item of its own
PLENTY_MS = 60_000
Item = dict[str, Any]


@dataclass
class Contents:
    """All that stands in the tables and the bucket, by id and key."""

    conversations: dict[str, Item]
    messages: dict[str, Item]
    objects: list[str]

    def of(self, conversation_id: str) -> list[str]:
        """What there is of a conversation, but for its own item."""
        items = {**self.conversations, **self.messages}
        beside = [id_ for id_ in items if id_.startswith(conversation_id) and id_ != conversation_id]
        naming = [
            id_ for id_, item in items.items() if not id_.startswith(conversation_id) and conversation_id in str(item)
        ]
        return beside + naming + [key for key in self.objects if key.startswith(conversation_id)]


@dataclass
class Cleanup:
    """The worker between a real stream and a queue in memory, as Lambda's event sources would drive it."""

    worker: Worker
    dynamodb: Any
    streams: Any
    s3: Any
    tables: Tables
    queue: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def stream(self) -> list[Item]:
        """The records of the table's stream that are new, as Lambda hands them over."""
        (stream,) = self.streams.list_streams(TableName=self.tables.conversations)["Streams"]
        described = self.streams.describe_stream(StreamArn=stream["StreamArn"])["StreamDescription"]
        records = [record for shard in described["Shards"] for record in self._records(stream["StreamArn"], shard)]
        new = [record for record in records if record["eventID"] not in self.seen]
        self.seen.update(record["eventID"] for record in new)
        return [{**record, "eventSource": "aws:dynamodb"} for record in new]

    def _records(self, stream_arn: str, shard: Item) -> Iterator[Item]:
        iterator = self.streams.get_shard_iterator(
            StreamArn=stream_arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator:
            page = self.streams.get_records(ShardIterator=iterator)
            yield from page["Records"]
            iterator = page.get("NextShardIterator") if page["Records"] else None

    def hand_over(self) -> None:
        """Let the worker follow the stream to its end."""
        while records := self.stream():
            assert self.worker.follow(json.loads(json.dumps(records, default=str))) == {"batchItemFailures": []}

    def deliver(self, body: str, remaining_ms: int = PLENTY_MS) -> bool:
        """Whether the worker is done with a message."""
        answer = self.worker.clean([{"messageId": "1", "body": body}], remaining_ms)
        assert answer["batchItemFailures"] in ([], [{"itemIdentifier": "1"}])
        return not answer["batchItemFailures"]

    def settle(self) -> None:
        """Go on until stream and queue are empty."""
        self.hand_over()
        while self.queue:
            assert self.deliver(self.queue.pop(0))
            self.hand_over()

    def contents(self) -> Contents:
        listed = self.s3.list_objects_v2(Bucket=self.tables.bodies).get("Contents", [])
        return Contents(
            self._scan(self.tables.conversations), self._scan(self.tables.messages), [found["Key"] for found in listed]
        )

    def _scan(self, table: str) -> dict[str, Item]:
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table)
        return {item["id"]["S"]: item for page in pages for item in page["Items"]}

    def edit(self, conversation_id: str, expression: str, **values: int) -> None:
        self.dynamodb.update_item(
            TableName=self.tables.conversations,
            Key={"id": {"S": conversation_id}},
            UpdateExpression=expression,
            ExpressionAttributeValues={f":{name}": {"N": str(value)} for name, value in values.items()},
        )

    def remove_head(self, conversation_id: str) -> None:
        """What TTL does when an item has expired."""
        self.dynamodb.delete_item(TableName=self.tables.conversations, Key={"id": {"S": conversation_id}})


class MemoryQueue:
    """Keeps what the worker sends itself."""

    def __init__(self, bodies: list[str]) -> None:
        self._bodies = bodies

    def send(self, body: str) -> None:
        self._bodies.append(body)


@dataclass
class Populate:
    """Makes conversations that leave something of every kind behind."""

    api: Api
    store: Store
    clock: Clock
    cleanup: Cleanup

    def __call__(self, messages: int = 4, **members: Any) -> str:
        """A conversation with this many messages, among them a large one and one with a receipt, and a running turn."""
        about = {"name": LONG_NAME, "sessionId": os.urandom(8).hex(), **members}
        conversation_id = self.api.create(**about)
        asked = self.api.say(conversation_id, "question")
        turns.claim(self.store, self.clock, turns.Question(conversation_id, asked["id"], None))
        self.api.say(conversation_id, "large " + os.urandom(50_000).hex())
        self.api.say(conversation_id, "answer without a named question", role="assistant")
        self.add(conversation_id, messages - 3)
        self._trace(asked["id"])
        return conversation_id

    def add(self, conversation_id: str, messages: int) -> None:
        for first in range(0, messages, 90):
            batch = [
                {"role": "user", "content": [{"text": f"more {place}"}]}
                for place in range(first, min(messages, first + 90))
            ]
            appended = self.api.call("POST", f"/conversations/{conversation_id}/messages", {"messages": batch})
            assert appended.status == 201

    def _trace(self, parent: str) -> None:
        new = NewTrace(parent, 1, input="large " + os.urandom(50_000).hex())
        add_trace(self.store, self.clock, owner=None, conversation_id=parent[:20], new=new)
