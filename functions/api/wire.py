"""How values of the domain look in answers of our own API."""

from collections.abc import Mapping, Sequence
from typing import Any

from api.strict_json import escaped_size
from conversations import ids
from conversations.codec import to_json
from conversations.errors import TooLargeError
from conversations.history import History
from conversations.model import Conversation, Draft, Message, Page, Turn

LARGEST_ANSWER_BYTES = 5_750_000
"""Lambda gives answers of 6 MB (6,291,556 bytes), in which the body stands as an escaped JSON string."""
_LIMIT = f"{LARGEST_ANSWER_BYTES} bytes as an escaped JSON string"
_LARGEST_OURS = 2048
"""What a message holds beside what its sender said, at most: ids, times, numbers and names of members."""


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


def conversation_size(conversation: Conversation) -> int:
    """The bytes that a conversation takes in an answer, escaped as the answer's body is."""
    return escaped_size(to_json(conversation_json(conversation))) + 1


def message_json(message: Message) -> dict[str, Any]:
    """``{id, conversationId, role, content, createdAt, position, previousMessageId, tokens, ...}``

    A message whose stored content is gone or cannot be read has ``unreadable: true`` and no content.
    """
    optional = {
        "associatedUserMessageId": message.associated_user_message_id,
        "clientMessageId": message.client_message_id,
        "aiContext": message.ai_context,
        "metadata": message.metadata,
        "promptTemplate": message.prompt_template,
        "origin": message.origin,
        "usage": message.usage,
        "stopReason": message.stop_reason,
        "modelId": message.model_id,
        "latencyMs": message.latency_ms,
        "toolCalls": message.tool_calls,
        "guardrailTrace": message.guardrail_trace,
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


class Shown:
    """Messages put into words once, though they are measured before it is known which of them are shown."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def size(self, message: Message) -> int:
        """The bytes that a message takes in an answer, escaped as the answer's body is."""
        text = self._texts[message.id] = to_json(message_json(message))
        return escaped_size(text) + 1

    def page(self, page: Page) -> str:
        """``{messages, nextCursor}`` of messages that were measured."""
        texts = ",".join(self._texts[message.id] for message in page.messages)
        return f'{{"messages":[{texts}],"nextCursor":{to_json(page.next_cursor)}}}'


def check_can_be_given_back(drafts: Sequence[Draft]) -> None:
    """Refuse what could be taken but not answered with: JSON may be longer when it is written again.

    (``1e15`` is taken in four bytes, and given back in eighteen.)

    Raises:
        TooLargeError: one of the drafts, or all of them together, would be larger than an answer may be.
    """
    sizes = [_size_of_draft(draft) for draft in drafts]
    too_large = next((place for place, size in enumerate(sizes) if size > LARGEST_ANSWER_BYTES), None)
    if sum(sizes) <= LARGEST_ANSWER_BYTES:
        return
    of_batch = "messages" if too_large is None else f"messages[{too_large}]"
    field = "body" if len(drafts) == 1 else of_batch
    raise TooLargeError(f"{field} would be larger than {_LIMIT} when it is given back.", field=field)


def _size_of_draft(draft: Draft) -> int:
    said = {
        "content": draft.content,
        "clientMessageId": draft.client_message_id,
        "aiContext": draft.ai_context,
        "metadata": draft.metadata,
        "told": [draft.prompt_template, draft.origin, draft.usage, draft.stop_reason, draft.model_id],
        "tools": [draft.tool_calls, draft.guardrail_trace],
    }
    return escaped_size(to_json(said)) + _LARGEST_OURS


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


def history_text(history: History) -> str:
    """``{system, messages, tokens, truncated, recalled}``, the last with why each was chosen, as JSON.

    Raises:
        TooLargeError: it is larger than an answer may be.
    """
    prompt = history.prompt
    document = {
        "system": prompt.system,
        "messages": prompt.messages,
        "tokens": prompt.tokens,
        "truncated": prompt.truncated,
        "recalled": [
            {
                "messageId": recalled.message_id,
                "score": recalled.score,
                "tokens": recalled.tokens,
                "isShortened": recalled.is_shortened,
            }
            for recalled in history.recalled
        ],
    }
    text = to_json(document)
    if escaped_size(text) > LARGEST_ANSWER_BYTES:
        limit = f"{LARGEST_ANSWER_BYTES} bytes as an escaped JSON string"
        raise TooLargeError(
            f"The history is larger than {limit}; ask for less of it with maxTokens.", field="maxTokens"
        )
    return text


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
