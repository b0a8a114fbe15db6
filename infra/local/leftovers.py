"""Hands cleanup what it would have heard of from the stream of the conversations table.

Locally nothing expires by itself, and stream records do not survive a restart. So at each start the conversations
that have expired, tombstones, and those that were ever cleared (their cleaning may have been cut off) go to the cleanup
queue; cleaning what is clean already does no harm.
"""

import json
import time
from collections.abc import Iterator

from infra.local.clients import client

_BATCH = 10  # the most that one SendMessageBatch takes


def hand_over(endpoint_url: str, *, conversations_table: str, queue_url: str) -> int:
    """Send a message for each conversation that waits for cleanup; how many there were."""
    ids = list(_waiting(endpoint_url, conversations_table))
    queue = client("sqs", endpoint_url)
    for start in range(0, len(ids), _BATCH):
        entries = [
            {"Id": str(number), "MessageBody": json.dumps({"conversationId": id_})}
            for number, id_ in enumerate(ids[start : start + _BATCH])
        ]
        queue.send_message_batch(QueueUrl=queue_url, Entries=entries)
    return len(ids)


def _waiting(endpoint_url: str, table: str) -> Iterator[str]:
    """Ids with a dot are records that belong to a conversation: they go with it."""
    pages = (
        client("dynamodb", endpoint_url)
        .get_paginator("scan")
        .paginate(
            TableName=table,
            FilterExpression="attribute_exists(deletedAt) OR expiresAt <= :now OR chain > :first",
            ExpressionAttributeValues={":now": {"N": str(int(time.time()))}, ":first": {"N": "0"}},
            ProjectionExpression="id",
        )
    )
    ids = (item["id"]["S"] for page in pages for item in page["Items"])
    return (id_ for id_ in ids if "." not in id_)
