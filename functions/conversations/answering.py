"""Answering a message: ask the model, use the tools it asks for, ask again, until it has said all.

The loop knows neither where the history comes from nor where the answer goes: that is the ``Attempt``'s part. There is
one over our own store (``conversations.attempt``).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from random import SystemRandom
from typing import Any, Literal, Protocol

from conversations import tokens
from conversations.clock import NANOSECONDS, Clock
from conversations.errors import (
    BusyError,
    InputTooLongError,
    ModelError,
    ModelUnavailableError,
    ServiceError,
    SupersededError,
    TurnTimeoutError,
)
from conversations.history import History
from conversations.language_model import PLAIN, Event, Features, Model, ModelRequest
from conversations.model import Block
from conversations.said import Answer, Said
from conversations.streams import in_time
from conversations.tool_use import Tool, ToolUse, used
from conversations.tools import names_in, tool_configuration_for
from conversations.turn_options import inference_for
from conversations.windows import measured

MOST_ROUNDS = 10
SHRINKS = (1 / 2, 1 / 4)
"""To what part a history is cut that the model finds too long, and then again, unless the model says what would fit."""
PAUSES_S = (2.0, 8.0, 30.0)
"""The longest waits before a model that is not available is asked again within an invocation."""
Outcome = Literal["complete", "failed", "superseded"]
_NO_MORE = "The limit of tool uses for one message is reached: answer with what is known."
_random = SystemRandom()


class Attempt(Protocol):
    """One attempt at answering a message, which holds the turn: where its history comes from and its answer goes to.

    Every call may raise ``SupersededError`` (the turn was cancelled, taken over, answered or removed) and ``BusyError``
    (what stands behind is down, and the whole attempt may succeed later).
    """

    @property
    def number(self) -> int:
        """Which attempt this is, counting from 1."""

    def history(self, most: int | None = None) -> History:
        """The history that the model is sent; ``most`` bounds its ``estimated`` tokens.

        Raises:
            NotFoundError, OrphanToolResultError, EmptyMessageError: there is none that could be sent.
        """

    def follow(self, said: Said, event: Event | None) -> None:
        """Called with each event of the model's stream in its order, through all rounds (``messageStart`` begins one),
        after ``said`` has taken it in; and with ``None`` whenever nothing came for ``seconds_to_wait()``, also while
        tools are at work. Here leases are kept, and what was said so far is shown to those who follow the turn.
        """

    def seconds_to_wait(self) -> float:
        """How long ``follow`` need not be called again."""

    def finish(self, answer: Answer) -> None:
        """Store the answer: the turn is complete."""

    def fail(self, error: ServiceError, said: Said) -> None:
        """The turn has failed for good, with what was said so far."""

    def give_back(self) -> None:
        """Let another attempt begin at once. Raises nothing."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How the model is asked: ``inference_configuration`` is the deployment's, ``inference_asked`` the event's.

    ``tools`` are those that are called here, ``client_tools`` (``{name, description?, inputSchema?}``) come with the
    event; those of the message are in the history. ``keeps_tool_calls`` says that a continuation will know what the
    tools of this turn did.
    """

    model_id: str
    region: str | None = None
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)
    inference_asked: Mapping[str, Any] = field(default_factory=dict)
    features: Features = PLAIN
    client_tools: Sequence[Mapping[str, Any]] = ()
    tools: Sequence[Tool] = ()
    most_rounds: int = MOST_ROUNDS
    keeps_tool_calls: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """How an attempt ended, and what it took."""

    outcome: Outcome
    attempt: int = 0
    repairs: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict)
    error_code: str | None = None


def answer(attempt: Attempt, clock: Clock, model: Model, asking: Asking, *, give_up_at_ns: int) -> Answered:
    """Answer a message, or say for good that it failed. Where it is superseded, the model's stream is closed.

    Raises:
        ModelUnavailableError, BusyError: it may succeed later; the turn has been given back.
    """
    work = _Work(attempt, clock, model, asking, give_up_at_ns)
    try:
        return work.answer()
    except SupersededError:
        return Answered("superseded", attempt.number)
    except (ModelUnavailableError, BusyError):
        attempt.give_back()
        raise
    except ServiceError as error:
        return _failed(attempt, error, work.said)
    except Exception:
        attempt.give_back()
        raise


def _failed(attempt: Attempt, error: ServiceError, said: Said) -> Answered:
    try:
        attempt.fail(error, said)
    except SupersededError:
        return Answered("superseded", attempt.number)
    return Answered("failed", attempt.number, error_code=error.code, usage=said.usage)


class _Work:
    """The rounds of one attempt."""

    def __init__(self, attempt: Attempt, clock: Clock, model: Model, asking: Asking, give_up_at_ns: int) -> None:
        self._attempt = attempt
        self._clock = clock
        self._model = model
        self._asking = asking
        self._give_up_at_ns = give_up_at_ns
        self._most: int | None = None
        self._shrinks = 0
        self.said = Said()

    def answer(self) -> Answered:
        history = self._attempt.history()
        request = _request(self._asking, history)
        clients = names_in(request.tool_configuration) - {tool.specification["name"] for tool in self._asking.tools}
        first = history = self._ask(request, history)
        rounds: list[dict[str, Any]] = []  # what comes after the history in this turn
        while uses := self.said.tool_uses(but_for=clients):
            asks_client = self.said.asks_client(clients)
            if asks_client and not self._asking.keeps_tool_calls:
                self.said.end_round(without=uses)  # the model would ask for them again
                break
            results = self._use(uses)
            rounds += [{"role": "assistant", "content": self.said.sent}, {"role": "user", "content": results}]
            if asks_client:
                break
            history = self._ask(_unforced(request), history, rounds)
        self._attempt.finish(self.said.answer(self._asking.model_id, self._measured(first)))
        return Answered("complete", self._attempt.number, first.repairs, self.said.usage)

    def _ask(self, request: ModelRequest, history: History, rounds: Sequence[Mapping[str, Any]] = ()) -> History:
        """One round; returns the history that the model was sent, which is shorter if it refused more.

        Once tools have been used a model that is not available is waited for, since another attempt would use them
        again.
        """
        self.said.begin_round()
        pauses = chain(PAUSES_S if rounds else (), repeat(None))
        while True:
            prompt = history.prompt
            try:
                self._hear(replace(request, system=prompt.system, messages=[*prompt.messages, *rounds]))
            except InputTooLongError as error:
                history = self._shorter(history, error, beside=_tokens(rounds))
            except ModelUnavailableError:
                pause_s = next(pauses)
                if pause_s is None or self.said.has_begun or pause_s >= self._seconds_left:
                    raise
                self._pause(_random.uniform(pause_s / 2, pause_s))
            else:
                return history

    def _pause(self, seconds: float) -> None:
        until_ns = self._clock.now_ns() + int(seconds * NANOSECONDS)
        while (left_ns := until_ns - self._clock.now_ns()) > 0:
            self._clock.sleep(min(left_ns / NANOSECONDS, self._seconds_to_wait()))
            self._follow(None)

    def _hear(self, request: ModelRequest) -> None:
        with closing(in_time(self._model.ask(request), self._seconds_to_wait)) as events:
            for event in events:
                if event is not None:
                    self.said.feed(event)
                self._follow(event)
        if not self.said.is_complete:
            raise ModelError("The model's answer broke off.")

    def _shorter(self, history: History, error: InputTooLongError, *, beside: int) -> History:
        """The part of the history that may fit beside so many tokens of earlier rounds.

        Raises ``error`` when it cannot be shorter, or for the third time.
        """
        if self._shrinks == len(SHRINKS) or self.said.has_begun:
            raise error
        part = SHRINKS[self._shrinks] if error.part is None else error.part
        self._shrinks += 1
        self._most = int((history.estimated + beside) * part)
        shorter = self._attempt.history(max(1, self._most - beside))
        if len(shorter.prompt.messages) >= len(history.prompt.messages):
            raise error
        return shorter

    def _measured(self, history: History) -> Mapping[str, Any]:
        estimated, usage = history.estimated, self.said.first_usage
        return measured(history.learned, estimated=estimated, usage=usage, most=self._most)

    def _use(self, uses: Sequence[ToolUse]) -> list[Block]:
        """The results of the tools, as the model is told them, and the answer keeps them."""
        rounds = self.said.rounds
        if rounds > self._asking.most_rounds + 1:
            raise ModelError(f"The model asked for tools in more than {self._asking.most_rounds} rounds.")
        if rounds > self._asking.most_rounds:
            return self.said.take_results([use.refused(_NO_MORE) for use in uses])
        results = used(
            uses,
            self._asking.tools,
            self._clock,
            seconds_to_wait=self._seconds_to_wait,
            keep_up=lambda: self._follow(None),
        )
        return self.said.take_results(results)

    def _follow(self, event: Event | None) -> None:
        if self._clock.now_ns() >= self._give_up_at_ns:
            raise TurnTimeoutError("The answer was not complete when the time for it was over.")
        self._attempt.follow(self.said, event)

    def _seconds_to_wait(self) -> float:
        return max(0.0, min(self._seconds_left, self._attempt.seconds_to_wait()))

    @property
    def _seconds_left(self) -> float:
        return (self._give_up_at_ns - self._clock.now_ns()) / NANOSECONDS


def _tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    return sum(tokens.of_blocks(message["content"]) for message in messages)


def _unforced(request: ModelRequest) -> ModelRequest:
    """The request of a later round: a model that must use a tool must do so once."""
    configuration = {**(request.tool_configuration or {})}
    configuration.pop("toolChoice", None)
    return replace(request, tool_configuration=configuration or None)


def _request(asking: Asking, history: History) -> ModelRequest:
    prompt = history.prompt
    own = [tool.specification for tool in asking.tools]
    return ModelRequest(
        model_id=asking.model_id,
        region=asking.region,
        system=prompt.system,
        messages=prompt.messages,
        tool_configuration=tool_configuration_for(
            prompt.messages, history.tool_configuration, asking.client_tools, own
        ),
        inference_configuration=inference_for(asking.inference_configuration, history.options, asking.inference_asked),
        features=asking.features,
    )
