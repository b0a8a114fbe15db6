"""Items of the two tables as facts, with what is wrong with an item by itself."""

import zlib
from collections.abc import Iterator
from typing import Any

from audit.facts import Fact, Table
from conversations import codec, ids, schema
from conversations.clock import is_timestamp
from conversations.codec import Item
from conversations.codec.traces import trace_key
from conversations.model import Conversation, Message

_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, IndexError, zlib.error)
_TOMBSTONE_ATTRIBUTES = {
    *(schema.ID, schema.OWNER, schema.CREATED_AT, schema.DELETED_AT, schema.LAST_MESSAGE_ID),
    *(
        schema.SESSION_RECORD_ID,
        schema.REQUEST_HASH,
        schema.VERSION,
        schema.CHAIN,
        schema.EXPIRES_AT,
        schema.TRACE_COUNT,
    ),
}


def facts_of(table: Table, item: Item) -> list[Fact]:
    """What an item says; a flaw if it cannot be read."""
    item_id = item[schema.ID]["S"]
    read = _of_messages if table == "messages" else _of_conversations
    try:
        return list(read(item_id, item))
    except _UNREADABLE as error:
        return [flaw(item_id, "unreadable", f"cannot be read: {type(error).__name__}", table)]


def flaw(item_id: str, rule: str, detail: str, table: Table) -> Fact:
    """Something that is wrong with an item by itself."""
    conversation = ids.conversation_of(item_id) if ids.is_conversation_id(ids.conversation_of(item_id)) else item_id
    return Fact(conversation, "flaw", item_id, {"rule": rule, "detail": detail, "table": table})


# The table of messages


def _of_messages(item_id: str, item: Item) -> Iterator[Fact]:
    chain = item_id.partition(".")[0]
    conversation = ids.conversation_of(chain)
    if not ids.is_conversation_id(conversation) or chain_number(chain) is None or "." not in item_id:
        yield flaw(item_id, "unknown item", "its id names no conversation", "messages")
    elif schema.STATUS in item:
        yield from _turn(conversation, item_id, item)
    elif schema.TRACE_KEY in item or schema.TRACE_CONVERSATION_ID in item:
        yield from _trace(conversation, chain, item_id, item)
    elif schema.CREATED_AT in item or schema.CONVERSATION_ID in item:
        yield from _message(conversation, chain, item)
    else:
        answered = codec.receipt_from_item(item)
        yield Fact(conversation, "receipt", item_id, {"chain": chain, "messages": answered or []})
    is_message = schema.STATUS not in item and schema.TRACE_KEY not in item and schema.CREATED_AT in item
    if not is_message and {schema.CONVERSATION_ID, schema.CREATED_AT} <= item.keys():
        yield flaw(item_id, "index of messages", "stands among the messages and is none", "messages")


def chain_number(chain: str) -> int | None:
    """Which chain of its conversation this is, or ``None`` if it is the name of no chain."""
    rest = chain[ids.CONVERSATION_ID_LENGTH :]
    if not rest:
        return 0
    digits = rest.removeprefix("~")
    return int(digits) if rest[0] == "~" and digits.isascii() and digits.isdigit() and digits[0] != "0" else None


def _message(conversation: str, chain: str, item: Item) -> Iterator[Fact]:
    item_id = item[schema.ID]["S"]
    if item.get(schema.CONVERSATION_ID) != {"S": chain}:
        yield flaw(item_id, "index of messages", f"{schema.CONVERSATION_ID} is not its chain", "messages")
    if not is_timestamp(item.get(schema.CREATED_AT, {}).get("S", "")):
        yield flaw(item_id, "index of messages", f"{schema.CREATED_AT} is no time", "messages")
    message = codec.message_from_item(item)
    if message is None or not message.readable:
        yield flaw(item_id, "unreadable", "cannot be read", "messages")
    if message is not None:
        yield Fact(conversation, "message", item_id, _place(chain, message))


def _place(chain: str, message: Message) -> dict[str, Any]:
    return {
        "chain": chain,
        "role": message.role,
        "position": message.position,
        "createdAt": message.created_at,
        "previous": message.previous_message_id,
        "question": message.associated_user_message_id,
        "system": message.system_message_id,
        "asks": message.asks,
        "large": message.large_key,
        "receipt": message.receipt,
        "readable": message.readable,
    }


def _turn(conversation: str, item_id: str, item: Item) -> Iterator[Fact]:
    turn = codec.turn_from_item(item)
    assert turn is not None
    if not item_id.endswith(ids.TURN_SUFFIX) or schema.EXPIRES_AT not in item:
        yield flaw(item_id, "turn", "is not named as a turn, or stays for ever", "messages")
    values = {"status": turn.status, "updatedAt": turn.updated_at, "leaseUntilMs": turn.lease_until_ms}
    yield Fact(conversation, "turn", item_id, {"message": turn.user_message_id, **values})


def _trace(conversation: str, chain: str, item_id: str, item: Item) -> Iterator[Fact]:
    trace = codec.trace_from_item(item)
    if trace is None or not trace.readable:
        yield flaw(item_id, "unreadable", "cannot be read, or is not named as a trace", "messages")
    if trace is None:
        return
    keys = (trace.chain_id, item[schema.TRACE_KEY]["S"])
    if keys != (chain, trace_key(trace.parent_id, trace.number, trace.ordinal)):
        yield flaw(item_id, "index of traces", "its keys do not name its chain and its place", "messages")
    place = {"chain": chain, "parent": trace.parent_id, "ordinal": trace.ordinal, "large": trace.large_key}
    yield Fact(conversation, "trace", item_id, place)


# The table of conversations


def _of_conversations(item_id: str, item: Item) -> Iterator[Fact]:
    if ids.is_conversation_id(item_id):
        yield from _conversation(item_id, item)
    elif item_id.startswith("session."):
        yield Fact(item[schema.TARGET]["S"], "session", item_id)
    elif item_id.startswith("recent."):
        expires_at = int(item[schema.EXPIRES_AT]["N"])
        for member in item.get(schema.MEMBERS, {}).get("SS", ()):
            yield Fact(member, "recent", item_id, {"expiresAt": expires_at})
    elif item_id.startswith("outcome."):
        codec.outcome_from_item(item)
        if schema.EXPIRES_AT not in item:
            yield flaw(item_id, "record", "stays for ever", "conversations")
    elif item_id == ids.about_record_id(ids.conversation_of(item_id)):
        about = codec.about_of_item(item)
        yield Fact(ids.conversation_of(item_id), "about", item_id, {"sessionId": about.session_id})
    else:
        yield flaw(item_id, "unknown item", "is neither a conversation nor a record beside one", "conversations")


def _conversation(item_id: str, item: Item) -> Iterator[Fact]:
    conversation = codec.conversation_from_item(item)
    if conversation.deleted_at is not None:
        if beside := sorted(item.keys() - _TOMBSTONE_ATTRIBUTES):
            yield flaw(item_id, "tombstone", f"holds {', '.join(beside)}", "conversations")
        yield Fact(item_id, "tombstone", item_id, _end(conversation) | {"deletedAt": conversation.deleted_at})
        return
    size = codec.size_of(item)
    if size >= codec.WRITE_UNIT_BYTES:
        yield flaw(item_id, "size", f"takes {size} bytes, and every append pays for them", "conversations")
    hour = conversation.updated_at[:13]
    keys = {schema.UPDATED_AT: conversation.updated_at, schema.ACTIVE_MONTH: hour[:7], schema.ACTIVE_HOUR: hour}
    if not is_timestamp(conversation.updated_at) or any(item.get(name) != {"S": key} for name, key in keys.items()):
        yield flaw(item_id, "index of conversations", "its keys are not its last activity", "conversations")
    yield Fact(item_id, "head", item_id, _end(conversation))


def _end(conversation: Conversation) -> dict[str, Any]:
    about = conversation.about
    return {
        "owner": conversation.owner,
        "version": conversation.version,
        "chain": conversation.chain,
        "count": conversation.message_count,
        "last": conversation.last_message_id,
        "lastAt": conversation.last_message_at,
        "traces": conversation.notes.traces,
        "lastSystem": conversation.last_system_message_id,
        "createdAt": conversation.created_at,
        "ttlDays": conversation.ttl_days,
        "expiresAt": conversation.expires_at,
        "aboutElsewhere": about is None,
        "sessionId": about.session_id if about else None,
    }
