"""The working state of a turn: who may answer a message now, and how that ends.

``M.turn`` holds the state while message ``M`` is answered; ``M.response`` exists exactly when the turn is complete.
Failing raises the conversation's version in the same transaction, and finishing pins it, so that nothing comes between.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conversations import ids
from conversations.access import snapshot_of, standing
from conversations.appending import moved, placed
from conversations.clock import Clock, from_timestamp, to_timestamp
from conversations.errors import (
    AlreadyStoredError,
    CurrentMessageNotFoundError,
    LeasedError,
    LostPinError,
    NotFoundError,
    SupersededError,
)
from conversations.model import Conversation, Draft, Message, Snapshot, Turn, TurnStatus
from conversations.retrying import until_written
from conversations.store import Store

LEASE_MS = 60_000
WORKED_ON: tuple[TurnStatus, ...] = ("pending", "running")
ABANDONED_AFTER_NS = 20 * 60 * 1_000_000_000
_ABANDONED = {"code": "Abandoned", "message": "The turn was not worked on for 20 minutes; it may be asked again."}


@dataclass(frozen=True, slots=True)
class Question:
    """The message to be answered, and whose it is."""

    conversation_id: str
    message_id: str
    owner: str | None


# Reading


def turn_of(message: Message, snapshot: Snapshot, now_ns: int) -> Turn:
    """The state of a message's turn as callers see it.

    Raises:
        NotFoundError: none was ever asked for.
    """
    stored = snapshot.turns.get(message.id)
    answer = snapshot.messages.get(ids.response_id(message.id))
    if answer is not None:
        attempt = stored.attempt if stored else 0
        return Turn(message.id, "complete", answer.created_at, attempt=attempt)
    if stored is None and not message.asks:
        raise NotFoundError("No turn was asked for with this message.")
    turn = stored or Turn(message.id, "pending", message.created_at)
    since_ns = max(from_timestamp(turn.updated_at), turn.lease_until_ms * 1_000_000)
    if turn.status in WORKED_ON and now_ns - since_ns > ABANDONED_AFTER_NS:
        return replace(turn, status="failed", error=_ABANDONED)
    return turn


def read_turn(store: Store, clock: Clock, question: Question) -> tuple[Turn, Message | None]:
    """The state of a turn, and the answer when it is complete (consistent, one call).

    Raises:
        NotFoundError: the conversation or the message is not there for this owner, or no turn was ever asked for.
    """
    snapshot = _snapshot(store, question, with_message=True)
    head = standing(snapshot, question.owner, clock.now_ns())
    message = snapshot.messages.get(question.message_id)
    if message is None or message.conversation_id != head.chain_id:
        raise NotFoundError("There is no such message.")
    answer = snapshot.messages.get(ids.response_id(message.id))
    turn = turn_of(message, snapshot, clock.now_ns())
    return turn, store.load([answer])[0] if answer else None


# Working


def claim(store: Store, clock: Clock, question: Question) -> tuple[Conversation, Turn]:
    """Take the turn for a new attempt, before the model costs anything.

    Raises:
        NotFoundError: the conversation is not there for this owner.
        CurrentMessageNotFoundError: the message cannot be one of this conversation, or was cleared.
        SupersededError: the turn is complete, failed or cancelled.
        LeasedError: another attempt that may be alive holds it.
        BusyError: too many write the same.
    """
    holder = ids.new_local()  # once, so that another try finds what this one wrote
    return until_written(lambda: _claim_once(store, clock, question, holder), clock)


def _claim_once(store: Store, clock: Clock, question: Question, holder: str) -> tuple[Conversation, Turn]:
    snapshot = _snapshot(store, question)
    now_ns = clock.now_ns()
    head = standing(snapshot, question.owner, now_ns)
    if not ids.belongs_to(question.message_id, head.chain_id):
        raise CurrentMessageNotFoundError("There is no such message in this conversation.")
    stored = snapshot.turns.get(question.message_id)
    if ids.response_id(question.message_id) in snapshot.messages:
        raise SupersededError("complete")
    if stored and stored.status not in WORKED_ON:
        raise SupersededError(stored.status)
    if stored and stored.holder == holder:
        return head, stored
    if stored and stored.is_leased(now_ns):
        raise LeasedError
    attempt = stored.attempt + 1 if stored else 1
    turn = Turn(
        question.message_id,
        "running",
        to_timestamp(now_ns),
        attempt=attempt,
        lease_until_ms=_lease_until(now_ns),
        asked_key=stored.asked_key if stored else None,
        holder=holder,
    )
    store.claim(turn, expects=stored)
    return head, turn


def advance(store: Store, clock: Clock, turn: Turn, text: str | None) -> Turn:
    """Move on the lease, and the partial text if one is given.

    Raises:
        SupersededError: the turn is no longer this attempt's.
    """
    now_ns = clock.now_ns()
    moved_on = replace(turn, updated_at=to_timestamp(now_ns), lease_until_ms=_lease_until(now_ns))
    if text is not None:
        moved_on = replace(moved_on, partial_text=text)
    _progress(store, clock, moved_on, with_text=text is not None)
    return moved_on


def look(store: Store, clock: Clock, question: Question, turn: Turn, seen: Conversation) -> Conversation:
    """The conversation as it is now, if the attempt still holds the turn: one read unit, unless something has happened.

    Cancelling, deleting and all else that ends an attempt raise the version of the conversation (``seen``: as it was).

    Raises:
        SupersededError: the attempt holds the turn no longer.
    """
    found = store.snapshot(question.conversation_id).conversation
    if found is not None and found.version == seen.version and found.stands(clock.now_ns()):
        return found
    head, _ = _own(store, clock, question, turn)
    return head


def give_back(store: Store, clock: Clock, turn: Turn) -> None:
    """End the lease of an attempt that failed in passing, so that the next one need not wait for it."""
    given_back = replace(turn, updated_at=to_timestamp(clock.now_ns()), lease_until_ms=0)
    _progress(store, clock, given_back, with_text=False)


def _progress(store: Store, clock: Clock, turn: Turn, *, with_text: bool) -> None:
    def once() -> None:
        try:
            store.progress(turn, with_text=with_text)
        except LostPinError as signal:
            raise SupersededError from signal

    until_written(once, clock)


def finish(store: Store, clock: Clock, question: Question, turn: Turn, answer: Draft) -> Message:
    """Append the answer, if the attempt still holds the turn.

    Raises:
        SupersededError: it does not, or the message was answered, cleared or deleted in the meantime.
        BusyError: too many write the same conversation.
    """
    shelved = store.shelve(question.conversation_id, [answer])
    tried: set[str] = set()
    try:
        return until_written(lambda: _finish_once(store, clock, question, turn, shelved[0], tried), clock)
    except SupersededError:
        store.unshelve(shelved)
        raise


def _finish_once(store: Store, clock: Clock, question: Question, turn: Turn, answer: Draft, tried: set[str]) -> Message:
    """``tried`` are the times of earlier tries, by which an answer that one of them wrote is told from another's."""
    head, _ = _own(store, clock, question, turn)
    now_ns = clock.now_ns()
    messages = placed(head, [answer], now_ns, None)
    tried.add(messages[0].created_at)
    try:
        store.append(head, moved(head, messages, now_ns, touch=False), messages)
    except AlreadyStoredError as signal:
        written = store.message(messages[0].id)
        if written is None or written.created_at not in tried:
            raise SupersededError("complete") from signal
        return written  # by an earlier try of this very call
    return messages[0]


def fail(store: Store, clock: Clock, question: Question, turn: Turn, error: Mapping[str, str], text: str) -> None:
    """Mark the turn failed and keep the partial text, if the attempt still holds the turn.

    Raises:
        SupersededError: it does not.
    """
    until_written(lambda: _fail_once(store, clock, question, turn, error, text), clock)


def _fail_once(store: Store, clock: Clock, question: Question, turn: Turn, error: Mapping[str, str], text: str) -> None:
    head, stored = _own(store, clock, question, turn)
    failed = ended(stored, "failed", clock, error)
    store.settle(head, replace(failed, partial_text=text), expects=stored)


def give_up(store: Store, clock: Clock, question: Question, error: Mapping[str, str], *, asked_key: str | None) -> bool:
    """Mark failed what no attempt will work on again; returns whether there was such a thing.

    ``asked_key`` is that of the invocation that was given up: a turn that was asked again since is another's.

    Raises:
        LeasedError: an attempt that may be alive holds it: come back later.
    """
    return until_written(lambda: _give_up_once(store, clock, question, error, asked_key), clock)


def _give_up_once(
    store: Store, clock: Clock, question: Question, error: Mapping[str, str], asked_key: str | None
) -> bool:
    head, snapshot = read_to_settle(store, question)
    stored = snapshot.turns.get(question.message_id)
    if head is None or not head.stands(clock.now_ns()) or not ids.belongs_to(question.message_id, head.chain_id):
        return False
    if ids.response_id(question.message_id) in snapshot.messages or (stored and stored.status not in WORKED_ON):
        return False
    if stored and stored.asked_key != asked_key:
        return False
    if stored and stored.is_leased(clock.now_ns()):
        raise LeasedError
    before = stored or Turn(question.message_id, "pending", "")
    store.settle(head, ended(before, "failed", clock, error), expects=stored)
    return True


def read_to_settle(store: Store, question: Question) -> tuple[Conversation | None, Snapshot]:
    """The conversation, and then its message, answer and turn: two reads in this order.

    One BatchGetItem would be no snapshot of several items (DynamoDB developer guide, "Read isolation"). What changes a
    turn raises the conversation's version, so whatever comes after the first read fails the write that pins it.
    """
    if not ids.is_conversation_id(question.conversation_id):
        return None, Snapshot(None)
    head = store.snapshot(question.conversation_id).conversation
    return head, _snapshot(store, question, with_message=True)


def _own(store: Store, clock: Clock, question: Question, turn: Turn) -> tuple[Conversation, Turn]:
    """The conversation and the turn as they are now, if the attempt still holds it."""
    head, snapshot = read_to_settle(store, question)
    stored = snapshot.turns.get(question.message_id)
    if head is None or not head.stands(clock.now_ns()) or not ids.belongs_to(question.message_id, head.chain_id):
        raise SupersededError("gone")
    if stored is None or stored.status != "running" or stored.attempt != turn.attempt:
        raise SupersededError("taken over")
    return head, stored


def ended(turn: Turn, status: TurnStatus, clock: Clock, error: Mapping[str, str] | None) -> Turn:
    """The turn after its end without an answer: nobody holds it."""
    return replace(turn, status=status, updated_at=to_timestamp(clock.now_ns()), lease_until_ms=0, error=error)


def _lease_until(now_ns: int) -> int:
    return now_ns // 1_000_000 + LEASE_MS


def _snapshot(store: Store, question: Question, *, with_message: bool = False) -> Snapshot:
    wanted = [ids.response_id(question.message_id)] + [question.message_id] * with_message
    return snapshot_of(store, question.conversation_id, messages=wanted, turn_of=question.message_id)
