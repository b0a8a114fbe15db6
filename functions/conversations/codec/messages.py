"""Items of messages and of receipts."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conversations import ids, schema
from conversations.codec.bulk import bulk_of_document, document_of_bulk
from conversations.codec.packing import Item, cheaper, compressed, from_json, packed, to_json, unpacked
from conversations.model import Block, Draft, Message

_ANSWERED = "messages"

# Attribute of Message -> member of the document. What is bulky moves to an object of its own together.
_BULKY = {
    "content": "content",
    "ai_context": "aiContext",
    "metadata": "metadata",
    "prompt_template": "promptTemplate",
    "origin": "origin",
    "tool_configuration": "toolConfiguration",
    "tool_calls": "toolCalls",
    "guardrail_trace": "guardrailTrace",
}
_SMALL = {
    "client_message_id": "clientMessageId",
    "asks": "asks",
    "options": "options",
    "measured": "measured",
    "usage": "usage",
    "stop_reason": "stopReason",
    "model_id": "modelId",
    "latency_ms": "latencyMs",
    "large_key": "large",
    "receipt": "receipt",
    "updated_at": "updatedAt",
    "change_id": "changeId",
}
# What every message has, in this order and with spaces between, which none of it holds. It is split in a tenth of the
# time that it would take in the document, where it stood once.
_PLACE = {
    "position": "position",
    "role": "role",
    "tokens": "tokens",
    "rev": "rev",
    "previous_message_id": "previousMessageId",
    "associated_user_message_id": "associatedUserMessageId",
    "system_message_id": "systemMessageId",
    "request_hash": "requestHash",
}
_MEMBERS = {member: attribute for attribute, member in (_SMALL | _BULKY | _PLACE).items()}


def bulk_of(message: Draft | Message) -> bytes | None:
    """What of a message must stand in an object of its own, compressed; ``None`` when it fits into an item."""
    return bulk_of_document(_members(message, _BULKY))


def with_bulk(message: Message, bulk: bytes) -> Message:
    """The message with what its object holds.

    Raises:
        ValueError, KeyError, zlib.error: the object is none that ``bulk_of`` made.
    """
    document = document_of_bulk(bulk)
    return replace(message, **{_MEMBERS[member]: document[member] for member in {"content"} | document.keys()})


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
        schema.PLACE: {"S": _place_of(message)},
    }
    words = _words_of(document.get("content", ()))
    if words is None:
        return packed(schema.BODY, to_json(document), beside=item) if document else item
    rest = {member: value for member, value in document.items() if member != "content"}
    if not rest:
        return packed(schema.WORDS, words, beside=item)
    plain = item | {schema.WORDS: {"S": words}, schema.BODY: {"S": to_json(rest)}}
    return cheaper(plain, lambda: item | {schema.BODY: compressed(to_json(document))})  # both shrink better together


def _place_of(message: Message) -> str:
    words = [_word(getattr(message, name), message.conversation_id) for name in _PLACE]
    if any(" " in word for word in words):
        raise ValueError("A word of a message's place holds a space.")
    return " ".join(words)


def _word(value: str | int | None, chain_id: str) -> str:
    """An id of the same chain begins with its dot."""
    word = "" if value is None else str(value)
    return word.removeprefix(chain_id) if word.startswith(f"{chain_id}.") else word


def _words_of(content: Sequence[Block]) -> str | None:
    """The text of a content that is one text and nothing else."""
    if len(content) != 1 or content[0].keys() != {"text"}:
        return None
    text = content[0]["text"]
    return text if isinstance(text, str) else None


def message_from_item(item: Item) -> Message | None:
    """The message in an item, or ``None`` if the item is something else.

    An item that cannot be read gives a message that is not ``readable`` and has no place in the chain (position 0), so
    that it does not make the others unreadable.
    """
    if schema.CREATED_AT not in item:
        return None
    try:
        return _placed(item) if schema.PLACE in item else _as_written_once(item)
    except (AttributeError, KeyError, ValueError, TypeError, zlib.error):
        return Message(**_named(item), role="user", content=(), position=0, readable=False)


def _placed(item: Item) -> Message:
    message_id = item[schema.ID]["S"]
    chain_id = ids.chain_of(message_id)
    position, role, size, rev, before, question, system, request_hash = item[schema.PLACE]["S"].split(" ")
    fields: dict[str, Any] = {
        "id": message_id,
        "conversation_id": chain_id,
        "created_at": item[schema.CREATED_AT]["S"],
        "position": int(position),
        "role": role,
        "tokens": int(size),
        "content": [{"text": unpacked(item[schema.WORDS])}] if schema.WORDS in item else (),
    }
    if rev != "1":
        fields["rev"] = int(rev)
    if before:
        fields["previous_message_id"] = chain_id + before if before[0] == "." else before
    if question:
        fields["associated_user_message_id"] = chain_id + question if question[0] == "." else question
    if system:
        fields["system_message_id"] = chain_id + system if system[0] == "." else system
    if request_hash:
        fields["request_hash"] = request_hash
    if schema.BODY in item:
        fields |= _told(item)
    return Message.of(fields)


def _as_written_once(item: Item) -> Message:
    """Everything stood in the document."""
    rev = {"rev": int(item[schema.REV]["N"])} if schema.REV in item else {}
    fields = {"content": ()} | _told(item) | _named(item) | rev
    if not fields.keys() >= {"role", "position"}:
        raise ValueError("A message lacks what every one has.")
    return Message.of(fields)


def _named(item: Item) -> dict[str, Any]:
    message_id = item[schema.ID]["S"]
    return {
        "id": message_id,
        "conversation_id": ids.chain_of(message_id),
        "created_at": item[schema.CREATED_AT]["S"],
    }


def _told(item: Item) -> dict[str, Any]:
    document = from_json(unpacked(item[schema.BODY]))
    return {_MEMBERS[member]: value for member, value in document.items() if member in _MEMBERS}


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
