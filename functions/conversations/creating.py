"""Making conversations, and finding one by the owner's own name for it."""

from dataclasses import dataclass

from conversations import ids
from conversations.clock import NANOSECONDS, Clock, to_timestamp
from conversations.errors import (
    AlreadyStoredError,
    ConversationDeletedError,
    IdempotencyMismatchError,
    LostPinError,
)
from conversations.model import About, Conversation
from conversations.retrying import until_written
from conversations.store import Span, Store

DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class NewConversation:
    """What is asked for. With a key the id derives from it, and ``request_hash`` tells retries from others."""

    owner: str
    about: About
    ttl_days: int | None = None
    idempotency_key: str | None = None
    request_hash: str | None = None


def expires_at(ttl_days: int | None, now_ns: int) -> int | None:
    """When a conversation that was active now expires, in seconds since the epoch."""
    return None if ttl_days is None else now_ns // NANOSECONDS + ttl_days * DAY_S


def create(store: Store, clock: Clock, new: NewConversation) -> tuple[Conversation, bool]:
    """The conversation, and whether it was made now.

    With a session id it is the owner's live conversation of that name, or a new one, atomically. After a delete the
    name is free at once.

    Raises:
        IdempotencyMismatchError: the key was used for another request.
        ConversationDeletedError: the key's conversation has been deleted or has expired.
        BusyError: too many write the same.
    """
    conversation = _conversation(new, clock.now_ns())  # once, so that another try finds what this one wrote
    return until_written(lambda: _create_once(store, clock, new, conversation), clock)


def _create_once(
    store: Store, clock: Clock, new: NewConversation, conversation: Conversation
) -> tuple[Conversation, bool]:
    if new.idempotency_key is not None and (made := _made_before(store, clock, conversation)):
        return made, True
    stale = None
    if new.about.session_id is not None:
        stale = store.session(new.owner, new.about.session_id)
        if live := _live(store, clock, stale):
            return live, live.id == conversation.id
    try:
        store.create(conversation, session_replaces=stale)
    except AlreadyStoredError as signal:
        made = _made_before(store, clock, conversation)
        if made is None:
            raise LostPinError from signal
        return made, True
    return conversation, True


def _conversation(new: NewConversation, now_ns: int) -> Conversation:
    key, now = new.idempotency_key, to_timestamp(now_ns)
    return Conversation(
        id=ids.new_conversation_id() if key is None else ids.derived_conversation_id(new.owner, key),
        owner=new.owner,
        created_at=now,
        updated_at=now,
        about=new.about,
        ttl_days=new.ttl_days,
        expires_at=expires_at(new.ttl_days, now_ns),
        request_hash=new.request_hash if key is not None else None,
    )


def _live(store: Store, clock: Clock, conversation_id: str | None) -> Conversation | None:
    if conversation_id is None:
        return None
    conversation = store.snapshot(conversation_id, about=True).conversation
    return conversation if conversation and conversation.stands(clock.now_ns()) else None


def _made_before(store: Store, clock: Clock, conversation: Conversation) -> Conversation | None:
    """The conversation that the same request made before, if it did.

    One that expired may be gone while its messages are still being removed; made anew it would show them.
    """
    made = store.snapshot(conversation.id, about=True).conversation
    if made is None:
        if store.indexed(Span(conversation.chain_id), newest_first=True, limit=1):
            raise ConversationDeletedError("The conversation that this key made has expired.")
        return None
    if made.request_hash != conversation.request_hash or made.owner != conversation.owner:
        raise IdempotencyMismatchError("The idempotency key was used for another request.")
    if not made.stands(clock.now_ns()):
        raise ConversationDeletedError("The conversation that this key made has been deleted.")
    return made
