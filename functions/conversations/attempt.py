"""An attempt over our own store: what was claimed, the history that is fetched for it, and how it ends."""

from contextlib import suppress
from dataclasses import replace

from conversations import turns
from conversations.clock import NANOSECONDS, Clock
from conversations.errors import BusyError, ServiceError, SupersededError
from conversations.history import History, read_history
from conversations.history_query import HistoryQuery
from conversations.language_model import Event
from conversations.model import Conversation, Draft, Turn
from conversations.progress import Progress
from conversations.recall import Recall
from conversations.said import Answer, Said
from conversations.store import Store

HEARTBEAT_NS = 25 * NANOSECONDS  # the lease is moved on at least every 30 s
LOOK_NS = 1_250_000_000
"""How often it is seen whether the turn was cancelled, so that it stops within two seconds: a read unit each time."""


class StoredAttempt:
    """Implements ``answering.Attempt``: keeps the lease, writes partial text where that is due, finishes the turn."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        question: turns.Question,
        query: HistoryQuery,
        *,
        claimed: tuple[Conversation, Turn],
        keeps_partial_text: bool = True,
        recall: Recall | None = None,
    ) -> None:
        """``claimed`` is what ``turns.claim`` gave."""
        self._store = store
        self._clock = clock
        self._question = question
        self._query = query
        self._head, self._turn = claimed
        self._keeps_partial_text = keeps_partial_text
        self._recall = recall
        self._moved_ns = self._looked_ns = clock.now_ns()
        self._progress = Progress(started_ns=self._moved_ns)

    @property
    def number(self) -> int:
        return self._turn.attempt

    def history(self, most: int | None = None) -> History:
        return read_history(self._store, self._head, replace(self._query, most=most), self._recall)

    def follow(self, said: Said, event: Event | None) -> None:
        """Keep the lease, and the partial text when that is due."""
        now_ns = self._clock.now_ns()
        length = said.length if self._keeps_partial_text else 0
        is_due = self._progress.is_due(length, now_ns)
        if is_due or now_ns - self._moved_ns >= HEARTBEAT_NS:
            self._turn = turns.advance(self._store, self._clock, self._turn, said.text if is_due else None)
            self._moved_ns = self._looked_ns = now_ns
            self._progress.written = length if is_due else self._progress.written
        elif now_ns - self._looked_ns >= LOOK_NS:
            self._look(now_ns)

    def seconds_to_wait(self) -> float:
        next_ns = min(self._moved_ns + HEARTBEAT_NS, self._looked_ns + LOOK_NS)
        return max(0.0, (next_ns - self._clock.now_ns()) / NANOSECONDS)

    def _look(self, now_ns: int) -> None:
        self._looked_ns = now_ns
        with suppress(BusyError):  # the next look may see it
            self._head = turns.look(self._store, self._clock, self._question, self._turn, self._head)

    def finish(self, answer: Answer) -> None:
        draft = Draft(
            local="response",
            role="assistant",
            content=answer.content,
            associated_user_message_id=self._question.message_id,
            usage=answer.usage or None,
            stop_reason=answer.stop_reason,
            model_id=answer.model_id,
            latency_ms=answer.latency_ms,
            tool_calls=answer.tool_calls or None,
            measured=answer.measured,
            guardrail_trace=answer.guardrail_trace,
        )
        turns.finish(self._store, self._clock, self._question, self._turn, draft)

    def fail(self, error: ServiceError, said: Said) -> None:
        told = {"code": error.code, "message": error.message}
        turns.fail(self._store, self._clock, self._question, self._turn, told, said.text)

    def give_back(self) -> None:
        try:
            turns.give_back(self._store, self._clock, self._turn)
        except (SupersededError, ServiceError):
            return  # the lease runs out by itself
