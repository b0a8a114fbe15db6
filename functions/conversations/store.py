"""What the use cases need of a store. The DynamoDB adapter in ``dynamo`` is the one that exists."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from conversations.clock import NANOSECONDS
from conversations.model import Conversation, Draft, Message, Snapshot, Trace, Turn


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a chain by time: both bounds are timestamps and belong to it; ``None`` leaves the side open."""

    chain_id: str
    earliest: str | None = None
    latest: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of an index of conversations: the sort key and the id, by which the next page begins."""

    sort_key: str
    conversation_id: str


@dataclass(frozen=True, slots=True)
class Activity:
    """What a listing needs to know of a conversation."""

    conversation_id: str
    version: int
    updated_at: str
    expires_at: int | None = None

    def stands(self, now_ns: int) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now_ns < self.expires_at * NANOSECONDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request with an idempotency key comes to, and the hash by which a repeat is told from another request."""

    request_hash: str
    document: Mapping[str, Any]


class Store(Protocol):
    """Reads say whether they are consistent; writes are one transaction each: all of it or nothing.

    Every write may raise ``LostPinError`` (what was read has changed) and ``ContendedError`` (try again).
    Any call may raise ``BusyError`` when the service behind stays down.
    """

    def snapshot(
        self,
        conversation_id: str,
        *,
        messages: Sequence[str] = (),
        turns: Sequence[str] = (),
        traces: Sequence[str] = (),
        about: bool = False,
    ) -> Snapshot:
        """One consistent read of a conversation, of messages, of the turns of messages, and of traces.

        ``about`` also reads what stands in an item of its own.
        """

    def message(self, message_id: str) -> Message | None:
        """A consistent read of one message."""

    def messages(self, message_ids: Iterable[str]) -> dict[str, Message]:
        """A consistent read of the messages that exist of those named."""

    def indexed(self, span: Span, *, newest_first: bool, limit: int) -> list[Message]:
        """The first messages of a span as the index has them: it may lag behind, and nothing in it is consistent.

        Returns fewer than ``limit`` only when the index holds no more in that span.
        """

    def load(self, messages: Sequence[Message]) -> list[Message]:
        """The same messages with the parts that stand elsewhere read in; one whose object is gone is unreadable."""

    def traces(self, trace_ids: Iterable[str]) -> dict[str, Trace]:
        """A consistent read of the traces that exist of those named."""

    def indexed_traces(self, parent_id: str, *, limit: int) -> list[Trace]:
        """A message's traces by number, then as they were written, as the index has them."""

    def load_traces(self, traces: Sequence[Trace]) -> list[Trace]:
        """The same traces with the parts that stand elsewhere read in; one whose object is gone is unreadable."""

    def shelve(self, conversation_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        """Write what of the drafts is too large for an item to objects of its own, before they are appended."""

    def unshelve(self, drafts: Sequence[Draft]) -> None:
        """Remove the objects that ``shelve`` wrote for drafts that were not appended after all."""

    def shelve_message(self, message: Message) -> Message:
        """A message that is being changed, with what is too large for an item written to a new object.

        The object that it had before stays, and is removed when the change has been written (``remove_objects``).
        """

    def shelve_trace(self, trace: Trace) -> Trace:
        """The same for a trace, be it new or changed."""

    def remove_objects(self, keys: Sequence[str]) -> None:
        """Remove objects that no item names any longer."""

    def create(self, conversation: Conversation, *, session_replaces: str | None = None) -> None:
        """Write a conversation and, with a session id, let the id stand for it.

        ``session_replaces`` is the conversation that the session id stood for when it was read.

        Raises:
            AlreadyStoredError: the conversation's id is taken.
        """

    def session(self, owner: str, session_id: str) -> str | None:
        """A consistent read of the id of the conversation that the owner's session id stands for, if any."""

    def append(self, head: Conversation, moved: Conversation, messages: Sequence[Message]) -> None:
        """Replace ``head`` by ``moved`` if it is still as it was read, and add the messages and their receipts.

        Raises:
            AlreadyStoredError: one of the messages, or a receipt, exists.
        """

    def change(
        self, head: Conversation, moved: Conversation, changed: Sequence[Message], added: Sequence[Message] = ()
    ) -> None:
        """Replace ``head`` by ``moved``, and messages by what one change (``rev`` + 1) made of them; add others.

        Raises:
            AlreadyStoredError: one of those to be added exists.
        """

    def add_trace(self, head: Conversation, moved: Conversation, trace: Trace) -> None:
        """Replace ``head`` by ``moved`` if it is still as it was read, and add the trace.

        Raises:
            AlreadyStoredError: there is one of that id.
        """

    def change_trace(self, head: Conversation, moved: Conversation, trace: Trace) -> None:
        """Replace ``head`` by ``moved``, and a trace by what one change (``version`` + 1) made of it."""

    def bury(self, tombstone: Conversation, *, expects: Conversation | None) -> None:
        """Write a tombstone in the place of a conversation that is still as it was read (``None``: that is missing)."""

    def revise(self, head: Conversation, changed: Conversation) -> None:
        """Replace ``head`` by ``changed``, with all that is said of it, if it is still as it was read."""

    def outcome(self, outcome_id: str) -> Outcome | None:
        """A consistent read of what a repeatable request came to, if it was made before."""

    def keep_outcome(self, outcome_id: str, outcome: Outcome) -> None:
        """Write what a request comes to, before it is carried out.

        Raises:
            AlreadyStoredError: there is one of that id.
        """

    def receipt(self, receipt_id: str) -> list[str] | None:
        """A consistent read of the ids of the messages that a receipt stands for, if there is one of that id."""

    def owned(self, owner: str, *, after: Listed | None, limit: int) -> list[Listed]:
        """An owner's conversations as the index has them, last update first."""

    def recent(self, owner: str, minutes: Iterable[int]) -> set[str]:
        """The ids of the conversations that the owner created within these minutes since the epoch (consistent)."""

    def active(self, month: str, *, after: Listed | None, limit: int) -> list[Listed]:
        """All owners' conversations last active in a month (``2026-11``), by the hour, as the index has them."""

    def activities(self, conversation_ids: Iterable[str]) -> list[Activity]:
        """A consistent read of when conversations were last active; those that were deleted are left out."""

    def conversations(self, conversation_ids: Iterable[str]) -> dict[str, Conversation]:
        """A consistent read of conversations, with all that is said of them."""

    def claim(self, turn: Turn, *, expects: Turn | None) -> None:
        """Write the running turn if the stored one is still ``expects`` (``None``: there is none)."""

    def progress(self, turn: Turn, *, with_text: bool) -> None:
        """Move on the lease of a running turn, and its partial text, while the attempt is still its own."""

    def settle(self, head: Conversation, turn: Turn, *, expects: Turn | None) -> None:
        """Write a turn that ended without an answer, and raise the conversation's version, in one transaction."""
