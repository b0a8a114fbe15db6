"""Moving one session: what is missing of it in the target, in its order.

Everything is known from the source and from what stands in the target, so a run may be killed anywhere, and several may
be at work on the same session.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import chain

from conversation_memory import Client
from conversation_memory.errors import (
    ApiError,
    ConversationDeletedError,
    ForbiddenError,
    NotFoundError,
    TooLargeError,
    UnauthorizedError,
)
from conversation_memory.moving.batches import Batch, taken
from conversation_memory.moving.describing import described
from conversation_memory.moving.found import Chained, Row, Session, SourceError, key_of
from conversation_memory.moving.report import Report
from conversation_memory.moving.storing import Overtaken, Storing
from conversation_memory.moving.target import Reached, ids_by_place, reached, was_begun
from conversation_memory.moving.traces import bring_traces
from conversation_memory.types import Conversation, NewMessage

_TRIES = 8
_LONGEST_PAUSE_S = 5.0
Finder = Callable[[Session], "Conversation | None"]


class Refused(Exception):  # noqa: N818
    """Nothing more of the session can be moved; the text says why."""


class Stopped(Exception):  # noqa: N818
    """The run is to end; what is missing is moved by the next."""


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
        except Stopped:
            return
        except (Refused, SourceError) as refused:
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
        overtaken = stuck = 0
        furthest = -1
        while stuck < _TRIES:
            attempt = _Attempt(self._client, self._session, self._report, self._find)
            try:
                attempt.run()
            except Overtaken:
                self._moved += attempt.moved
                stuck = 0 if attempt.moved or attempt.began_behind > furthest else stuck + 1
                furthest = max(furthest, attempt.began_behind)
                overtaken += 1
                _let_ahead(overtaken)
                continue
            attempt.tell(moved_before=self._moved)
            return
        raise Refused(f"others wrote to it in each of {_TRIES} attempts: move it again")


def _let_ahead(times: int) -> None:
    """Leave the session to whoever was quicker, for longer and longer: what they move needs not be moved."""
    time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.05 * 2**times)))  # noqa: S311 - guards nothing


class _Attempt:
    """One look at what is there, and all that is missing behind it."""

    def __init__(self, client: Client, session: Session, report: Report, find: Finder) -> None:
        self._client = client
        self._session = session
        self._report = report
        self._find = find
        self.moved = 0
        self._present = 0
        self._passed: list[int] = []
        self._remarks: list[Callable[[], None]] = []
        self._conversation: Conversation | None = None
        self._reached: Reached | None = None
        self._storing: Storing | None = None
        self._batch = Batch()

    @property
    def began_behind(self) -> int:
        """The place of the last row that was there already, -1 if none was."""
        return -1 if self._reached is None else self._reached.place

    def tell(self, *, moved_before: int) -> None:
        """Add to the report what this attempt came to."""
        for remark in self._remarks:
            remark()
        self._report.count(present=max(0, self._present - moved_before))

    def run(self) -> None:
        """Store what is missing.

        Raises:
            Overtaken: look again.
            Refused: nothing more of the session can be moved.
        """
        if self._is_the_original():
            return
        rows = self._session.rows()
        unstorable, first = _until_storable(rows)
        if first is None and not self._session.is_kept_empty:
            for row in unstorable:
                self._skip(row.problem, row.place)
            self._report.count(empty=0 if unstorable else 1)
            return
        self._look()
        last = self._take_all(chain(unstorable, [] if first is None else [first], rows))
        self._flush()
        self._compare(last)
        self._describe(is_begun=self.moved > 0 or self._reached is not None)
        conversation_id = None if self._conversation is None else self._conversation["id"]
        bring_traces(self._client, self._session, conversation_id, self._report)

    # What is there

    def _is_the_original(self) -> bool:
        """Whether the very conversation stands in the target: it was exported from there.

        Raises:
            Refused: it does, but what the source has of it was cleared.
        """
        if self._session.original_id is None:
            return False
        try:
            original = self._client.get_conversation(self._session.original_id)
        except NotFoundError:
            return False
        first = next((row.origin["id"] for row in self._session.rows() if "id" in row.origin), None)
        if first is not None:
            self._expect(original["id"], first)
        self._present = original["messageCount"]
        return True

    def _expect(self, conversation_id: str, message_id: str) -> None:
        try:
            self._client.get_message(conversation_id, message_id)
        except NotFoundError:
            raise Refused("was written down from here, and has been cleared since") from None

    def _look(self) -> None:
        session, key = self._session, key_of(self._session.source, self._session.key)
        if self._report.is_dry:
            found = self._find(session)
        else:
            found = self._client.create_conversation(session_id=session.session_id, idempotency_key=key)
        self._conversation = found
        if found is None:
            return
        self._reached = reached(self._client, found["id"], session.source) if found["messageCount"] else None
        if self._reached is not None:
            self._present = self._reached.number
        elif was_begun(found, session.source, session.key):
            raise Refused("was moved before, and has been cleared since")
        elif found["messageCount"]:
            self._note(f"is stored behind {found['messageCount']} messages that were there before")
        elif not self._report.is_dry and session.ttl_days is not None:
            self._client.change_conversation(found["id"], {"ttlDays": session.ttl_days})
        self._storing = Storing(
            *(self._client, session, found["id"], self._reached), skip=self._skip, note=self._note, count=self._count
        )

    def _compare(self, last: int) -> None:
        """Say what of the source was not moved when its time was, and what of what was moved it no longer has."""
        if self._reached is None or self._conversation is None:
            return
        if last < self._reached.place:
            self._note(f"holds fewer messages than were moved before ({last + 1} of {self._reached.place + 1})")
        elif len(self._passed) > self._reached.number:
            stored = ids_by_place(self._client, self._conversation["id"], self._session.source)
            for place in self._passed:
                if place not in stored:
                    self._skip("was refused when what stands behind it was moved", place)

    # What is missing

    def _take_all(self, rows: Iterator[Row]) -> int:
        """The place of the last row, -1 if there is none."""
        chained, last = Chained(), -1
        for row in rows:
            digest, last = chained.add(row.mark), row.place
            if row.message is None:
                self._skip(row.problem, row.place)
            elif self._reached is not None and row.place <= self._reached.place:
                self._passed.append(row.place)
            else:
                self._take(row, row.message, digest)
            if self._reached is not None and row.place == self._reached.place and digest != self._reached.digest:
                raise Refused(f"is not what it was when {self._reached.number} messages were moved: nothing more is")
        return last

    def _take(self, row: Row, message: NewMessage, digest: str) -> None:
        if row.note:
            self._note(row.note, row.place)
        try:
            one = taken(row, message, self._session.source, digest)
        except TooLargeError as error:
            self._skip(error.message, row.place)
            return
        except (ValueError, TypeError, RecursionError) as error:
            self._skip(f"cannot be written as JSON: {error}", row.place)
            return
        if not self._batch.has_room_for(one):
            self._flush()
        self._batch.add(one)

    def _flush(self) -> None:
        rows, self._batch = self._batch.rows, Batch()
        if self._report.is_stopped:
            raise Stopped
        if self._report.is_dry:
            self._count(len(rows))
        elif self._storing is not None:
            self._storing.store(rows)

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

    def _skip(self, reason: str, place: int | None = None) -> None:
        self._remarks.append(lambda: self._report.skip(self._session.key, reason, place))

    def _note(self, reason: str, place: int | None = None) -> None:
        self._remarks.append(lambda: self._report.note(self._session.key, reason, place))


def _until_storable(rows: Iterator[Row]) -> tuple[list[Row], Row | None]:
    """The rows before the first that can be stored, and that one."""
    before: list[Row] = []
    for row in rows:
        if row.message is not None:
            return before, row
        before.append(row)
    return before, None
