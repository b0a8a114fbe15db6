"""Items of tombstones. They hold no content: ids, digests and times, by which the rest is found and retries are known.

A tombstone lacks the sort keys of the indexes of conversations, so no listing meets it.
"""

from conversations import schema
from conversations.codec.packing import Item, number_in, text_in
from conversations.model import About, Conversation
from conversations.notes import Notes


def is_tombstone(item: Item) -> bool:
    """Whether this is the item of a conversation that has been deleted, or has expired and been found so."""
    return schema.DELETED_AT in item


def tombstone_to_item(tombstone: Conversation) -> Item:
    """The item that stands in the place of the conversation's."""
    texts = {
        schema.ID: tombstone.id,
        schema.OWNER: tombstone.owner,
        schema.CREATED_AT: tombstone.created_at,
        schema.DELETED_AT: tombstone.deleted_at,
        schema.LAST_MESSAGE_ID: tombstone.last_message_id,
        schema.SESSION_RECORD_ID: tombstone.session_record_id,
        schema.REQUEST_HASH: tombstone.request_hash,
    }
    numbers = {
        schema.VERSION: tombstone.version,
        schema.CHAIN: tombstone.chain,
        schema.EXPIRES_AT: tombstone.expires_at,
        schema.TRACE_COUNT: tombstone.notes.traces or None,
    }
    item: Item = {name: {"S": text} for name, text in texts.items() if text is not None}
    return item | {name: {"N": str(number)} for name, number in numbers.items() if number is not None}


def tombstone_from_item(item: Item) -> Conversation:
    """The tombstone in an item: a conversation that does not stand, and of which nothing is said."""
    deleted_at = item[schema.DELETED_AT]["S"]
    return Conversation(
        id=item[schema.ID]["S"],
        owner=item[schema.OWNER]["S"],
        created_at=item[schema.CREATED_AT]["S"],
        updated_at=deleted_at,
        version=int(item[schema.VERSION]["N"]),
        chain=int(item[schema.CHAIN]["N"]),
        last_message_id=text_in(item, schema.LAST_MESSAGE_ID),
        about=About(),
        expires_at=int(item[schema.EXPIRES_AT]["N"]),
        deleted_at=deleted_at,
        session_record_id=text_in(item, schema.SESSION_RECORD_ID),
        request_hash=text_in(item, schema.REQUEST_HASH),
        notes=Notes(traces=number_in(item, schema.TRACE_COUNT) or 0),
    )
