"""Deleting a conversation: one conditional write hides all of it at once, and ``cleaning`` removes what is left."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from conversations import ids
from conversations.access import standing
from conversations.clock import NANOSECONDS, Clock, from_timestamp, to_timestamp
from conversations.creating import DAY_S
from conversations.errors import (
    AlreadyStoredError,
    BusyError,
    ContendedError,
    IdempotencyMismatchError,
    LostPinError,
    NotFoundError,
)
from conversations.model import About, Conversation
from conversations.notes import Notes
from conversations.retrying import until_written
from conversations.store import Outcome, Store

TOMBSTONE_KEPT_S = 35 * DAY_S


def delete(store: Store, clock: Clock, *, owner: str | None, conversation_id: str) -> None:
    """Leave a tombstone in the place of a conversation.

    Raises:
        NotFoundError: it is missing, deleted, expired or somebody else's.
        BusyError: too many write the same conversation.
    """
    if not ids.is_conversation_id(conversation_id):
        raise NotFoundError("There is no such conversation.")
    deleted_at = to_timestamp(clock.now_ns())
    until_written(lambda: _delete_once(store, clock, owner, conversation_id, deleted_at), clock)


def delete_many(
    store: Store,
    clock: Clock,
    *,
    owner: str | None,
    conversation_ids: Sequence[str],
    outcome_id: str | None,
    request_hash: str,
) -> Mapping[str, Any]:
    """Delete those that are there for this owner; returns ``{"deleted": [ids], "notFound": [ids]}``.

    With an ``outcome_id`` (from an idempotency key) what it comes to is written first, so that a repeat, at once or
    after a failure, completes it and gets the same answer.

    Raises:
        IdempotencyMismatchError: the key was used for another request.
        BusyError: too many write the same; the same request goes on.
    """
    wanted = list(dict.fromkeys(conversation_ids))
    deleted = _standing(store, clock, owner, wanted)
    if outcome_id is not None:
        # The others are left out: they are texts of any length, and the request names them again.
        deleted = _kept(store, outcome_id, Outcome(request_hash, {"deleted": deleted}))["deleted"]
    for conversation_id in deleted:
        with suppress(NotFoundError):
            delete(store, clock, owner=owner, conversation_id=conversation_id)
    return {"deleted": deleted, "notFound": [one for one in wanted if one not in deleted]}


def _standing(store: Store, clock: Clock, owner: str | None, wanted: Sequence[str]) -> list[str]:
    """Those that are there for this owner, in their order."""
    found = store.conversations(filter(ids.is_conversation_id, wanted))
    now_ns = clock.now_ns()
    standing_ids = {c.id for c in found.values() if c.stands(now_ns) and owner in (None, c.owner)}
    return [conversation_id for conversation_id in wanted if conversation_id in standing_ids]


def _kept(store: Store, outcome_id: str, planned: Outcome) -> Mapping[str, Any]:
    """What the first of these very requests has written."""
    try:
        store.keep_outcome(outcome_id, planned)
    except AlreadyStoredError:
        kept = store.outcome(outcome_id)
        if kept is not None and kept.request_hash != planned.request_hash:
            raise IdempotencyMismatchError("The idempotency key was used for another request.") from None
        return kept.document if kept else planned.document
    except (ContendedError, LostPinError) as signal:
        raise BusyError("The store is busy; try again.") from signal
    return planned.document


def _delete_once(store: Store, clock: Clock, owner: str | None, conversation_id: str, deleted_at: str) -> None:
    snapshot = store.snapshot(conversation_id, about=True)
    if snapshot.conversation and snapshot.conversation.deleted_at == deleted_at:
        return  # by an earlier try of this very call, whose answer was lost
    head = standing(snapshot, owner, clock.now_ns())
    store.bury(tombstone_of(head, deleted_at), expects=head)


def tombstone_of(conversation: Conversation, deleted_at: str) -> Conversation:
    """What stands in the place of a conversation from then on. It is made from nothing, so that no content stays.

    It raises the version, so that every write that is conditional on the conversation as it was read is refused.
    """
    session_id = conversation.about.session_id if conversation.about else None
    return Conversation(
        id=conversation.id,
        owner=conversation.owner,
        created_at=conversation.created_at,
        updated_at=deleted_at,
        version=conversation.version + 1,
        chain=conversation.chain,
        last_message_id=conversation.last_message_id,
        about=About(),
        expires_at=from_timestamp(deleted_at) // NANOSECONDS + TOMBSTONE_KEPT_S,
        deleted_at=deleted_at,
        session_record_id=ids.session_record_id(conversation.owner, session_id) if session_id is not None else None,
        request_hash=conversation.request_hash,
        notes=Notes(traces=conversation.notes.traces),
    )
