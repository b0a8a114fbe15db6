"""What can go wrong, by name. Nothing here knows HTTP: the API keeps the one table from error to status.

ServiceError
├── InvalidRequestError      what was sent breaks a rule; names the field
│   └── InvalidCursorError
├── NotFoundError            missing, deleted, expired or somebody else's: they look alike
│   ├── ForeignError             somebody else's
│   ├── MessageNotFoundError     the conversation is there, the message is not
│   └── CurrentMessageNotFoundError
├── ConflictError
│   ├── AlreadyAnsweredError
│   ├── ConversationDeletedError
│   └── TurnStateError
├── TooLargeError
├── UnprocessableError
│   ├── IdempotencyMismatchError
│   ├── OrphanToolResultError
│   └── EmptyMessageError
├── BusyError                tried for as long as is sensible: ask again later
└── ModelError               the model refused or broke off
    ├── ModelUnavailableError   the same request may succeed later
    ├── InputTooLongError       it takes less than it was sent
    └── TurnTimeoutError        the time that a turn may take was over

Signal                       between the store and the use cases, never shown
├── LostPinError             what was read has changed: read again
├── ContendedError           a conflict or a throttle: try again
├── LeasedError              another attempt that may be alive holds the turn
├── SupersededError          the turn is no longer this attempt's to finish
└── AlreadyStoredError       an item of that id stands already
"""


class ServiceError(Exception):
    """An error that callers may see: ``code`` is stable, ``message`` for people, ``field`` names the input."""

    code = "Internal"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidRequestError(ServiceError):
    """The request breaks a rule."""

    code = "InvalidRequest"


class InvalidCursorError(InvalidRequestError):
    """The cursor is malformed, or belongs to another query, or what it points into is gone."""

    code = "InvalidCursor"


class NotFoundError(ServiceError):
    """There is no such thing, or it is not the caller's."""

    code = "NotFound"


class ForeignError(NotFoundError):
    """It is there and is somebody else's. Our own API says what it says of what is missing."""


class MessageNotFoundError(NotFoundError):
    """The conversation is there, and no such message of it."""


class CurrentMessageNotFoundError(NotFoundError):
    """The message that a turn or a history is about does not exist."""

    code = "CurrentMessageNotFound"


class ConflictError(ServiceError):
    """The state of things does not allow it."""


class AlreadyAnsweredError(ConflictError):
    """The message has an answer already."""

    code = "AlreadyAnswered"


class ConversationDeletedError(ConflictError):
    """The idempotency key made a conversation that has been deleted since."""

    code = "ConversationDeleted"


class TurnStateError(ConflictError):
    """The turn is in a state that does not allow it."""

    code = "TurnState"


class TooLargeError(ServiceError):
    """More than fits; the message says the limit."""

    code = "TooLarge"


class UnprocessableError(ServiceError):
    """Well-formed, but it cannot be worked on."""


class IdempotencyMismatchError(UnprocessableError):
    """The key, or the caller's own message id, was used before for another request."""

    code = "IdempotencyMismatch"


class OrphanToolResultError(UnprocessableError):
    """The current message holds a tool result whose tool use is nowhere."""

    code = "OrphanToolResult"


class EmptyMessageError(UnprocessableError):
    """Nothing of the current message can be sent to a model."""

    code = "EmptyMessage"


class BusyError(ServiceError):
    """Too many others write the same, or a service behind is down."""

    code = "Busy"


class ModelError(ServiceError):
    """The model refused the request, or its answer broke off. Asking the same again gives the same."""

    code = "ModelError"


class ModelUnavailableError(ModelError):
    """The model is throttled or down: asking again later may succeed."""

    code = "ModelUnavailable"


class InputTooLongError(ModelError):
    """The prompt is longer than the model takes; ``part`` of it would fit, if the model says so."""

    code = "InputTooLong"

    def __init__(self, message: str, part: float | None = None) -> None:
        super().__init__(message)
        self.part = part


class TurnTimeoutError(ModelError):
    """The answer was not complete when the time was over."""

    code = "Timeout"


class Signal(Exception):  # noqa: N818 - no error of its own: the use case decides what it means
    """Something that a use case handles and no caller sees."""


class LostPinError(Signal):
    """The state that a write was conditional on has changed since it was read."""


class ContendedError(Signal):
    """A write met a conflicting one or a throttle, and nothing was written."""


class LeasedError(Signal):
    """Another attempt that may still be alive answers the message: come back later."""


class SupersededError(Signal):
    """The turn was cancelled, taken over, answered or removed in the meantime."""


class AlreadyStoredError(Signal):
    """An item with this id exists already; nothing was written."""

    def __init__(self, item_id: str) -> None:
        super().__init__(item_id)
        self.item_id = item_id
