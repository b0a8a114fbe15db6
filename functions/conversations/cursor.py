"""Cursors: opaque to callers, bound to the query that they continue.

A cursor holds nothing secret and gives no right: what it leads to is checked as if it had been asked for directly.
Since anybody can write one, all of it is checked that a query is made of: a store refuses keys that cannot be.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from conversations import ids
from conversations.chain import Place
from conversations.clock import is_timestamp
from conversations.errors import InvalidCursorError
from conversations.model import Conversation
from conversations.store import Listed

_MESSAGES = "m1"
_CONVERSATIONS = "c1"
_LONGEST = 1024
_REST_OF_HOUR = ":00:00.000000000Z"


def of_messages(head: Conversation, order: str, place: Place) -> str:
    """The cursor of a page of messages: ``place`` is the next expected message (desc), or the last one taken (asc)."""
    return _encode([_MESSAGES, head.chain_id, order, place.message_id, place.created_at, place.position])


def to_messages(cursor: str, head: Conversation, order: str) -> Place:
    """The place that a cursor of this conversation's messages in this order holds.

    Raises:
        InvalidCursorError: it is malformed, of another query, or of messages that were cleared.
    """
    message_id, created_at, position = _decode(cursor, [_MESSAGES, head.chain_id, order], of=(str, str, int))
    if not ids.belongs_to(message_id, head.chain_id) or not _is_before_the_end(head, created_at, position):
        raise _invalid()
    return Place(message_id, created_at, position)


def _is_before_the_end(head: Conversation, created_at: str, position: int) -> bool:
    """Whether there is such a time and such a position in the chain: no cursor is given for its very end."""
    last_message_at = head.last_message_at or ""
    return 0 <= position < head.message_count and is_timestamp(created_at) and created_at < last_message_at


def of_conversations(owner: str, last: Listed) -> str:
    """The cursor of a page of an owner's conversations."""
    return _encode([_CONVERSATIONS, ids.digest(owner), last.sort_key, last.conversation_id])


def to_conversations(cursor: str, owner: str, *, by_hour: bool = False) -> Listed:
    """Where a page of this owner's conversations ended; ``by_hour`` is how all owners' are sorted.

    Raises:
        InvalidCursorError: it is malformed or of another query.
    """
    sort_key, conversation_id = _decode(cursor, [_CONVERSATIONS, ids.digest(owner)], of=(str, str))
    if not ids.is_conversation_id(conversation_id) or not is_timestamp(f"{sort_key}{_REST_OF_HOUR * by_hour}"):
        raise _invalid()
    return Listed(sort_key, conversation_id)


def _encode(parts: list[Any]) -> str:
    return urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def _decode(cursor: str, query: list[str], *, of: tuple[type, ...]) -> list[Any]:
    if len(cursor) > _LONGEST:
        raise _invalid()
    try:
        parts = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError) as error:
        raise _invalid() from error
    if not isinstance(parts, list) or len(parts) != len(query) + len(of) or parts[: len(query)] != query:
        raise _invalid()
    rest = parts[len(query) :]
    if any(type(part) is not wanted for part, wanted in zip(rest, of, strict=True)):
        raise _invalid()
    return rest


def _invalid() -> InvalidCursorError:
    return InvalidCursorError("cursor is not one of this query's, or what it points into is gone.", field="cursor")
