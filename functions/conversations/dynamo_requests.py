"""The parts of requests to DynamoDB: keys, conditions and the actions of transactions. Pure."""

from collections.abc import Iterable
from typing import Any

from conversations import codec, ids, schema
from conversations.clock import NANOSECONDS
from conversations.codec import Item
from conversations.model import Conversation, Turn
from conversations.store import Listed, Span

IS_NEW = f"attribute_not_exists({schema.ID})"
RECENT_KEPT_S = 600
MINUTE_S = 60


def key(item_id: str) -> Item:
    """The primary key of an item, which is the same attribute in both tables."""
    return {schema.ID: {"S": item_id}}


def names(attributes: Iterable[str]) -> dict[str, str]:
    """Expression names, since some attributes are reserved words: ``#name`` for each."""
    return {f"#{name}": name for name in attributes}


def put(table: str, item: Item, *, new: bool = False) -> dict[str, Any]:
    """Write an item; ``new``: on condition that there is none of its id."""
    condition = {"ConditionExpression": IS_NEW} if new else {}
    return {"Put": {"TableName": table, "Item": item, **condition}}


def put_again(table: str, item: Item) -> dict[str, Any]:
    """Write an item in the place of the one that it was made from by one change."""
    read = int(item[schema.REV]["N"]) - 1
    return {
        "Put": {
            "TableName": table,
            "Item": item,
            "ConditionExpression": f"{schema.REV} = :read",
            "ExpressionAttributeValues": {":read": {"N": str(read)}},
        }
    }


def traces_of(table: str, parent_id: str) -> dict[str, Any]:
    """The query of a message's traces, in the order of their numbers."""
    return {
        "TableName": table,
        "IndexName": schema.TRACES_INDEX,
        "KeyConditionExpression": f"{schema.TRACE_CONVERSATION_ID} = :chain AND begins_with({schema.TRACE_KEY}, :keys)",
        "ExpressionAttributeValues": {
            ":chain": {"S": ids.chain_of(parent_id)},
            ":keys": {"S": codec.trace_keys_of(parent_id)},
        },
    }


def move(table: str, head: Conversation, moved: Conversation) -> dict[str, Any]:
    """The update from ``head`` to ``moved`` on condition that the item still is as it was read."""
    before, after = codec.conversation_to_item(head), codec.conversation_to_item(moved)
    changed = [name for name, value in after.items() if before.get(name) != value]
    gone = [name for name in before if name not in after]
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in changed)
    if gone:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in gone)
    pins = {":read_owner": before[schema.OWNER], ":read_version": before[schema.VERSION]}
    return {
        "Update": {
            "TableName": table,
            "Key": key(head.id),
            "UpdateExpression": expression,
            "ConditionExpression": "#owner = :read_owner AND #version = :read_version",
            "ExpressionAttributeNames": names([*changed, *gone, schema.OWNER, schema.VERSION]),
            "ExpressionAttributeValues": {f":{name}": after[name] for name in changed} | pins,
        }
    }


def bury(table: str, tombstone: Conversation, expects: Conversation | None) -> dict[str, Any]:
    """Put a tombstone in the place of what was read: an item that is written anew keeps nothing of the one before."""
    request: dict[str, Any] = {"TableName": table, "Item": codec.conversation_to_item(tombstone)}
    if expects is None:
        return request | {"ConditionExpression": IS_NEW}
    read = codec.conversation_to_item(expects)
    return request | {
        "ConditionExpression": "#owner = :read_owner AND #version = :read_version",
        "ExpressionAttributeNames": names([schema.OWNER, schema.VERSION]),
        "ExpressionAttributeValues": {":read_owner": read[schema.OWNER], ":read_version": read[schema.VERSION]},
    }


def put_turn(table: str, turn: Turn, expects: Turn | None) -> dict[str, Any]:
    """Write a turn's state on condition that the stored one is what was read (``None``: that there is none)."""
    request: dict[str, Any] = {"TableName": table, "Item": codec.turn_to_item(turn)}
    if expects is None:
        return request | {"ConditionExpression": IS_NEW}
    pins = (schema.STATUS, schema.ATTEMPT, schema.LEASE_UNTIL)
    expected = codec.turn_to_item(expects)
    return request | {
        "ConditionExpression": " AND ".join(f"#{name} = :{name}" for name in pins),
        "ExpressionAttributeNames": names(pins),
        "ExpressionAttributeValues": {f":{name}": expected[name] for name in pins},
    }


def put_session(table: str, conversation: Conversation, session_id: str, replaces: str | None) -> dict[str, Any]:
    """Let a session id stand for a conversation, if it still stands for none, or for the one that was read."""
    record_id = ids.session_record_id(conversation.owner, session_id)
    item: Item = {**key(record_id), schema.TARGET: {"S": conversation.id}}
    if replaces is None:
        return put(table, item, new=True)
    condition = {"ConditionExpression": "#target = :replaces", "ExpressionAttributeNames": names([schema.TARGET])}
    return {
        "Put": {
            "TableName": table,
            "Item": item,
            "ExpressionAttributeValues": {":replaces": {"S": replaces}},
            **condition,
        }
    }


def note_recent(table: str, conversation: Conversation, now_ns: int) -> dict[str, Any]:
    """Note a new conversation on the record of its owner and minute, which listings read until the index has it."""
    now_s = now_ns // NANOSECONDS
    return {
        "Update": {
            "TableName": table,
            "Key": key(ids.recent_record_id(conversation.owner, now_s // MINUTE_S)),
            "UpdateExpression": "ADD #members :members SET #expiresAt = :expiresAt",
            "ExpressionAttributeNames": names([schema.MEMBERS, schema.EXPIRES_AT]),
            "ExpressionAttributeValues": {
                ":members": {"SS": [conversation.id]},
                ":expiresAt": {"N": str(now_s + RECENT_KEPT_S)},
            },
        }
    }


def listing(table: str, index: str, partition: tuple[str, str], sort: str, after: Listed | None) -> dict[str, Any]:
    """The query of one partition of an index of conversations, last first, from after a line on."""
    attribute, value = partition
    query: dict[str, Any] = {
        "TableName": table,
        "IndexName": index,
        "KeyConditionExpression": "#partition = :partition",
        "ExpressionAttributeNames": {"#partition": attribute},
        "ExpressionAttributeValues": {":partition": {"S": value}},
        "ScanIndexForward": False,
    }
    if after:
        start = {attribute: value, sort: after.sort_key, schema.ID: after.conversation_id}
        query["ExclusiveStartKey"] = {name: {"S": text} for name, text in start.items()}
    return query


def span_condition(span: Span) -> tuple[str, dict[str, dict[str, str]]]:
    """The key condition of a stretch of a chain, and its values."""
    values = {":chain": span.chain_id, ":earliest": span.earliest, ":latest": span.latest}
    bounds = {
        (True, True): f" AND {schema.CREATED_AT} BETWEEN :earliest AND :latest",
        (True, False): f" AND {schema.CREATED_AT} >= :earliest",
        (False, True): f" AND {schema.CREATED_AT} <= :latest",
        (False, False): "",
    }[span.earliest is not None, span.latest is not None]
    condition = f"{schema.CONVERSATION_ID} = :chain{bounds}"
    return condition, {name: {"S": text} for name, text in values.items() if text is not None}
