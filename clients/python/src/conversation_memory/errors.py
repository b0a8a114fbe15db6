"""What can go wrong, by name.

ConversationMemoryError
├── ApiError                     the API refused; by status, and below that by code
│   ├── InvalidRequestError          400
│   │   └── InvalidCursorError
│   ├── UnauthorizedError            401
│   ├── ForbiddenError               403
│   ├── NotFoundError                404: missing, deleted, expired or somebody else's
│   │   └── CurrentMessageNotFoundError
│   ├── ConflictError                409
│   │   ├── AlreadyAnsweredError
│   │   ├── ConversationDeletedError
│   │   └── TurnStateError
│   ├── TooLargeError                413
│   ├── UnprocessableError           422
│   │   ├── IdempotencyMismatchError
│   │   ├── OrphanToolResultError
│   │   └── EmptyMessageError
│   ├── ThrottledError               429
│   └── ServerError                  5xx
│       └── BusyError                503
├── NoAnswerError                no answer came, in every attempt
├── BadAnswerError               an answer that is not of the API: a proxy, or a wrong address
├── TurnFailedError              the turn failed or was cancelled
├── FollowTimeoutError           the turn had not ended in the time that was given
├── UnstorableError              a value that could not be given back as it is (also a TypeError)
├── ClosedError                  the client, or the session, is closed (also a RuntimeError)
└── MissingExtraError            an optional part is not installed (also an ImportError)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ConversationMemoryError(Exception):
    """Anything that this package raises by itself."""


class ApiError(ConversationMemoryError):
    """The API answered with an error.

    ``code`` is stable and for programs (``None`` for an answer of the gateway), ``message`` for people, ``field`` names
    what of the request it is about, ``request_id`` finds the request in the service's logs, ``retry_after_s`` says when
    asking again makes sense.
    """

    def __init__(
        self,
        status: int,
        code: str | None,
        message: str,
        *,
        field: str | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.request_id = request_id
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        about = f" ({self.field})" if self.field else ""
        request = f" [request {self.request_id}]" if self.request_id else ""
        return f"{self.status} {self.code or 'from the gateway'}{about}: {self.message}{request}"


class InvalidRequestError(ApiError):
    """The request breaks a rule."""


class InvalidCursorError(InvalidRequestError):
    """The cursor belongs to another query, or what it points into is gone."""


class UnauthorizedError(ApiError):
    """No token or signature, or none that is valid."""


class ForbiddenError(ApiError):
    """The caller is known and may not do this."""


class NotFoundError(ApiError):
    """There is no such thing, or it is not the caller's."""


class CurrentMessageNotFoundError(NotFoundError):
    """The message that a history is about does not exist."""


class ConflictError(ApiError):
    """The state of things does not allow it."""


class AlreadyAnsweredError(ConflictError):
    """The message has an answer already."""


class ConversationDeletedError(ConflictError):
    """The idempotency key made a conversation that has been deleted since."""


class TurnStateError(ConflictError):
    """The turn is in a state that does not allow it."""


class TooLargeError(ApiError):
    """More than fits; the message says the limit."""


class UnprocessableError(ApiError):
    """Well-formed, but it cannot be worked on."""


class IdempotencyMismatchError(UnprocessableError):
    """The key was used before for another request."""


class OrphanToolResultError(UnprocessableError):
    """The current message holds a tool result whose tool use is nowhere."""


class EmptyMessageError(UnprocessableError):
    """Nothing of the current message can be sent to a model."""


class ThrottledError(ApiError):
    """More requests than the gateway lets through."""


class ServerError(ApiError):
    """The service could not answer."""


class BusyError(ServerError):
    """The service, or what it stands on, has too much to do: ask again later."""


class NoAnswerError(ConversationMemoryError):
    """No answer came, in every attempt. With an idempotency key of your own the same call may be made again safely."""


class BadAnswerError(ConversationMemoryError):
    """The answer is not one of the API."""


class TurnFailedError(ConversationMemoryError):
    """The turn failed or was cancelled. ``turn`` is as the API shows it, with the partial text."""

    def __init__(self, turn: Mapping[str, Any]) -> None:
        error = turn.get("error") or {}
        super().__init__(f"The turn is {turn['status']}: {error.get('message', 'nobody answers it')}")
        self.turn = turn


class FollowTimeoutError(ConversationMemoryError):
    """The turn had not ended in the time that was given. It goes on, and may be followed again."""


class UnstorableError(ConversationMemoryError, TypeError):
    """A value that could not be given back as it is; nothing was stored."""


class ClosedError(ConversationMemoryError, RuntimeError):
    """What is used here has been closed."""


class MissingExtraError(ConversationMemoryError, ImportError):
    """An optional part is used, and what it needs is not installed."""

    def __init__(self, extra: str, needs: str) -> None:
        command = f"pip install 'conversation-memory[{extra}]'"
        super().__init__(f"This needs {needs}, which is not installed: {command}")
        self.extra = extra


_BY_CODE: Mapping[str, type[ApiError]] = {
    kind.__name__.removesuffix("Error"): kind
    for kind in (
        *(InvalidRequestError, InvalidCursorError, UnauthorizedError, ForbiddenError, NotFoundError),
        *(CurrentMessageNotFoundError, AlreadyAnsweredError, ConversationDeletedError, TurnStateError, TooLargeError),
        *(IdempotencyMismatchError, OrphanToolResultError, EmptyMessageError, BusyError),
    )
}
_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: UnprocessableError,
    429: ThrottledError,
    503: BusyError,
}


def error_of(status: int, body: bytes, *, retry_after_s: float | None = None) -> ApiError:
    """The error that an answer tells of: ours by its code, the gateway's by its status."""
    told = _told(body)
    error = told.get("error")
    if not isinstance(error, dict):
        message = str(told.get("message") or body[:200].decode("utf-8", "replace"))
        return _by_status(status)(status, None, message, retry_after_s=retry_after_s)
    code = str(error.get("code"))
    return _BY_CODE.get(code, _by_status(status))(
        status,
        code,
        str(error.get("message")),
        field=error.get("field"),
        request_id=error.get("requestId"),
        retry_after_s=retry_after_s,
    )


def _by_status(status: int) -> type[ApiError]:
    return _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)


def _told(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
