"""Asking for an answer: the user's message is stored, and the turn is started with a descriptor of the history."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from conversations import turns
from conversations.appending import Appending, append
from conversations.clock import Clock
from conversations.handing_over import descriptor
from conversations.history_query import DEFAULT_LIST_LIMIT
from conversations.model import Message, Turn
from conversations.store import Store

_FIRST_POLL_S = 0.2
_LONGEST_POLL_S = 1.0
_NS_PER_S = 1_000_000_000


class Invoker(Protocol):
    """Starts turns in the background."""

    def invoke(self, descriptor: Mapping[str, Any]) -> None:
        """Hand over the descriptor.

        Raises:
            BusyError: it could not be handed over; the same may be tried again.
        """


def ask(store: Store, clock: Clock, invoker: Invoker, request: Appending) -> tuple[Message, Turn]:
    """Store the one message of the request and start its turn.

    When the same request stored it before, the turn is started again only if nobody has begun to work on it: the
    earlier request may have ended between the two.

    Raises:
        BusyError: the message may have been stored, but the turn could not be started; the same request starts it.
        NotFoundError, IdempotencyMismatchError and others: as for ``append``.
    """
    drafts = [replace(draft, asks=True) for draft in request.drafts]
    appended = append(store, clock, replace(request, drafts=drafts))
    message = appended.messages[0]
    question = turns.Question(request.conversation_id, message.id, request.owner)
    turn = Turn(message.id, "pending", message.created_at)
    if not appended.is_new:
        turn, _ = turns.read_turn(store, clock, question)
    if turn.status == "pending":
        invoker.invoke(descriptor(question, appended.owner, DEFAULT_LIST_LIMIT, options=message.options))
    return message, turn


def follow(
    store: Store, clock: Clock, question: turns.Question, *, wait_s: float, after: int | None
) -> tuple[Turn, Message | None]:
    """A turn and its answer: at once when it has ended, else when the partial text is longer than ``after`` characters,
    or after ``wait_s`` seconds.

    Raises:
        NotFoundError: as for ``turns.read_turn``.
    """
    until_ns = clock.now_ns() + int(wait_s * _NS_PER_S)
    poll_s = _FIRST_POLL_S
    while True:
        turn, answer = turns.read_turn(store, clock, question)
        has_news = after is not None and len(turn.partial_text) > after
        left_s = (until_ns - clock.now_ns()) / _NS_PER_S
        if turn.status not in ("pending", "running") or has_news or left_s <= 0:
            return turn, answer
        clock.sleep(min(poll_s, left_s))
        poll_s = min(_LONGEST_POLL_S, poll_s * 1.25)  # each poll is a read: those who wait long may wait a little more
