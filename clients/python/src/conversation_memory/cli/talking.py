"""A conversation that is being held: messages go in, and what becomes of their turns comes out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conversation_memory import Client
from conversation_memory.errors import TurnStateError
from conversation_memory.types import AskedTurn, Conversation, Turn, TurnEvent

_UNDER_WAY = ("pending", "running")


class Talk:
    """What is said to one conversation, one message at a time.

    A new conversation is made with its first message, by ``beginning`` (what ``create_conversation`` takes).
    ``options`` are those of ``start_turn``, for each message. Whatever is sent carries a key of its own: when an
    interrupt leaves it open whether it arrived, it is sent again and is there once.
    """

    def __init__(
        self, memory: Client, *, known: Conversation | None, beginning: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        self.conversation_id = known["id"] if known else None
        self._memory = memory
        self._beginning = {**beginning, "idempotency_key": uuid.uuid4().hex}
        self._options = options
        self._send: Callable[[], AskedTurn] | None = None
        self._asked: AskedTurn | None = None

    @property
    def may_ask_again(self) -> bool:
        """Whether there is a message that was not answered."""
        return self._send is not None

    @property
    def turn(self) -> Turn | None:
        """The turn of the last message, as far as it was followed."""
        return self._asked["turn"] if self._asked else None

    def ask(self, text: str) -> AskedTurn:
        """Send a message. What is no Unicode becomes question marks."""
        sayable, key = text.encode(errors="replace").decode(), uuid.uuid4().hex
        self._send = lambda: self._memory.start_turn(self._id(), sayable, **self._options, idempotency_key=key)
        self._asked = None
        return self._sent()

    def ask_again(self) -> AskedTurn:
        """Have the last message answered that was not: it is sent again or asked again, or goes on to be followed."""
        if self._asked is not None and self._asked["turn"]["status"] not in _UNDER_WAY:
            message, key = self._asked["message"], uuid.uuid4().hex
            self._send = lambda: self._memory.ask_again(message["conversationId"], message["id"], idempotency_key=key)
            self._asked = None
        return self._sent()

    def follow(self) -> Iterator[TurnEvent]:
        """The answer to it as it comes."""
        asked = self._sent()
        for event in self._memory.follow(asked):
            self._asked = {**asked, "turn": event["turn"]}
            if event["turn"]["status"] == "complete":
                self._send = None
            yield event

    def cancel(self) -> bool:
        """Cancel what is being answered; whether it could be, for it may have just ended."""
        if self._send is None:
            return False
        asked = self._sent()
        try:
            turn = self._memory.cancel_turn(asked["message"]["conversationId"], asked["message"]["id"])
        except TurnStateError:
            return False
        self._asked = {**asked, "turn": turn}
        return True

    def _sent(self) -> AskedTurn:
        """The message and its turn; sent now, if it is not known to have been."""
        if self._asked is None:
            assert self._send is not None
            self._asked = self._send()
        return self._asked

    def _id(self) -> str:
        if self.conversation_id is None:
            self.conversation_id = self._memory.create_conversation(**self._beginning)["id"]
        return self.conversation_id
