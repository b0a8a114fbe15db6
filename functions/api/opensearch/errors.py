"""Errors as OpenSearch answers them: a type in snake case, a reason, and the status once more in the body."""

from collections.abc import Mapping
from typing import Any

from api.errors import UnauthorizedError, status_of
from conversations.errors import BusyError, InvalidRequestError, ServiceError, TooLargeError

MEMORY_INDEX = ".plugins-ml-memory-meta"
MESSAGE_INDEX = ".plugins-ml-memory-message"
RETRY_AFTER_S = 1


class DialectError(Exception):
    """A request that ends in this answer; ``None`` for a body is empty text."""

    def __init__(self, status: int, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body
        self.headers = headers or {}


def failure(status: int, type_: str, reason: str, **more: Any) -> DialectError:
    """An exception of OpenSearch; ``more`` stands beside type and reason."""
    cause = {"type": type_, "reason": reason, **more}
    return DialectError(status, {"error": {"root_cause": [cause], **cause}, "status": status})


def plain(status: int, message: str, headers: Mapping[str, str] | None = None) -> DialectError:
    """What OpenSearch says before any handler is called."""
    return DialectError(status, {"error": message, "status": status}, headers)


def no_handler(method: str, uri: str) -> DialectError:
    """The answer to a path that means nothing; it alone repeats no status."""
    return DialectError(400, {"error": f"no handler found for uri [{uri}] and method [{method}]"})


def illegal_argument(reason: str) -> DialectError:
    """What a value gets that cannot be."""
    return failure(400, "illegal_argument_exception", reason)


def parse_error(reason: str) -> DialectError:
    """What a body gets that a handler of the plugin cannot read."""
    return failure(400, "parse_exception", reason)


def parsing_error(reason: str) -> DialectError:
    """What a body gets whose JSON is not of the form that is expected. Where in the text is not known any more."""
    return failure(400, "parsing_exception", reason, line=1, col=1)


def invalid(*complaints: str) -> DialectError:
    """What a request gets that was read, and then validated."""
    numbered = "".join(f"{number}: {complaint};" for number, complaint in enumerate(complaints, start=1))
    return failure(400, "action_request_validation_exception", f"Validation Failed: {numbered}")


def not_found(reason: str) -> DialectError:
    """What an id gets that stands for nothing."""
    return failure(404, "resource_not_found_exception", reason)


def no_access(user: str, kind: str, id_: str) -> DialectError:
    """What somebody gets who is not the owner."""
    return failure(401, "status_exception", f"User [{user}] does not have access to {kind} {id_}")


def shards_failed(index: str, type_: str, reason: str) -> DialectError:
    """What a search gets that is refused where the documents are."""
    cause: dict[str, Any] = {"type": type_, "reason": reason}
    if type_ == "query_shard_exception":
        cause |= {"index": index, "index_uuid": "_na_"}
    error = {
        "root_cause": [cause],
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "phase": "query",
        "grouped": True,
        "failed_shards": [{"shard": 0, "index": index, "node": "_na_", "reason": cause}],
    }
    if type_ == "illegal_argument_exception":
        error["caused_by"] = {**cause, "caused_by": cause}
    return DialectError(400, {"error": error, "status": 400})


def of_service(error: ServiceError) -> DialectError:
    """An error of the domain, or of what all routes share, in this dialect.

    Busy is 429 here and not 503: clients of OpenSearch send any request again by themselves after a 502, 503 or 504,
    and a POST that was done after all would be done twice.
    """
    if isinstance(error, BusyError):
        busy = failure(429, "rejected_execution_exception", error.message)
        return DialectError(busy.status, busy.body, {"Retry-After": str(RETRY_AFTER_S)})
    kinds = {
        TooLargeError: "content_too_long_exception",
        InvalidRequestError: "illegal_argument_exception",
        UnauthorizedError: "security_exception",
    }
    type_ = next((type_ for kind, type_ in kinds.items() if isinstance(error, kind)), "status_exception")
    status = status_of(error)
    return internal() if status == 500 else failure(status, type_, error.message)


def internal() -> DialectError:
    """A fault of ours; nothing internal is said of it."""
    return failure(500, "exception", "Something went wrong here.")
