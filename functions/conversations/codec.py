"""Items of the tables to values of the domain and back: the only place that knows both.

A message's item has few attributes and one JSON document, since reading costs by the attribute, and JSON keeps numbers,
nulls and emoji as they were. The document is text while it is small, compressed where that saves a write unit, and
above 32 KB its bulky part stands in an object of its own (``large``), which costs a hundredth of the write units.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conversations import ids, schema
from conversations.clock import from_timestamp
from conversations.model import About, Conversation, Draft, Message, Turn, TurnStatus

WRITE_UNIT_BYTES = 1024
LARGEST_BODY_BYTES = 32 * 1024
LARGEST_PARTIAL_BYTES = 100 * 1024
SHORT_ABOUT_BYTES = 256
TURN_KEPT_S = 30 * 24 * 3600
_ABOUT_ELSEWHERE = "elsewhere"
_ANSWERED = "messages"
_ABOUT = "about"  # the attribute of the item of its own

Item = dict[str, dict[str, Any]]
"""An item in DynamoDB's own JSON: attribute name to ``{type: value}``."""

# Attribute of Message -> member of the document. What is bulky moves to an object of its own together.
_BULKY = {
    "content": "content",
    "ai_context": "aiContext",
    "metadata": "metadata",
    "tool_configuration": "toolConfiguration",
}
_SMALL = {
    "role": "role",
    "position": "position",
    "previous_message_id": "previousMessageId",
    "associated_user_message_id": "associatedUserMessageId",
    "client_message_id": "clientMessageId",
    "asks": "asks",
    "tokens": "tokens",
    "usage": "usage",
    "stop_reason": "stopReason",
    "model_id": "modelId",
    "system_message_id": "systemMessageId",
    "request_hash": "requestHash",
    "large_key": "large",
    "receipt": "receipt",
}
_MEMBERS = {member: attribute for attribute, member in (_SMALL | _BULKY).items()}


def to_json(value: object) -> str:
    """Compact JSON that is not ASCII-escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Messages


def bulk_of(draft: Draft) -> bytes | None:
    """What of a draft must stand in an object of its own, compressed; ``None`` when it fits into an item."""
    text = to_json(_members(draft, _BULKY))
    encoded = text.encode()
    if len(encoded) <= LARGEST_BODY_BYTES:
        return None
    compressed = zlib.compress(encoded)
    return compressed if len(compressed) > LARGEST_BODY_BYTES else None


def with_bulk(message: Message, bulk: bytes) -> Message:
    """The message with what its object holds."""
    document = json.loads(zlib.decompress(bulk))
    return replace(message, **{_MEMBERS[member]: value for member, value in document.items() if member in _MEMBERS})


def message_to_item(message: Message) -> Item:
    """The item of a message; what is in an object of its own is left out."""
    document = _members(message, _SMALL)
    if message.large_key is None:
        document |= _members(message, _BULKY)
    item: Item = {
        schema.ID: {"S": message.id},
        schema.CONVERSATION_ID: {"S": message.conversation_id},
        schema.CREATED_AT: {"S": message.created_at},
        schema.REV: {"N": str(message.rev)},
    }
    item[schema.BODY] = _packed(to_json(document), others=_size(item))
    return item


def message_from_item(item: Item) -> Message | None:
    """The message in an item, or ``None`` if the item is something else.

    An item that cannot be read gives a message that is not ``readable`` and has no place in the chain (position 0), so
    that it does not make the others unreadable.
    """
    if schema.CREATED_AT not in item or schema.BODY not in item:
        return None
    message_id = item[schema.ID]["S"]
    chain = message_id.partition(".")[0]
    created_at = item[schema.CREATED_AT]["S"]
    rev = int(item[schema.REV]["N"]) if schema.REV in item else 1
    try:
        document = json.loads(_unpacked(item[schema.BODY]))
        fields = {_MEMBERS[member]: value for member, value in document.items() if member in _MEMBERS}
        fields.setdefault("content", ())
        return Message(id=message_id, conversation_id=chain, created_at=created_at, rev=rev, **fields)
    except (ValueError, TypeError, zlib.error):
        return Message(
            id=message_id,
            conversation_id=chain,
            role="user",
            content=(),
            created_at=created_at,
            position=0,
            readable=False,
            rev=rev,
        )


def receipt_item(chain_id: str, receipt: str, message_ids: Sequence[str]) -> Item:
    """The item by which a retry finds an answer whose id does not derive from the request; it stands in no index."""
    body = to_json({_ANSWERED: list(message_ids)})
    return {schema.ID: {"S": ids.message_id(chain_id, receipt)}, schema.BODY: {"S": body}}


def receipt_from_item(item: Item) -> list[str] | None:
    """The ids of the messages that a receipt stands for, or ``None`` if the item is something else."""
    if schema.CREATED_AT in item or schema.BODY not in item:
        return None
    message_ids: list[str] = json.loads(item[schema.BODY]["S"])[_ANSWERED]
    return message_ids


def _members(value: Draft | Message, names: Mapping[str, str]) -> dict[str, Any]:
    found = ((attribute, member, getattr(value, attribute)) for attribute, member in names.items())
    return {
        member: content
        for attribute, member, content in found
        if content is not None and (content is not False or attribute != "asks")
    }


def _size(item: Item) -> int:
    return sum(len(name) + len(next(iter(value.values()))) for name, value in item.items())


def _packed(text: str, *, others: int) -> dict[str, str | bytes]:
    """The text as an attribute: compressed if that saves a write unit, given the bytes of the other attributes."""
    size = others + len(schema.BODY) + len(text.encode())
    if size <= WRITE_UNIT_BYTES:
        return {"S": text}
    compressed = zlib.compress(text.encode())
    saved = _write_units(size) - _write_units(others + len(schema.BODY) + len(compressed))
    return {"B": compressed} if saved > 0 else {"S": text}


def _unpacked(attribute: Mapping[str, Any]) -> str:
    if "B" in attribute:
        return zlib.decompress(attribute["B"]).decode()
    return str(attribute["S"])


def _write_units(size: int) -> int:
    return -(-size // WRITE_UNIT_BYTES)


# Conversations


def conversation_to_item(conversation: Conversation) -> Item:
    """The conversation's own item, under 1 KB since every append pays for it."""
    hour = conversation.updated_at[:13]
    texts = {
        schema.ID: conversation.id,
        schema.OWNER: conversation.owner,
        schema.CREATED_AT: conversation.created_at,
        schema.UPDATED_AT: conversation.updated_at,
        schema.ACTIVE_MONTH: hour[:7],
        schema.ACTIVE_HOUR: hour,
        schema.LAST_MESSAGE_ID: conversation.last_message_id,
        schema.LAST_MESSAGE_AT: conversation.last_message_at,
        schema.LAST_SYSTEM_MESSAGE_ID: conversation.last_system_message_id,
        schema.ABOUT: _ABOUT_ELSEWHERE if about_item(conversation) else to_json(about_to_json(conversation.about)),
        schema.DELETED_AT: conversation.deleted_at,
        schema.REQUEST_HASH: conversation.request_hash,
    }
    numbers = {
        schema.VERSION: conversation.version,
        schema.CHAIN: conversation.chain,
        schema.MESSAGE_COUNT: conversation.message_count,
        schema.TTL_DAYS: conversation.ttl_days,
        schema.EXPIRES_AT: conversation.expires_at,
    }
    item: Item = {name: {"S": text} for name, text in texts.items() if text is not None}
    return item | {name: {"N": str(number)} for name, number in numbers.items() if number is not None}


def conversation_from_item(item: Item) -> Conversation:
    """The conversation in its own item; ``about`` is ``None`` when it stands elsewhere."""
    about = item[schema.ABOUT]["S"]
    return Conversation(
        id=item[schema.ID]["S"],
        owner=item[schema.OWNER]["S"],
        created_at=item[schema.CREATED_AT]["S"],
        updated_at=item[schema.UPDATED_AT]["S"],
        version=int(item[schema.VERSION]["N"]),
        chain=int(item[schema.CHAIN]["N"]),
        message_count=int(item[schema.MESSAGE_COUNT]["N"]),
        last_message_id=_text(item, schema.LAST_MESSAGE_ID),
        last_message_at=_text(item, schema.LAST_MESSAGE_AT),
        last_system_message_id=_text(item, schema.LAST_SYSTEM_MESSAGE_ID),
        about=None if about == _ABOUT_ELSEWHERE else about_from_json(json.loads(about)),
        ttl_days=_number(item, schema.TTL_DAYS),
        expires_at=_number(item, schema.EXPIRES_AT),
        deleted_at=_text(item, schema.DELETED_AT),
        request_hash=_text(item, schema.REQUEST_HASH),
    )


def about_item(conversation: Conversation) -> Item | None:
    """The item of its own for what is said of a conversation, when that would make the conversation's item large.

    A conversation whose ``about`` was not read has one already.
    """
    if conversation.about is None:
        return {schema.ID: {"S": ids.about_record_id(conversation.id)}}
    text = to_json(about_to_json(conversation.about))
    if len(text.encode()) <= SHORT_ABOUT_BYTES:
        return None
    item: Item = {schema.ID: {"S": ids.about_record_id(conversation.id)}}
    return item | {_ABOUT: _packed(text, others=_size(item))}


def about_of_item(item: Item) -> About:
    """What is said of a conversation, from the item of its own."""
    return about_from_json(json.loads(_unpacked(item[_ABOUT])))


def about_to_json(about: About | None) -> dict[str, Any]:
    """The members that are there."""
    if about is None:
        return {}
    members = {
        "name": about.name,
        "sessionId": about.session_id,
        "metadata": about.metadata or None,
        "applicationType": about.application_type,
    }
    return {member: value for member, value in members.items() if value is not None}


def about_from_json(document: Mapping[str, Any]) -> About:
    """The inverse of ``about_to_json``."""
    return About(
        name=document.get("name"),
        session_id=document.get("sessionId"),
        metadata=document.get("metadata", {}),
        application_type=document.get("applicationType"),
    )


# Turns


def turn_to_item(turn: Turn) -> Item:
    """The item of a turn. It is kept for 30 days after its last change."""
    changed_s = from_timestamp(turn.updated_at) // 1_000_000_000
    item: Item = {
        schema.ID: {"S": ids.turn_id(turn.user_message_id)},
        schema.STATUS: {"S": turn.status},
        schema.ATTEMPT: {"N": str(turn.attempt)},
        schema.LEASE_UNTIL: {"N": str(turn.lease_until_ms)},
        schema.UPDATED_AT: {"S": turn.updated_at},
        schema.EXPIRES_AT: {"N": str(changed_s + TURN_KEPT_S)},
    }
    if turn.error is not None:
        item[schema.ERROR] = {"S": to_json(dict(turn.error))}
    if turn.partial_text:
        item[schema.PARTIAL] = _packed(turn.partial_text, others=_size(item))
    return item


def turn_from_item(item: Item) -> Turn | None:
    """The turn in an item, or ``None`` if the item is something else."""
    if schema.STATUS not in item:
        return None
    status: TurnStatus = item[schema.STATUS]["S"]
    return Turn(
        user_message_id=item[schema.ID]["S"].removesuffix(ids.TURN_SUFFIX),
        status=status,
        updated_at=item[schema.UPDATED_AT]["S"],
        attempt=int(item[schema.ATTEMPT]["N"]),
        lease_until_ms=int(item[schema.LEASE_UNTIL]["N"]),
        partial_text=_unpacked(item[schema.PARTIAL]) if schema.PARTIAL in item else "",
        error=json.loads(item[schema.ERROR]["S"]) if schema.ERROR in item else None,
    )


def _text(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def _number(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None
