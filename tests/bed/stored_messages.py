"""The fields of an AppSync API over our own store: a thin adapter, so that Amplify's handler can answer out of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conversations import ids
from conversations.model import Message
from conversations.store import Span, Store
from tests.bed.appsync import Item
from tests.bed.in_process import Api

_CHAIN = 0


@dataclass
class StoredMessages:
    """Implements `appsync.Messages`. Its list is the index as it is, and lags; its read by id is consistent."""

    store: Store
    api: Api

    def page(self, conversation_id: str, limit: int, next_token: str | None) -> tuple[Sequence[Item], str | None]:
        span = Span(ids.chain_id(conversation_id, _CHAIN), latest=next_token)
        found = self.store.indexed(span, newest_first=True, limit=limit + 1)
        before = found[limit].created_at if len(found) > limit else None
        return [_item(message) for message in self.store.load(found[:limit][::-1])], before

    def get(self, message_id: str) -> Item | None:
        message = self.store.message(message_id)
        return _item(self.store.load([message])[0]) if message else None

    def answered(self, given: Mapping[str, Any]) -> None:
        """AppSync stores each part over the last; here the whole is stored, once."""
        if given.get("stopReason") is None:
            return
        body = {
            "role": "assistant",
            "content": [_block(block) for block in given["accumulatedTurnContent"]],
            "associatedUserMessageId": given["associatedUserMessageId"],
        }
        stored = self.api.call("POST", f"/conversations/{given['conversationId']}/messages", body)
        assert stored.status == 201, stored


def _item(message: Message) -> Item:
    return {
        "id": message.id,
        "conversationId": ids.conversation_of(message.conversation_id),
        "role": message.role,
        "content": message.content,
        "associatedUserMessageId": message.associated_user_message_id,
        "aiContext": message.ai_context,
    }


def _block(given: Mapping[str, Any]) -> Mapping[str, Any]:
    if (use := given.get("toolUse")) is None:
        return given
    return {"toolUse": {**use, "input": json.loads(use["input"]) if isinstance(use["input"], str) else use["input"]}}
