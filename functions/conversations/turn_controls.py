"""Cancelling a turn, and asking again after it failed or was cancelled."""

from dataclasses import replace

from conversations import ids, turns
from conversations.access import standing
from conversations.asking import Invoker
from conversations.clock import Clock, to_timestamp
from conversations.errors import NotFoundError, TurnStateError
from conversations.handing_over import descriptor
from conversations.history_query import DEFAULT_LIST_LIMIT
from conversations.model import Conversation, Message, Snapshot, Turn
from conversations.retrying import until_written
from conversations.store import Store


def cancel(store: Store, clock: Clock, question: turns.Question) -> Turn:
    """The cancelled turn. The attempt at work notices at its next progress; what it has written so far is kept.

    Raises:
        NotFoundError: the conversation or the message is not there, or no turn was asked for.
        TurnStateError: the turn is complete or has failed.
        BusyError: too many write the same conversation.
    """

    def once() -> Turn:
        head, _, turn, stored = _read(store, clock, question)
        if turn.status == "cancelled":
            return turn
        if turn.status not in turns.WORKED_ON:
            raise TurnStateError(f"The turn is {turn.status}: there is nothing to cancel.")
        cancelled = turns.ended(turn, "cancelled", clock, None)
        store.settle(head, cancelled, expects=stored)
        return cancelled

    return until_written(once, clock)


def ask_again(
    store: Store, clock: Clock, invoker: Invoker, question: turns.Question, *, key: str | None
) -> tuple[Message, Turn]:
    """Start a turn anew that has failed or was cancelled. With a key, the same request repeated has one effect.

    Raises:
        NotFoundError: the conversation or the message is not there, or no turn was asked for.
        TurnStateError: the turn is complete, or being worked on.
        BusyError: too many write the same conversation, or the turn could not be started; the same request starts it.
    """
    asked_key = ids.digest("again", key) if key is not None else ids.new_local()

    def once() -> tuple[str, Message, Turn]:
        head, message, turn, stored = _read(store, clock, question)
        if stored is not None and stored.asked_key == asked_key:
            return head.owner, message, turn
        if turn.status not in ("failed", "cancelled"):
            raise TurnStateError(f"The turn is {turn.status}: it cannot be asked again.")
        again = Turn(message.id, "pending", to_timestamp(clock.now_ns()), attempt=turn.attempt, asked_key=asked_key)
        store.settle(head, again, expects=stored)
        return head.owner, message, again

    owner, message, turn = until_written(once, clock)
    if turn.status == "pending":
        invoker.invoke(descriptor(question, owner, DEFAULT_LIST_LIMIT, options=message.options, asked_key=asked_key))
    return store.load([message])[0], turn


def _read(store: Store, clock: Clock, question: turns.Question) -> tuple[Conversation, Message, Turn, Turn | None]:
    """The conversation, the message, its turn as callers see it, and as it is stored."""
    found, snapshot = turns.read_to_settle(store, question)
    head = standing(Snapshot(found), question.owner, clock.now_ns())
    message = snapshot.messages.get(question.message_id)
    if message is None or message.conversation_id != head.chain_id:
        raise NotFoundError("There is no such message.")
    stored = snapshot.turns.get(message.id)
    turn = turns.turn_of(message, snapshot, clock.now_ns())
    return head, message, replace(turn, asked_key=stored.asked_key if stored else None), stored
