"""The values of the domain. All are immutable; what changes is made anew with ``dataclasses.replace``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, final

from conversations import ids
from conversations.clock import NANOSECONDS
from conversations.notes import Mark, Notes

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
ASKING_ROLES = ("user", "tool")  # the roles of messages that may be answered

Block = Mapping[str, Any]
"""A content block of the Bedrock Converse API: one member that tells its kind (``text``, ``image``, ``toolUse`` ...).
"""

ToolCall = Mapping[str, Any]
"""A use of a tool that was called here, as the answer keeps it: ``{toolUseId, name, input, status, content, round,
contentIndex}``. Those of one round were asked for in one message of the model, which ends before the block of the
answer's content with that index.
"""

TurnStatus = Literal["pending", "running", "complete", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class About:
    """What a conversation's owner says of it. ``session_id`` is the owner's own name for it."""

    name: str | None = None
    session_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    application_type: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation's head: who owns it, and the end of its chain of messages.

    ``version`` is raised by every write. ``about`` is ``None`` while it stands in an item of its own that was not read.
    Timestamps are RFC 3339 with nine fraction digits; ``expires_at`` is in seconds since the epoch. With ``deleted_at``
    it is a tombstone, which holds no content; only then ``session_record_id`` names the record of its session id.
    ``read_at_ns`` is the time at which a store read it.
    """

    id: str
    owner: str
    created_at: str
    updated_at: str
    version: int = 1
    chain: int = 0
    message_count: int = 0
    last_message_id: str | None = None
    last_message_at: str | None = None
    last_system_message_id: str | None = None
    about: About | None = field(default_factory=About)
    ttl_days: int | None = None
    expires_at: int | None = None
    deleted_at: str | None = None
    cleared_at: str | None = None
    session_record_id: str | None = None
    request_hash: str | None = None
    notes: Notes = field(default_factory=Notes)
    read_at_ns: int = field(default=0, compare=False)

    @property
    def chain_id(self) -> str:
        """What the messages of the present chain carry."""
        return ids.chain_id(self.id, self.chain)

    def stands(self, now_ns: int) -> bool:
        """Neither deleted nor expired; what has expired is invisible before it is removed."""
        return self.deleted_at is None and (self.expires_at is None or now_ns < self.expires_at * NANOSECONDS)

    @property
    def settled(self) -> Mark:
        """How many changes and traces of the present chain the indexes had when this was read."""
        return self.notes.settled(self.read_at_ns // NANOSECONDS)

    @property
    def changed_lately(self) -> frozenset[int] | None:
        """The places of which the indexes may show something older; ``None``: of any."""
        places = self.notes.changed_since(self.settled.changes)
        return None if places is None else frozenset(places)


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it has its place in the chain.

    ``local`` is the last part of its id, chosen once for a request, so that trying again finds what was written.
    ``large_key`` names the object that its bulky part has been written to, if it is too large for an item. ``receipt``
    is the local part of a record to be written beside it, when its id cannot be known again from the request alone.
    ``answers_none``: an assistant's message that belongs to no question, whatever stands before it.
    """

    local: str
    role: Role
    content: Sequence[Block]
    associated_user_message_id: str | None = None
    client_message_id: str | None = None
    ai_context: Any = None
    metadata: Mapping[str, Any] | None = None
    prompt_template: str | None = None
    origin: str | None = None
    tool_configuration: Mapping[str, Any] | None = None
    asks: bool = False
    options: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    model_id: str | None = None
    latency_ms: int | None = None
    tool_calls: Sequence[ToolCall] | None = None
    measured: Mapping[str, Any] | None = None
    guardrail_trace: Mapping[str, Any] | None = None
    large_key: str | None = None
    receipt: str | None = None
    answers_none: bool = False


@final
@dataclass(frozen=True)  # without slots, so that what most messages lack is an attribute of the class
class Message:
    """One message: what one side said. ``conversation_id`` is the chain's, ``position`` counts from 1 within it.

    ``tokens`` is an estimate. ``asks`` says that a turn was asked for with the message, ``options`` how
    (``turn_options``). ``measured`` is what an answer tells of the next prompt (``windows``). ``large_key`` names the
    object that holds the content and all else that is bulky, until it has been read; ``readable`` is false when that
    object is gone. ``system_message_id`` names the last system message before this one, so that those outside a window
    can be found. ``rev`` and ``updated_at`` are of the last change in place, which ``change_id`` tells from others.
    """

    id: str
    conversation_id: str
    role: Role
    content: Sequence[Block]
    created_at: str
    position: int
    previous_message_id: str | None = None
    associated_user_message_id: str | None = None
    client_message_id: str | None = None
    ai_context: Any = None
    metadata: Mapping[str, Any] | None = None
    prompt_template: str | None = None
    origin: str | None = None
    tool_configuration: Mapping[str, Any] | None = None
    asks: bool = False
    options: Mapping[str, Any] | None = None
    tokens: int = 0
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    model_id: str | None = None
    latency_ms: int | None = None
    tool_calls: Sequence[ToolCall] | None = None
    measured: Mapping[str, Any] | None = None
    guardrail_trace: Mapping[str, Any] | None = None
    system_message_id: str | None = None
    request_hash: str | None = None
    large_key: str | None = None
    receipt: str | None = None
    readable: bool = True
    rev: int = 1
    updated_at: str | None = None
    change_id: str | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Message":
        """The message of these fields, which are its own from then on; all that every message has must be among them.

        As ``Message(**fields)``, in a tenth of its time: that takes each of the thirty by itself, and a history has
        hundreds of messages.
        """
        message = object.__new__(cls)
        object.__setattr__(message, "__dict__", given)
        return message


@dataclass(frozen=True, slots=True)
class Trace:
    """A step on the way to an answer. It stands beside the chain: no message, and in no history.

    ``parent_id`` is the message that it belongs to, ``number`` its place among that message's traces as its writer
    counts them (it may be below zero, and given twice). ``ordinal`` counts 1, 2, 3 in the order of writing. ``nonce``
    tells the request that wrote it.
    """

    id: str
    chain_id: str
    ordinal: int
    parent_id: str
    number: int
    created_at: str
    input: str | None = None
    response: str | None = None
    prompt_template: str | None = None
    origin: str | None = None
    additional_info: Mapping[str, Any] = field(default_factory=dict)
    updated_at: str = ""
    version: int = 1
    nonce: str | None = None
    change_id: str | None = None
    large_key: str | None = None
    readable: bool = True

    @property
    def conversation_id(self) -> str:
        return ids.conversation_of(self.chain_id)

    @property
    def sequence(self) -> int:
        """Grows from trace to trace, and with each change."""
        return self.ordinal + self.version - 2


@dataclass(frozen=True, slots=True)
class Turn:
    """The working state of answering one message. ``lease_until_ms`` is in milliseconds since the epoch.

    ``asked_key`` tells which request asked again, ``holder`` which attempt claimed it, both by a text of their own.
    """

    user_message_id: str
    status: TurnStatus
    updated_at: str
    attempt: int = 0
    lease_until_ms: int = 0
    partial_text: str = ""
    error: Mapping[str, str] | None = None
    asked_key: str | None = None
    holder: str | None = None

    def is_leased(self, now_ns: int) -> bool:
        """Whether an attempt that may still be alive holds it."""
        return self.status == "running" and now_ns < self.lease_until_ms * 1_000_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one consistent read found: the conversation, and what exists of the items asked for, by id.

    Turns stand under the id of their message.
    """

    conversation: Conversation | None
    messages: Mapping[str, Message] = field(default_factory=dict)
    turns: Mapping[str, Turn] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """Messages in the order asked for, and the cursor of the next page (``None`` at the end)."""

    messages: Sequence[Message]
    next_cursor: str | None
    repairs: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A history as the model is sent it. ``tokens`` is an estimate of all of it, tools included. ``first_position`` is
    that of the first message in it.
    """

    system: Sequence[Block]
    messages: Sequence[Mapping[str, Any]]
    tokens: int
    truncated: bool
    first_position: int = 0
