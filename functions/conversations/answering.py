"""Answering a message: claim the turn, fetch and arrange its history, ask the model, keep the partial text, finish.

The model's stream is read by a thread of its own, so that a model that says nothing for long neither loses the lease
nor outlives the function's time.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Literal, Protocol

from conversations import turns
from conversations.clock import NANOSECONDS, Clock
from conversations.errors import (
    BusyError,
    ModelError,
    ModelUnavailableError,
    ServiceError,
    SupersededError,
    TurnTimeoutError,
)
from conversations.history import History, HistoryQuery, read_history
from conversations.model import Block, Conversation, Draft, Turn
from conversations.progress import Progress
from conversations.reply import Reply
from conversations.store import Store
from conversations.tools import tool_configuration_for

HEARTBEAT_NS = 25 * NANOSECONDS  # the lease is moved on at least every 30 s
Outcome = Literal["complete", "failed", "superseded"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked, in the terms of the Converse API; ``region`` is ``None`` for the function's own."""

    model_id: str
    messages: Sequence[Mapping[str, Any]]
    system: Sequence[Block] = ()
    tool_configuration: Mapping[str, Any] | None = None
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)
    region: str | None = None


class Model(Protocol):
    """A model that streams."""

    def ask(self, request: ModelRequest) -> Iterator[Mapping[str, Any]]:
        """The events of ConverseStream.

        Raises:
            ModelUnavailableError: it is throttled or down.
            ModelError: it refuses this request, or its stream broke.
        """


@dataclass(frozen=True, slots=True)
class Asked:
    """What a turn is to do: the message to be answered, which history to fetch, and how to ask the model."""

    question: turns.Question
    history: HistoryQuery
    model_id: str
    region: str | None = None
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)
    client_tools: Sequence[Mapping[str, Any]] = ()
    keeps_partial_text: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """How an attempt ended, and what it took."""

    outcome: Outcome
    attempt: int = 0
    repairs: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None


def answer(store: Store, clock: Clock, model: Model, asked: Asked, *, give_up_at_ns: int) -> Answered:
    """Answer a message, or say for good that it failed.

    Raises:
        LeasedError: another attempt that may be alive holds the turn.
        ModelUnavailableError, BusyError: it may succeed later; the lease has been given back.
        NotFoundError: the conversation is not there for this owner, or the message was cleared.
    """
    try:
        head, turn = turns.claim(store, clock, asked.question)
    except SupersededError:
        return Answered("superseded")
    attempt = _Attempt(store, clock, asked, turn, give_up_at_ns)
    try:
        return attempt.answer(head, model)
    except SupersededError:
        return Answered("superseded", turn.attempt)
    except (ModelUnavailableError, BusyError):
        attempt.give_back()
        raise
    except ServiceError as error:
        return attempt.fail(error)
    except Exception:
        attempt.give_back()
        raise


class _Attempt:
    """One attempt, which holds the lease."""

    def __init__(self, store: Store, clock: Clock, asked: Asked, turn: Turn, give_up_at_ns: int) -> None:
        self._store = store
        self._clock = clock
        self._asked = asked
        self._turn = turn
        self._give_up_at_ns = give_up_at_ns
        self._reply = Reply()
        self._moved_ns = clock.now_ns()
        self._progress = Progress(started_ns=self._moved_ns)

    def answer(self, head: Conversation, model: Model) -> Answered:
        asked = self._asked
        history = read_history(self._store, head, asked.history)
        with closing(_in_time(model.ask(_request(asked, history)), self._seconds_to_wait)) as events:
            for event in events:
                if event is not None:
                    self._reply.feed(event)
                self._keep_up()
        if not self._reply.is_complete:
            raise ModelError("The model's answer broke off.")
        turns.finish(self._store, self._clock, asked.question, self._turn, _draft(asked, self._reply))
        usage = self._reply.usage or {}
        return Answered("complete", self._turn.attempt, history.repairs, usage)

    def give_back(self) -> None:
        try:
            turns.give_back(self._store, self._clock, self._turn)
        except (SupersededError, ServiceError):
            return  # the lease runs out by itself

    def fail(self, error: ServiceError) -> Answered:
        told = {"code": error.code, "message": error.message}
        try:
            turns.fail(self._store, self._clock, self._asked.question, self._turn, told, self._reply.text)
        except SupersededError:
            return Answered("superseded", self._turn.attempt)
        return Answered("failed", self._turn.attempt, error_code=error.code)

    def _keep_up(self) -> None:
        """Keep the lease, and the partial text when that is due."""
        now_ns = self._clock.now_ns()
        if now_ns >= self._give_up_at_ns:
            raise TurnTimeoutError("The answer was not complete when the time for it was over.")
        text = self._reply.text if self._asked.keeps_partial_text else ""
        is_due = self._progress.is_due(len(text), now_ns)
        if is_due or now_ns - self._moved_ns >= HEARTBEAT_NS:
            self._turn = turns.advance(self._store, self._clock, self._turn, text if is_due else None)
            self._moved_ns = now_ns
            self._progress.written = len(text) if is_due else self._progress.written

    def _seconds_to_wait(self) -> float:
        now_ns = self._clock.now_ns()
        until_ns = min(self._moved_ns + HEARTBEAT_NS, self._give_up_at_ns)
        return max(0.0, (until_ns - now_ns) / NANOSECONDS)


def _request(asked: Asked, history: History) -> ModelRequest:
    prompt = history.prompt
    return ModelRequest(
        model_id=asked.model_id,
        region=asked.region,
        system=prompt.system,
        messages=prompt.messages,
        tool_configuration=tool_configuration_for(prompt.messages, history.tool_configuration, asked.client_tools),
        inference_configuration=asked.inference_configuration,
    )


def _draft(asked: Asked, reply: Reply) -> Draft:
    return Draft(
        local="response",
        role="assistant",
        content=reply.content,
        associated_user_message_id=asked.question.message_id,
        usage=reply.usage,
        stop_reason=reply.stop_reason,
        model_id=asked.model_id,
    )


@dataclass(frozen=True, slots=True)
class _End:
    """The last thing in the queue: the stream ended, by itself or by this error."""

    error: BaseException | None = None


def _in_time(
    events: Iterator[Mapping[str, Any]], seconds_to_wait: Callable[[], float]
) -> Generator[Mapping[str, Any] | None, None, None]:
    """The events of a stream, and ``None`` whenever nothing came for that many seconds.

    When it is closed before its end the reader stops at the next event and closes the stream: the model is not paid for
    an answer that nobody waits for, and no thread goes on in the next invocation.
    """
    queue: SimpleQueue[Mapping[str, Any] | _End] = SimpleQueue()
    unwanted = Event()
    Thread(target=_read, args=(events, queue, unwanted), name="model-stream", daemon=True).start()
    try:
        while True:
            try:
                event = queue.get(timeout=seconds_to_wait())
            except Empty:
                yield None
                continue
            if isinstance(event, _End):
                if event.error is not None:
                    raise event.error
                return
            yield event
    finally:
        unwanted.set()


def _read(events: Iterator[Mapping[str, Any]], queue: "SimpleQueue[Mapping[str, Any] | _End]", unwanted: Event) -> None:
    try:
        for event in events:
            if unwanted.is_set():
                break
            queue.put(event)
        if isinstance(events, Generator):
            events.close()
        queue.put(_End())
    except BaseException as error:
        queue.put(_End(error))
