"""How values of the domain look in answers of our own API."""

from collections.abc import Mapping
from typing import Any

from api.strict_json import escaped_size
from conversations import ids
from conversations.codec import to_json
from conversations.model import Conversation, Message, Prompt, Turn


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    """``{id, owner, name, sessionId?, metadata, createdAt, updatedAt, messageCount, ttlDays?, expiresAt?}``"""
    about = conversation.about
    optional = {
        "sessionId": about.session_id if about else None,
        "ttlDays": conversation.ttl_days,
        "expiresAt": conversation.expires_at,
    }
    return {
        "id": conversation.id,
        "owner": conversation.owner,
        "name": about.name if about else None,
        "metadata": about.metadata if about else {},
        "createdAt": conversation.created_at,
        "updatedAt": conversation.updated_at,
        "messageCount": conversation.message_count,
        **_present(optional),
    }


def message_json(message: Message) -> dict[str, Any]:
    """``{id, conversationId, role, content, createdAt, position, previousMessageId, tokens, ...}``

    A message whose stored content is gone or cannot be read has ``unreadable: true`` and no content.
    """
    optional = {
        "associatedUserMessageId": message.associated_user_message_id,
        "clientMessageId": message.client_message_id,
        "aiContext": message.ai_context,
        "metadata": message.metadata,
        "usage": message.usage,
        "stopReason": message.stop_reason,
        "modelId": message.model_id,
        "unreadable": None if message.readable else True,
    }
    return {
        "id": message.id,
        "conversationId": ids.conversation_of(message.conversation_id),
        "role": message.role,
        "content": message.content,
        "createdAt": message.created_at,
        "position": message.position,
        "previousMessageId": message.previous_message_id,
        "tokens": message.tokens,
        **_present(optional),
    }


def message_size(message: Message) -> int:
    """The bytes that a message takes in an answer, escaped as the answer's body is."""
    return escaped_size(to_json(message_json(message))) + 1


def turn_json(turn: Turn) -> dict[str, Any]:
    """``{userMessageId, responseMessageId, status, attempt, partialText, partialLength, error?, updatedAt}``"""
    return {
        "userMessageId": turn.user_message_id,
        "responseMessageId": ids.response_id(turn.user_message_id),
        "status": turn.status,
        "attempt": turn.attempt,
        "partialText": turn.partial_text,
        "partialLength": len(turn.partial_text),
        **_present({"error": turn.error}),
        "updatedAt": turn.updated_at,
    }


def prompt_json(prompt: Prompt) -> dict[str, Any]:
    """``{system, messages, tokens, truncated}``"""
    return {
        "system": prompt.system,
        "messages": prompt.messages,
        "tokens": prompt.tokens,
        "truncated": prompt.truncated,
    }


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
