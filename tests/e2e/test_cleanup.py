"""Deletion on the deployed local stack: what is deleted is hidden at once, and gone within a minute."""

import os
import time
from typing import Any

import httpx
import pytest

from tests.bed.messages import said
from tests.bed.stack import Stack

pytestmark = pytest.mark.stack

WITHIN_S = 60


def _left_of(stack: Stack, conversation_id: str) -> dict[str, Any]:
    """All that a Scan of both tables and a listing of the bucket find of a conversation."""
    dynamodb, bucket = stack.client("dynamodb"), stack.client("s3")
    left: dict[str, Any] = {}
    for table in (stack.messages_table, stack.conversations_table):
        for page in dynamodb.get_paginator("scan").paginate(TableName=table):
            left |= {item["id"]["S"]: item for item in page["Items"] if conversation_id in str(item)}
    for page in bucket.get_paginator("list_objects_v2").paginate(Bucket=stack.bodies_bucket, Prefix=conversation_id):
        left |= {found["Key"]: found for found in page.get("Contents", ())}
    return left


def _append(http: httpx.Client, path: str, *texts: str, role: str = "user") -> str:
    messages = [{"role": role, "content": said(text)} for text in texts]
    appended = http.post(f"{path}/messages", json={"messages": messages})
    assert appended.status_code == 201, appended.text
    return str(appended.json()["messages"][-1]["id"])


def _populated(http: httpx.Client, stack: Stack, messages: int) -> str:
    """The id of a conversation with that many messages, a large one, a turn with its answer, and a trace."""
    created = http.post("/conversations", json={"name": "Secret " * 100, "sessionId": os.urandom(8).hex()})
    conversation_id = str(created.json()["id"])
    path = f"/conversations/{conversation_id}"
    asked = http.post(f"{path}/turns", json={"content": said("Secret question")}).json()["message"]["id"]
    turn = http.get(f"{path}/turns/{asked}", params={"wait": 20}).json()["turn"]
    assert turn["status"] == "complete"
    _append(http, path, "Secret " + os.urandom(50_000).hex())
    _append(http, path, "Secret answer to the message before", role="assistant")
    for first in range(4, messages, 90):
        _append(http, path, *(f"Secret {place}" for place in range(first, min(messages, first + 90))))
    trace = {"id": f"{asked}.trace1", "traceConversationId": conversation_id, "traceKey": f"{asked}#1", "body": "{}"}
    item = {name: {"S": text} for name, text in trace.items()}
    stack.client("dynamodb").put_item(TableName=stack.messages_table, Item=item)
    return conversation_id


def test_within_a_minute_nothing_is_left_but_the_tombstone(http: httpx.Client, stack: Stack) -> None:
    other, conversation_id = _populated(http, stack, 5), _populated(http, stack, 300)
    others = set(_left_of(stack, other))
    assert len(_left_of(stack, conversation_id)) > 300 + len(["head", "turn", "about", "trace", "session", "object"])

    deleted_at = time.monotonic()
    deleted = http.delete(f"/conversations/{conversation_id}")
    hidden = http.get(f"/conversations/{conversation_id}/messages")
    while len(left := _left_of(stack, conversation_id)) > 1 and time.monotonic() < deleted_at + WITHIN_S:
        time.sleep(0.5)

    assert (deleted.status_code, hidden.status_code) == (204, 404)
    assert list(left) == [conversation_id]
    assert "deletedAt" in left[conversation_id]
    assert "Secret" not in str(left)
    assert set(_left_of(stack, other)) == others


def test_an_expired_conversation_that_is_handed_over_is_cleaned(http: httpx.Client, stack: Stack) -> None:
    conversation_id = _populated(http, stack, 5)
    _expire(stack, conversation_id)
    assert http.get(f"/conversations/{conversation_id}").status_code == 404

    body = f'{{"conversationId": "{conversation_id}"}}'
    stack.client("sqs").send_message(QueueUrl=stack.local.outputs["CleanupQueueUrl"], MessageBody=body)
    expired_at = time.monotonic()
    while len(left := _left_of(stack, conversation_id)) > 1 and time.monotonic() < expired_at + WITHIN_S:
        time.sleep(0.5)

    assert list(left) == [conversation_id]
    assert "deletedAt" in left[conversation_id]


def test_what_has_expired_cannot_be_read_appended_to_or_revived(http: httpx.Client, stack: Stack) -> None:
    about = {"sessionId": os.urandom(8).hex(), "ttlDays": 1}
    headers = {"Idempotency-Key": os.urandom(8).hex()}
    created = http.post("/conversations", json=about, headers=headers).json()
    path = f"/conversations/{created['id']}"
    question = http.post(f"{path}/turns", json={"content": said("q")}).json()["message"]["id"]
    http.get(f"{path}/turns/{question}", params={"wait": 20})
    _expire(stack, created["id"])

    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("GET", "/messages", None),
        ("GET", f"/messages/{question}", None),
        ("GET", "/history", None),
        ("GET", f"/turns/{question}", None),
        ("PATCH", "", {"ttlDays": 30}),
        ("PATCH", "", {"ttlDays": None}),
        ("POST", "/messages", {"role": "user", "content": said("again")}),
        ("POST", "/turns", {"content": said("again")}),
        ("POST", f"/turns/{question}", {}),
        ("DELETE", f"/turns/{question}", None),
        ("DELETE", "/messages", None),
        ("DELETE", "", None),
    ]
    statuses = {
        (method, where): http.request(method, path + where, json=body).status_code for method, where, body in calls
    }
    by_key = http.post("/conversations", json=about, headers=headers)
    by_session = http.post("/conversations", json=about)
    listed = http.get("/conversations", params={"limit": 1000}).json()["conversations"]

    assert set(statuses.values()) == {404}, statuses
    assert by_session.status_code == 201
    assert by_session.json()["id"] != created["id"]
    assert by_key.status_code == 409
    assert created["id"] not in [conversation["id"] for conversation in listed]


def _expire(stack: Stack, conversation_id: str) -> None:
    """As if the time of a conversation had come."""
    stack.client("dynamodb").update_item(
        TableName=stack.conversations_table,
        Key={"id": {"S": conversation_id}},
        UpdateExpression="SET expiresAt = :past",
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
