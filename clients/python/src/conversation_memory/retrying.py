"""When a request is sent again, and after how long.

Every request may be: those that write carry an idempotency key, made once per call, or are of a kind that repeats
without harm.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from conversation_memory.errors import ApiError, ConversationMemoryError, NoAnswerError, error_of
from conversation_memory.steps import Answer, Lost, Request, Send, Sleep, Steps, T

_AGAIN = frozenset((429, 502, 503, 504))
_NOT_FOUND = 404
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 8.0


@dataclass(frozen=True)
class Policy:
    """How often a request is sent at most, and how long a service may ask to wait before that is given up."""

    attempts: int = 5
    longest_retry_after_s: float = 60.0

    def wait_s(self, attempt: int, retry_after_s: float | None) -> float | None:
        """How long to wait after this attempt (1, 2, 3); ``None`` if it was the last."""
        if attempt >= self.attempts or (retry_after_s or 0) > self.longest_retry_after_s:
            return None
        backoff: float = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempt - 1))
        jittered = backoff * random.uniform(0.5, 1)  # noqa: S311 - spreads callers, guards nothing
        return max(jittered, (retry_after_s or 0) + jittered / 4) if retry_after_s else jittered


def driven(steps: Steps[T], policy: Policy) -> Steps[T]:
    """The steps with every request replaced by as many ``Send`` and ``Sleep`` as it takes.

    What goes wrong is raised where the request was made, so that an operation can make up for it.
    """
    try:
        step = next(steps)
        while True:
            if not isinstance(step, Request):
                step = steps.send((yield step))
                continue
            try:
                answer = yield from answered(step, policy)
            except ConversationMemoryError as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as done:
        returned: T = done.value
        return returned
    finally:
        steps.close()


def answered(request: Request, policy: Policy) -> Steps[Answer]:
    """The answer to a request that is sent until there is one.

    Raises:
        ApiError: the API refuses.
        NoAnswerError: no attempt was answered.
    """
    may_be_done = False
    attempt = 0
    while True:
        attempt += 1
        reply = yield Send(request)
        if isinstance(reply, Answer) and reply.status not in _AGAIN:
            return _settled(request, reply, may_be_done)
        may_be_done = may_be_done or not isinstance(reply, Lost) or reply.was_sent
        retry_after_s = _retry_after_s(reply.headers) if isinstance(reply, Answer) else None
        wait_s = policy.wait_s(attempt, retry_after_s)
        if wait_s is None:
            raise _given_up(reply, attempt, retry_after_s)
        yield Sleep(wait_s)


def _settled(request: Request, answer: Answer, may_be_done: bool) -> Answer:
    if answer.status < 400:
        return answer
    if answer.status == _NOT_FOUND and request.is_removal and may_be_done:
        return Answer(204, {}, b"")  # an earlier attempt removed it, and its answer was lost
    raise error_of(answer.status, answer.body)


def _given_up(reply: Answer | Lost, attempts: int, retry_after_s: float | None) -> ApiError | NoAnswerError:
    if isinstance(reply, Answer):
        return error_of(reply.status, reply.body, retry_after_s=retry_after_s)
    return NoAnswerError(f"No answer in {attempts} attempts: {reply.reason}")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The header ``Retry-After``: seconds, or the time of the day."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
