"""The one table from what went wrong to an HTTP status, and how an error looks on the wire."""

from conversations.errors import (
    BusyError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    ServiceError,
    TooLargeError,
    UnprocessableError,
)


class UnauthorizedError(ServiceError):
    """Nobody says who the caller is."""

    code = "Unauthorized"


class ForbiddenError(ServiceError):
    """The caller is known and may not do this."""

    code = "Forbidden"


_STATUS: dict[type[ServiceError], int] = {
    InvalidRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    TooLargeError: 413,
    UnprocessableError: 422,
    BusyError: 503,
}


def status_of(error: ServiceError) -> int:
    """The HTTP status of an error: that of the nearest class which has one, else 500."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)


def error_body(error: ServiceError, request_id: str) -> dict[str, object]:
    """The error as callers see it; what is not in the table says nothing internal."""
    if status_of(error) == 500:
        return internal_body(request_id)
    told = {"code": error.code, "message": error.message}
    field = {"field": error.field} if error.field else {}
    return {"error": {**told, **field, "requestId": request_id}}


def internal_body(request_id: str) -> dict[str, object]:
    """What callers see of a fault of ours."""
    return {"error": {"code": "Internal", "message": "Something went wrong here.", "requestId": request_id}}
