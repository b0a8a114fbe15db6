"""The messages of the cleanup queue, and what of the table's stream becomes one.

``{"conversationId", "chain"?, "lastMessageId"?, "traces"?, "tombstone"?}``: ``chain`` is the first that is not known to
be clean, ``lastMessageId`` and ``traces`` tell how it ended, and ``tombstone`` is the item of a tombstone that has
expired, since nothing is left in the table then that would tell owner and chains.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from conversations import codec, ids, schema
from conversations.cleaning import End, Task
from conversations.errors import InvalidRequestError
from conversations.model import Conversation


@dataclass(frozen=True, slots=True)
class News:
    """What a stream record says of a conversation: the item as it is, or was, and what happened to it.

    ``end`` is how the chain ended that was cleared.
    """

    kind: Literal["buried", "cleared", "removed", "tombstone removed"]
    conversation: Conversation
    end: End = field(default_factory=End)


def news_in(record: Mapping[str, Any]) -> News | None:
    """What a record of the stream of conversations says, or ``None`` if cleanup has nothing to do with it."""
    change = record["dynamodb"]
    before, after = change.get("OldImage"), change.get("NewImage")
    if not ids.is_conversation_id(change["Keys"][schema.ID]["S"]):
        return None
    if after is None:
        kind: Literal["removed", "tombstone removed"] = "tombstone removed" if codec.is_tombstone(before) else "removed"
        return News(kind, codec.conversation_from_item(before))
    if schema.CLEARED_AT in after and after[schema.CLEARED_AT] != (before or {}).get(schema.CLEARED_AT):
        return News("cleared", codec.conversation_from_item(after), _end_in(before))
    was_buried = before is not None and codec.is_tombstone(before)
    return News("buried", codec.conversation_from_item(after)) if codec.is_tombstone(after) and not was_buried else None


def _end_in(before: codec.Item | None) -> End:
    """How the chain ended that a conversation's item before a clear tells of."""
    if before is None or codec.is_tombstone(before):
        return End()
    cleared = codec.conversation_from_item(before)
    return End(cleared.last_message_id, cleared.notes.traces)


def to_message(task: Task) -> str:
    """The body of the message for a task."""
    message: dict[str, Any] = {"conversationId": task.conversation_id}
    if task.first_chain:
        message["chain"] = task.first_chain
    if task.end.last_message_id is not None:
        message["lastMessageId"] = task.end.last_message_id
    if task.end.traces:
        message["traces"] = task.end.traces
    if task.tombstone is not None:
        message["tombstone"] = codec.conversation_to_item(task.tombstone)
    return codec.to_json(message)


def from_message(body: str) -> Task:
    """The task in the body of a message.

    Raises:
        InvalidRequestError: the message is malformed; names the field.
    """
    try:
        message = json.loads(body)
        conversation_id, chain, item = message["conversationId"], message.get("chain", 0), message.get("tombstone")
        end = End(message.get("lastMessageId"), message.get("traces", 0))
        tombstone = codec.conversation_from_item(item) if item is not None else None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidRequestError("The message is malformed.", field="body") from error
    if not isinstance(conversation_id, str) or not ids.is_conversation_id(conversation_id):
        raise InvalidRequestError("conversationId is not an id of a conversation.", field="conversationId")
    for name, number in (("chain", chain), ("traces", end.traces)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise InvalidRequestError(f"{name} must be a whole number from 0 on.", field=name)
    if not isinstance(end.last_message_id, str | None):
        raise InvalidRequestError("lastMessageId must be a string.", field="lastMessageId")
    return Task(conversation_id, chain, tombstone, end)
