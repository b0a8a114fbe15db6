"""Storing rows at the end of a conversation: each once, whoever else is at it; what the target refuses is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from conversation_memory import Client
from conversation_memory.errors import (
    AlreadyAnsweredError,
    ApiError,
    IdempotencyMismatchError,
    InvalidRequestError,
    TooLargeError,
)
from conversation_memory.moving.batches import Taken, messages_of, refused_in
from conversation_memory.moving.found import Session, key_of
from conversation_memory.moving.target import Reached, answer_to, client_ids, ids_by_place, moved_from
from conversation_memory.types import NewMessage

Tell = Callable[[str, int], None]
"""Takes a remark, and the place that it is about."""


class Overtaken(Exception):  # noqa: N818 - nothing is wrong
    """Somebody else has stored what this one was about to store, or the conversation is another now."""


class Storing:
    """Appends to a conversation, behind what was ``reached`` there. Returns and counts what was stored.

    The idempotency key of a request is made from the place of its first row: of two who begin at the same place one is
    refused, and looks again.
    """

    def __init__(
        self,
        client: Client,
        session: Session,
        conversation_id: str,
        reached: Reached | None,
        *,
        skip: Tell,
        note: Tell,
        count: Callable[[int], None],
    ) -> None:
        self._client = client
        self._session = session
        self._conversation_id = conversation_id
        self._skip = skip
        self._note = note
        self._count = count
        self._number = reached.number if reached else 0
        self._ids = {reached.place: reached.message_id} if reached else {}
        self._last_before = reached.place if reached else -1
        self._has_ids_before = False
        self._answered: set[str] = set()

    def store(self, rows: list[Taken]) -> None:
        """Store the rows that the target takes.

        Raises:
            Overtaken: look again.
        """
        if not rows:
            return
        messages = messages_of(rows, self._number, self._id_of)
        key = key_of(self._session.source, self._session.key, str(rows[0].row.place))
        try:
            stored = self._client.append_messages(self._conversation_id, messages, idempotency_key=key)
        except IdempotencyMismatchError as error:
            self._rename(rows, error)
        except AlreadyAnsweredError:
            self._detach(rows)
        except (InvalidRequestError, TooLargeError) as error:
            self._without_refused(rows, error)
        else:
            self._ids |= {one.row.place: message["id"] for one, message in zip(rows, stored, strict=True) if one.asks}
            self._number += len(rows)
            self._count(len(rows))

    def _id_of(self, place: int) -> str | None:
        """The id of the message that was stored for the row at a place, if it may still be answered."""
        if place not in self._ids and place < self._last_before and not self._has_ids_before:
            self._ids |= ids_by_place(self._client, self._conversation_id, self._session.source)
            self._has_ids_before = True
        known = self._ids.get(place)
        return None if known in self._answered else known

    def _rename(self, rows: list[Taken], error: ApiError) -> None:
        """Other messages have the names that clients gave to these: here these go without."""
        taken = client_ids(self._client, self._conversation_id, self._session.source, before=rows[0].row.place)
        renamed = []
        for one in rows:
            client_id = one.message.get("clientMessageId")
            if client_id in taken:
                self._note("its clientMessageId is that of another message by now", one.row.place)
                kept = {name: value for name, value in one.message.items() if name != "clientMessageId"}
                one = replace(one, message=cast(NewMessage, kept))  # noqa: PLW2901
            elif client_id is not None:
                taken.add(client_id)
            renamed.append(one)
        if renamed == rows:
            raise Overtaken from error
        self.store(renamed)

    def _detach(self, rows: list[Taken]) -> None:
        """Others have answered a question in the meantime: the source's own answer is kept as one of nothing."""
        detached = 0
        for one in rows:
            question = None if one.row.answers is None else self._id_of(one.row.answers)
            answer = question and answer_to(self._client, self._conversation_id, question)
            if not question or not answer:
                continue
            if moved_from(answer, self._session.source) is not None:
                raise Overtaken
            self._answered.add(question)
            self._note("its question has another answer by now", one.row.place)
            detached += 1
        if not detached:
            raise Overtaken
        self.store(rows)

    def _without_refused(self, rows: list[Taken], error: ApiError) -> None:
        if (error.field or "").endswith("associatedUserMessageId"):
            raise Overtaken from error  # what it answers was cleared
        number = 0 if len(rows) == 1 else refused_in(error)
        if number is None:
            half = len(rows) // 2
            self.store(rows[:half])
            self.store(rows[half:])
            return
        self._skip(str(error), rows[number].row.place)
        self.store(rows[:number] + rows[number + 1 :])
