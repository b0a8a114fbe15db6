"""Items of conversations, and of what is said of them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conversations import ids, schema
from conversations.codec.notes import notes_from_text, notes_to_text
from conversations.codec.packing import WRITE_UNIT_BYTES, Item, number_in, packed, text_in, to_json, unpacked
from conversations.codec.tombstones import is_tombstone, tombstone_from_item, tombstone_to_item
from conversations.model import About, Conversation
from conversations.notes import Notes
from conversations.store import Activity

SHORT_ABOUT_BYTES = 256
_ABOUT_ELSEWHERE = "elsewhere"
_ABOUT = "about"  # the attribute of the item of its own


def conversation_to_item(conversation: Conversation) -> Item:
    """The conversation's own item, under 1 KB since every append pays for it; a tombstone's if it was deleted."""
    if conversation.deleted_at is not None:
        return tombstone_to_item(conversation)
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
        schema.REQUEST_HASH: conversation.request_hash,
        schema.CLEARED_AT: conversation.cleared_at,
    }
    numbers = {
        schema.VERSION: conversation.version,
        schema.CHAIN: conversation.chain,
        schema.MESSAGE_COUNT: conversation.message_count,
        schema.TTL_DAYS: conversation.ttl_days,
        schema.EXPIRES_AT: conversation.expires_at,
    }
    item: Item = {name: {"S": text} for name, text in texts.items() if text is not None}
    item |= {name: {"N": str(number)} for name, number in numbers.items() if number is not None}
    return item | _notes_in(item, conversation.notes)


def _notes_in(item: Item, notes: Notes) -> Item:
    """The notes of a head whose item holds the rest already: as many places as there is room for."""
    if notes == Notes():
        return {}
    taken = sum(len(name) + len(next(iter(value.values())).encode()) for name, value in item.items())
    while notes.changed and taken + len(schema.NOTES) + len(notes_to_text(notes)) >= WRITE_UNIT_BYTES:
        notes = replace(notes, changed=notes.changed[1:])
    return {schema.NOTES: {"S": notes_to_text(notes)}}


def conversation_from_item(item: Item) -> Conversation:
    """The conversation in its own item, or its tombstone; ``about`` is ``None`` when it stands elsewhere."""
    if is_tombstone(item):
        return tombstone_from_item(item)
    about = item[schema.ABOUT]["S"]
    return Conversation(
        id=item[schema.ID]["S"],
        owner=item[schema.OWNER]["S"],
        created_at=item[schema.CREATED_AT]["S"],
        updated_at=item[schema.UPDATED_AT]["S"],
        version=int(item[schema.VERSION]["N"]),
        chain=int(item[schema.CHAIN]["N"]),
        message_count=int(item[schema.MESSAGE_COUNT]["N"]),
        last_message_id=text_in(item, schema.LAST_MESSAGE_ID),
        last_message_at=text_in(item, schema.LAST_MESSAGE_AT),
        last_system_message_id=text_in(item, schema.LAST_SYSTEM_MESSAGE_ID),
        about=None if about == _ABOUT_ELSEWHERE else about_from_json(json.loads(about)),
        ttl_days=number_in(item, schema.TTL_DAYS),
        expires_at=number_in(item, schema.EXPIRES_AT),
        request_hash=text_in(item, schema.REQUEST_HASH),
        cleared_at=text_in(item, schema.CLEARED_AT),
        notes=notes_from_text(item[schema.NOTES]["S"]) if schema.NOTES in item else Notes(),
    )


ACTIVITY_ATTRIBUTES = (schema.ID, schema.VERSION, schema.UPDATED_AT, schema.EXPIRES_AT)


def activity_from_item(item: Item) -> Activity | None:
    """When a conversation was last active, from these attributes of its item; ``None`` if it was deleted."""
    updated_at = text_in(item, schema.UPDATED_AT)
    if updated_at is None:
        return None
    expires_at = number_in(item, schema.EXPIRES_AT)
    return Activity(item[schema.ID]["S"], int(item[schema.VERSION]["N"]), updated_at, expires_at)


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
    return packed(_ABOUT, text, beside=item)


def empty_about_item(conversation_id: str) -> Item:
    """What is left of the item of its own when all that is said fits into the conversation's again."""
    return {schema.ID: {"S": ids.about_record_id(conversation_id)}, _ABOUT: {"S": to_json({})}}


def about_of_item(item: Item) -> About:
    """What is said of a conversation, from the item of its own."""
    return about_from_json(json.loads(unpacked(item[_ABOUT])))


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
