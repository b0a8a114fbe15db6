"""Moving one session: what is missing of it in the target, in its order.

Everything is known from the source and from what stands in the target, so a run may be killed anywhere, and several may
be at work on the same session. Each batch begins at the first place that is not there, and its idempotency key is
made from that place: of two that begin at the same one, one is refused, looks again, and goes on behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from conversation_memory import Client
from conversation_memory.errors import (
    AlreadyAnsweredError,
    ApiError,
    ConversationDeletedError,
    ForbiddenError,
    IdempotencyMismatchError,
    InvalidRequestError,
    NotFoundError,
    TooLargeError,
    UnauthorizedError,
)
from conversation_memory.moving.batches import Batch, Taken, messages_of, refused_in, taken
from conversation_memory.moving.describing import described
from conversation_memory.moving.found import Chained, Row, Session, key_of
from conversation_memory.moving.report import Remark, Report
from conversation_memory.moving.target import Reached, answer_to, ids_by_place, moved_from, reached, was_begun
from conversation_memory.types import Conversation, NewMessage

_TRIES = 8
Finder = Callable[[Session], "Conversation | None"]


class Overtaken(Exception):  # noqa: N818 - nothing is wrong
    """Somebody else has stored what this one was about to store, or the conversation is another now."""


class Refused(Exception):  # noqa: N818
    """Nothing more of the session can be moved; the text says why."""


class Arrival:
    """Moves what is missing of a session, and reports. ``find`` looks for its conversation in a dry run."""

    def __init__(self, client: Client, session: Session, report: Report, find: Finder) -> None:
        self._client = client
        self._session = session
        self._report = report
        self._find = find
        self._moved = 0

    def run(self) -> None:
        """Move it.

        Raises:
            UnauthorizedError, ForbiddenError, NoAnswerError, BadAnswerError: the next session would fare no better.
        """
        try:
            self._until_done()
        except Refused as refused:
            self._report.skip(self._session.key, str(refused))
        except ConversationDeletedError:
            self._report.skip(self._session.key, "was moved before, and has been deleted or has expired since")
        except NotFoundError:
            self._report.skip(self._session.key, "was deleted while it was moved")
        except (UnauthorizedError, ForbiddenError):
            raise
        except ApiError as error:
            self._report.skip(self._session.key, str(error))

    def _until_done(self) -> None:
        for _ in range(_TRIES):
            attempt = Attempt(self._client, self._session, self._report, self._find)
            try:
                attempt.run()
            except Overtaken:
                self._moved += attempt.moved
                continue
            attempt.tell(moved_before=self._moved)
            return
        raise Refused(f"others wrote to it in each of {_TRIES} attempts: move it again")


class Attempt:
    """One look at what is there, and all that is missing behind it."""

    def __init__(self, client: Client, session: Session, report: Report, find: Finder) -> None:
        self._client = client
        self._session = session
        self._report = report
        self._find = find
        self.moved = 0
        self._present = 0
        self._skipped: list[Remark] = []
        self._notes: list[Remark] = []
        self._conversation: Conversation | None = None
        self._reached: Reached | None = None
        self._ids: dict[int, str] = {}
        self._has_all_ids = False
        self._answered: set[str] = set()
        self._batch = Batch()

    def tell(self, *, moved_before: int) -> None:
        """Add to the report what this attempt came to."""
        for remark in self._skipped:
            self._report.skip(remark.session, remark.reason, remark.place)
        for remark in self._notes:
            self._report.note(remark.session, remark.reason, remark.place)
        self._report.count(present=max(0, self._present - moved_before))

    def run(self) -> None:
        if self._is_the_original():
            return
        rows = self._session.rows()
        unstorable, first = _until_storable(rows)
        if first is None and not self._session.is_kept_empty:
            self._pass_over(unstorable)
            return
        self._look()
        last = self._take_all(chain(unstorable, [] if first is None else [first], rows))
        self._flush()
        if self._reached is not None and last < self._reached.place:
            self._note(f"holds fewer messages than were moved before ({last + 1} of {self._reached.place + 1})")
        self._describe(is_begun=self.moved > 0 or self._reached is not None)

    def _pass_over(self, rows: list[Row]) -> None:
        for row in rows:
            self._skip(row, row.problem)
        self._report.count(empty=0 if rows else 1)

    # What is there

    def _is_the_original(self) -> bool:
        """Whether the very conversation stands in the target: it was exported from there."""
        if self._session.original_id is None:
            return False
        try:
            original = self._client.get_conversation(self._session.original_id)
        except NotFoundError:
            return False
        self._present = original["messageCount"]
        return True

    def _look(self) -> None:
        session, key = self._session, key_of(self._session.source, self._session.key)
        if self._report.is_dry:
            self._conversation = self._find(session)
        else:
            self._conversation = self._client.create_conversation(session_id=session.session_id, idempotency_key=key)
        found = self._conversation
        if found is None:
            return
        self._reached = reached(self._client, found["id"], session.source) if found["messageCount"] else None
        if self._reached is not None:
            self._ids[self._reached.place] = self._reached.message_id
        elif was_begun(found, session.source, session.key):
            raise Refused("was moved before, and has been cleared since")
        elif found["messageCount"]:
            self._note(f"is stored behind {found['messageCount']} messages that were there before")
        elif not self._report.is_dry and session.ttl_days is not None:
            self._client.change_conversation(found["id"], {"ttlDays": session.ttl_days})

    def _id_of(self, place: int) -> str | None:
        is_earlier = self._reached is not None and place < self._reached.place
        if place not in self._ids and is_earlier and not self._has_all_ids and self._conversation is not None:
            self._ids |= ids_by_place(self._client, self._conversation["id"], self._session.source)
            self._has_all_ids = True
        known = self._ids.get(place)
        return None if known in self._answered else known

    # What is missing

    def _take_all(self, rows: Iterator[Row]) -> int:
        """The place of the last row, -1 if there is none."""
        chained, last = Chained(), -1
        for row in rows:
            digest, last = chained.add(row.mark), row.place
            if row.message is None:
                self._skip(row, row.problem)
            elif self._reached is not None and row.place <= self._reached.place:
                self._present += 1
            else:
                self._take(row, row.message, digest)
            if self._reached is not None and row.place == self._reached.place and digest != self._reached.digest:
                raise Refused(f"is not what it was when {row.place + 1} messages were moved: nothing more is")
        return last

    def _take(self, row: Row, message: NewMessage, digest: str) -> None:
        if row.note:
            self._notes.append(Remark(self._session.key, row.note, row.place))
        try:
            one = taken(row, message, self._session.source, digest)
        except TooLargeError as error:
            self._skip(row, error.message)
            return
        if not self._batch.has_room_for(one):
            self._flush()
        self._batch.add(one)

    def _flush(self) -> None:
        rows, self._batch = self._batch.rows, Batch()
        if self._report.is_dry:
            self._count(len(rows))
        elif rows:
            self._store(rows)

    def _store(self, rows: list[Taken]) -> None:
        """Store the rows that the target takes, all others are skipped."""
        assert self._conversation is not None
        messages, key = (
            messages_of(rows, self._id_of),
            key_of(self._session.source, self._session.key, str(rows[0].row.place)),
        )
        try:
            stored = self._client.append_messages(self._conversation["id"], messages, idempotency_key=key)
        except IdempotencyMismatchError as error:
            raise Overtaken from error
        except AlreadyAnsweredError:
            self._detach(rows)
        except (InvalidRequestError, TooLargeError) as error:
            self._without_refused(rows, error)
        else:
            self._ids |= {one.row.place: message["id"] for one, message in zip(rows, stored, strict=True) if one.asks}
            self._count(len(rows))

    def _detach(self, rows: list[Taken]) -> None:
        """Others have answered a question in the meantime: the source's own answer is kept as one of nothing."""
        assert self._conversation is not None
        detached = 0
        for one in rows:
            question = None if one.row.answers is None else self._ids.get(one.row.answers)
            if question is None:
                continue
            answered = answer_to(self._client, self._conversation["id"], question)
            if answered is not None and moved_from(answered, self._session.source) is not None:
                raise Overtaken
            if answered is not None:
                self._answered.add(question)
                self._notes.append(Remark(self._session.key, "its question has another answer by now", one.row.place))
                detached += 1
        if not detached:
            raise Overtaken
        self._store(rows)

    def _without_refused(self, rows: list[Taken], error: ApiError) -> None:
        if (error.field or "").endswith("associatedUserMessageId"):
            raise Overtaken from error  # what it answers was cleared
        number = 0 if len(rows) == 1 else refused_in(error)
        if number is None:
            half = len(rows) // 2
            self._store(rows[:half])
            self._store(rows[half:])
            return
        self._skip(rows[number].row, str(error))
        left = rows[:number] + rows[number + 1 :]
        if left:
            self._store(left)

    def _describe(self, *, is_begun: bool) -> None:
        if self._conversation is None or self._report.is_dry:
            return
        change, complaint = described(self._conversation, self._session, is_begun=is_begun)
        if complaint:
            self._note(complaint)
        if change:
            self._client.change_conversation(self._conversation["id"], change)

    # What is said of it

    def _count(self, moved: int) -> None:
        self.moved += moved
        self._report.count(moved=moved)

    def _skip(self, row: Row, reason: str) -> None:
        self._skipped.append(Remark(self._session.key, reason, row.place))

    def _note(self, reason: str) -> None:
        self._notes.append(Remark(self._session.key, reason))


def _until_storable(rows: Iterator[Row]) -> tuple[list[Row], Row | None]:
    """The rows before the first that can be stored, and that one."""
    before: list[Row] = []
    for row in rows:
        if row.message is not None:
            return before, row
        before.append(row)
    return before, None
