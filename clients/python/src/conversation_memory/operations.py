"""Every route of the API, once: what is sent, and what the answer means.

Each is a generator of steps (``conversation_memory.steps``); ``conversation_memory.client`` has them as methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from conversation_memory.calls import all_of, blocks, get, given, patch, path, post, read, remove
from conversation_memory.steps import Request, Steps
from conversation_memory.types import (
    AskedTurn,
    Content,
    Conversation,
    ConversationChange,
    ConversationPage,
    Deleted,
    FollowedTurn,
    History,
    Message,
    MessagePage,
    NewMessage,
    Role,
    SearchResults,
    Status,
    Turn,
)

Order = Literal["asc", "desc"]
LARGEST_BATCH = 98
"""How many messages one call appends at most, all of them or none."""
LONGEST_WAIT_S = 20
"""How long the service waits for news of a turn, at most."""


# Conversations


def create_conversation(
    *,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    ttl_days: int | None = None,
    idempotency_key: str | None = None,
) -> Steps[Conversation]:
    """A new conversation; with ``session_id``, your own name for it, the live one of that name if there is one.

    With ``ttl_days`` it expires that long after its last activity.
    """
    body = given(name=name, metadata=metadata, sessionId=session_id, ttlDays=ttl_days)
    created: Conversation = yield from post(path("conversations"), body, idempotency_key)
    return created


def conversation_page(
    *, limit: int | None = None, cursor: str | None = None, owner: str | None = None
) -> Steps[ConversationPage]:
    """A page of conversations, last activity first, from the ``nextCursor`` of the one before.

    ``owner`` is for administrators: whose, or ``*`` for everybody's.
    """
    page: ConversationPage = yield from get(path("conversations", limit=limit, cursor=cursor, owner=owner))
    return page


def conversations(*, page_size: int | None = None, owner: str | None = None) -> Steps[None]:
    """All conversations, last activity first, fetched page by page as they are iterated over."""
    yield from all_of("conversations", lambda cursor: conversation_page(limit=page_size, cursor=cursor, owner=owner))


def find_conversation(session_id: str) -> Steps[Conversation | None]:
    """The live conversation of your own name for it, or ``None``."""
    page: ConversationPage = yield from get(path("conversations", sessionId=session_id))
    return page["conversations"][0] if page["conversations"] else None


def get_conversation(conversation_id: str) -> Steps[Conversation]:
    """A conversation."""
    found: Conversation = yield from get(path("conversations", conversation_id))
    return found


def change_conversation(conversation_id: str, change: ConversationChange) -> Steps[Conversation]:
    """Change ``name``, ``metadata`` or ``ttlDays``: what is given replaces what was, ``None`` takes it away."""
    changed: Conversation = yield from patch(path("conversations", conversation_id), change)
    return changed


def delete_conversation(conversation_id: str) -> Steps[None]:
    """Delete a conversation: it is hidden at once, and removed soon."""
    yield from remove(path("conversations", conversation_id))


def delete_conversations(conversation_ids: Sequence[str], *, idempotency_key: str | None = None) -> Steps[Deleted]:
    """Delete up to 100 conversations."""
    body = {"ids": list(conversation_ids)}
    deleted: Deleted = yield from post(path("conversations", "delete"), body, idempotency_key)
    return deleted


# Messages


def append_message(
    conversation_id: str,
    role: Role,
    content: Content,
    *,
    associated_user_message_id: str | None = None,
    client_message_id: str | None = None,
    ai_context: Any = None,
    metadata: Mapping[str, Any] | None = None,
    tool_configuration: Mapping[str, Any] | None = None,
    prompt_template: str | None = None,
    origin: str | None = None,
    usage: Mapping[str, Any] | None = None,
    stop_reason: str | None = None,
    model_id: str | None = None,
    latency_ms: int | None = None,
    tool_calls: Sequence[Mapping[str, Any]] | None = None,
    guardrail_trace: Mapping[str, Any] | None = None,
    answers_none: bool | None = None,
    idempotency_key: str | None = None,
) -> Steps[Message]:
    """Append one message, without asking the model.

    From ``usage`` on it is about an answer that a model gave elsewhere. ``answers_none``: it answers no message,
    whatever stands before it.
    """
    body = given(
        role=role,
        content=blocks(content),
        associatedUserMessageId=associated_user_message_id,
        clientMessageId=client_message_id,
        aiContext=ai_context,
        metadata=metadata,
        toolConfiguration=tool_configuration,
        promptTemplate=prompt_template,
        origin=origin,
        usage=usage,
        stopReason=stop_reason,
        modelId=model_id,
        latencyMs=latency_ms,
        toolCalls=tool_calls,
        guardrailTrace=guardrail_trace,
        answersNone=answers_none,
    )
    appended: Message = yield from post(_messages(conversation_id), body, idempotency_key)
    return appended


def append_messages(
    conversation_id: str, messages: Sequence[NewMessage], *, idempotency_key: str | None = None
) -> Steps[list[Message]]:
    """Append up to 98 messages, all of them or none, without asking the model."""
    body = {"messages": [{**message, "content": blocks(message["content"])} for message in messages]}
    appended = yield from post(_messages(conversation_id), body, idempotency_key)
    stored: list[Message] = appended["messages"]
    return stored


def message_page(
    conversation_id: str, *, order: Order = "asc", limit: int | None = None, cursor: str | None = None
) -> Steps[MessagePage]:
    """A page of messages, oldest first by default, from the ``nextCursor`` of the one before."""
    page: MessagePage = yield from get(_messages(conversation_id, order=order, limit=limit, cursor=cursor))
    return page


def messages(conversation_id: str, *, order: Order = "asc", page_size: int | None = None) -> Steps[None]:
    """All messages, oldest first by default, fetched page by page as they are iterated over."""
    yield from all_of(
        "messages", lambda cursor: message_page(conversation_id, order=order, limit=page_size, cursor=cursor)
    )


def get_message(conversation_id: str, message_id: str) -> Steps[Message]:
    """A message."""
    found: Message = yield from get(path("conversations", conversation_id, "messages", message_id))
    return found


def search_messages(conversation_id: str, query: str, *, limit: int | None = None) -> Steps[SearchResults]:
    """The messages that hold any of the words, said or answered, the best first."""
    found: SearchResults = yield from get(path("conversations", conversation_id, "search", q=query, limit=limit))
    return found


def clear_messages(conversation_id: str) -> Steps[None]:
    """Clear a conversation of its messages: all are hidden at once, and the next one is the first."""
    yield from remove(_messages(conversation_id))


def get_history(
    conversation_id: str,
    *,
    current_message_id: str | None = None,
    max_messages: int | None = None,
    max_tokens: int | None = None,
    recall: int | None = None,
) -> Steps[History]:
    """Exactly what the model would be sent to answer a message; the newest of the user if none is named."""
    window = {"maxMessages": max_messages, "maxTokens": max_tokens, "recall": recall}
    query = {"currentMessageId": current_message_id, **window}
    history: History = yield from get(path("conversations", conversation_id, "history", **query))
    return history


# Turns


def start_turn(
    conversation_id: str,
    content: Content,
    *,
    client_message_id: str | None = None,
    ai_context: Any = None,
    metadata: Mapping[str, Any] | None = None,
    tool_configuration: Mapping[str, Any] | None = None,
    window: Mapping[str, int] | None = None,
    recall: Mapping[str, int] | None = None,
    inference_configuration: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Steps[AskedTurn]:
    """Append the user's message, and have it answered in the background.

    ``window`` (``{"maxMessages", "maxTokens"}``) says how much of the history the model is sent, ``recall``
    (``{"maxInteractions"}``) how many of the interactions before it that fit the message best, and
    ``inference_configuration`` how the model answers, as the Converse API has it.
    """
    body = given(
        content=blocks(content),
        clientMessageId=client_message_id,
        aiContext=ai_context,
        metadata=metadata,
        toolConfiguration=tool_configuration,
        window=window,
        recall=recall,
        inferenceConfiguration=inference_configuration,
    )
    asked: AskedTurn = yield from post(path("conversations", conversation_id, "turns"), body, idempotency_key)
    return asked


def get_turn(
    conversation_id: str, message_id: str, *, wait_s: int | None = None, after: int | None = None
) -> Steps[FollowedTurn]:
    """The turn that answers a message, and the answer when it is complete.

    ``wait_s`` waits for its end (20 seconds at most); with ``after``, also for a partial text that is longer.
    """
    path = _turn(conversation_id, message_id, wait=wait_s, after=after)
    turn: FollowedTurn = yield from get(path, waits_s=wait_s or 0)
    return turn


def ask_again(conversation_id: str, message_id: str, *, idempotency_key: str | None = None) -> Steps[AskedTurn]:
    """Start a turn anew that failed or was cancelled."""
    asked: AskedTurn = yield from post(_turn(conversation_id, message_id), {}, idempotency_key)
    return asked


def cancel_turn(conversation_id: str, message_id: str) -> Steps[Turn]:
    """Cancel a turn; one that is cancelled already stays so."""
    answer = yield Request("DELETE", _turn(conversation_id, message_id))
    cancelled: Turn = read(answer)["turn"]
    return cancelled


# The service


def get_status() -> Steps[Status]:
    """What runs where; needs no identity."""
    status: Status = yield from get(path("status"))
    return status


def get_open_api() -> Steps[dict[str, Any]]:
    """The OpenAPI document of the service; needs no identity."""
    document: dict[str, Any] = yield from get(path("openapi.json"))
    return document


def _messages(conversation_id: str, **query: object) -> str:
    return path("conversations", conversation_id, "messages", **query)


def _turn(conversation_id: str, message_id: str, **query: object) -> str:
    return path("conversations", conversation_id, "turns", message_id, **query)
