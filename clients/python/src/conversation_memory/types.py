"""What the API takes and gives: plain dictionaries, as they are on the wire, with types for those who check them.

Nothing is copied into objects of our own: a member that the service adds tomorrow is there today, ``json.dumps`` works
on everything, and the names are those of the service's documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Role = Literal["user", "assistant", "system", "tool"]
TurnStatus = Literal["pending", "running", "complete", "failed", "cancelled"]
Block = Mapping[str, Any]
"""A content block of the Converse API: ``{"text": ...}``, ``{"toolUse": ...}``."""

Content = str | Sequence[Block]
"""A message's content; a text stands for one block of text."""


class ConversationChange(TypedDict, total=False):
    """What is to be different: ``None`` takes away."""

    name: str | None
    metadata: Mapping[str, Any] | None
    ttlDays: int | None


class _Conversation(TypedDict):
    id: str
    owner: str
    name: str | None
    metadata: dict[str, Any]
    createdAt: str
    updatedAt: str
    messageCount: int


class Conversation(_Conversation, total=False):
    """A conversation. Times are RFC 3339 in UTC; ``expiresAt`` is in seconds since the epoch."""

    sessionId: str
    ttlDays: int
    expiresAt: int


class _NewMessage(TypedDict):
    role: Role
    content: Content


class NewMessage(_NewMessage, total=False):
    """A message to be appended. From ``usage`` on it is about an answer that a model gave elsewhere."""

    associatedUserMessageId: str | None
    clientMessageId: str | None
    aiContext: Any
    metadata: Mapping[str, Any] | None
    toolConfiguration: Mapping[str, Any] | None
    promptTemplate: str | None
    origin: str | None
    usage: Mapping[str, Any] | None
    stopReason: str | None
    modelId: str | None
    latencyMs: int | None
    toolCalls: Sequence[Mapping[str, Any]] | None
    guardrailTrace: Mapping[str, Any] | None
    answersNone: bool | None


class _Message(TypedDict):
    id: str
    conversationId: str
    role: Role
    content: list[dict[str, Any]]
    createdAt: str
    position: int
    previousMessageId: str | None
    tokens: int


class Message(_Message, total=False):
    """A message. ``unreadable`` says that its stored content is gone; ``content`` is empty then."""

    associatedUserMessageId: str
    clientMessageId: str
    aiContext: Any
    metadata: dict[str, Any]
    promptTemplate: str
    origin: str
    usage: dict[str, Any]
    stopReason: str
    modelId: str
    latencyMs: int
    toolCalls: list[dict[str, Any]]
    guardrailTrace: dict[str, Any]
    unreadable: bool


class ConversationPage(TypedDict):
    """Some conversations, and where the next page begins (``None`` at the end)."""

    conversations: list[Conversation]
    nextCursor: str | None


class MessagePage(TypedDict):
    """Some messages, and where the next page begins (``None`` at the end)."""

    messages: list[Message]
    nextCursor: str | None


class Deleted(TypedDict):
    """What became of each id."""

    deleted: list[str]
    notFound: list[str]


class _Turn(TypedDict):
    userMessageId: str
    responseMessageId: str
    status: TurnStatus
    attempt: int
    partialText: str
    partialLength: int
    updatedAt: str


class Turn(_Turn, total=False):
    """The work of answering a message. ``partialText`` is what the model has said so far; empty when complete."""

    error: dict[str, str]


class AskedTurn(TypedDict):
    """A message that is being answered."""

    message: Message
    turn: Turn


class _FollowedTurn(TypedDict):
    turn: Turn


class FollowedTurn(_FollowedTurn, total=False):
    """A turn and, when it is complete, the answer."""

    message: Message


class _TurnEvent(TypedDict):
    text: str
    isAnew: bool
    turn: Turn


class TurnEvent(_TurnEvent, total=False):
    """News of a turn: the text that is new, and whether it replaces what came before it (another attempt has begun).

    The last one of a turn that completed holds the answer as ``message``.
    """

    message: Message


class _History(TypedDict):
    system: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    tokens: int
    truncated: bool


class History(_History, total=False):
    """What the model would be sent, and which interactions from before the window are in it."""

    recalled: list[dict[str, Any]]


class _SearchHit(TypedDict):
    message: Message
    score: float
    highlights: dict[str, list[str]]


class SearchHit(_SearchHit, total=False):
    """A message that leads, with its answer if it has one, and where the words stand in either."""

    answer: Message


class SearchResults(TypedDict):
    """What was found, and how many there are in all."""

    hits: list[SearchHit]
    total: int


class Status(TypedDict):
    """What runs where."""

    version: str
    stage: str
    region: str
