"""Changing what is said of a conversation, and clearing it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from conversations.access import read_head
from conversations.clock import Clock, to_timestamp
from conversations.creating import expires_at
from conversations.model import About, Conversation
from conversations.notes import Notes
from conversations.retrying import until_written
from conversations.store import Store


@dataclass(frozen=True, slots=True)
class Change:
    """What a conversation becomes: ``about`` makes the new text of the old; ``ttl_days`` sets the retention anew."""

    about: Callable[[About], About]
    sets_ttl: bool = False
    ttl_days: int | None = None


def change(store: Store, clock: Clock, *, owner: str | None, conversation_id: str, change: Change) -> Conversation:
    """The conversation as it is after the change, which counts as activity of its owner.

    Raises:
        NotFoundError: it is not there for this owner.
        BusyError: too many write the same conversation.
    """

    def once() -> Conversation:
        head = read_head(store, clock, owner=owner, conversation_id=conversation_id, about=True)
        changed = _changed(head, change, clock.now_ns())
        store.revise(head, changed)
        return changed

    return until_written(once, clock)


def _changed(head: Conversation, change: Change, now_ns: int) -> Conversation:
    ttl_days = change.ttl_days if change.sets_ttl else head.ttl_days
    return replace(
        head,
        about=change.about(head.about or About()),
        ttl_days=ttl_days,
        expires_at=expires_at(ttl_days, now_ns),
        updated_at=max(to_timestamp(now_ns), head.updated_at),
        version=head.version + 1,
        cleared_at=None,
    )


def clear(store: Store, clock: Clock, *, owner: str | None, conversation_id: str) -> None:
    """Begin a new chain, which hides all messages at once; ``cleaning`` removes them.

    No clock decides what is cleared: a message belongs to the chain that its id names.

    Raises:
        NotFoundError: the conversation is not there for this owner.
        BusyError: too many write the same conversation.
    """
    cleared_at = to_timestamp(clock.now_ns())

    def once() -> None:
        head = read_head(store, clock, owner=owner, conversation_id=conversation_id, about=True)
        if head.cleared_at != cleared_at:  # else it was written by an earlier try, whose answer was lost
            store.revise(head, _cleared(head, cleared_at))

    until_written(once, clock)


def _cleared(head: Conversation, cleared_at: str) -> Conversation:
    return replace(
        head,
        chain=head.chain + 1,
        message_count=0,
        last_message_id=None,
        last_system_message_id=None,
        notes=Notes(),
        version=head.version + 1,
        cleared_at=cleared_at,
    )
