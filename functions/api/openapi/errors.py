"""The errors that operations answer with: ours, by status and code, and those of the gateway before us."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.errors import UnauthorizedError, status_of
from api.openapi.content import schema_ref
from api.openapi.objects import closed
from api.openapi.operations import OPERATIONS, Operation
from conversations.errors import BusyError, InvalidRequestError, ServiceError, TooLargeError

_OF_ALL: tuple[type[ServiceError], ...] = (InvalidRequestError, UnauthorizedError, BusyError, ServiceError)
_GATEWAY: Mapping[int, str] = {
    401: "The gateway finds no token, or none that is valid.",
    403: "The gateway refuses the token's scopes or the signature.",
    413: "The gateway takes no body of more than 10 MB.",
    429: "The gateway lets no more requests through at the moment.",
    500: "The function could not answer.",
    503: "The function did not answer in time.",
}
_GATEWAY_OF_PUBLIC = (429, 500, 503)


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """What one status stands for at an operation: errors of ours, an answer of the gateway, or both."""

    status: int
    kinds: Sequence[type[ServiceError]]

    @property
    def name(self) -> str:
        """What it is called among the document's components."""
        return "Or".join(kind.code for kind in self.kinds) or f"Gateway{self.status}"

    def as_response(self) -> dict[str, Any]:
        told = [f"`{kind.code}`: {_first_line(kind)}" for kind in self.kinds]
        told += [_GATEWAY[self.status]] if self.status in _GATEWAY else []
        schemas = [_ours(self.kinds)] if self.kinds else []
        schemas += [schema_ref("GatewayError")] if self.status in _GATEWAY else []
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        response: dict[str, Any] = {
            "description": " ".join(told),
            "content": {"application/json": {"schema": schema}},
        }
        if BusyError in self.kinds:
            response["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
        return response


def error_answers(operation: Operation) -> list[ErrorAnswer]:
    """The error answers of an operation, by status."""
    by_status: defaultdict[int, list[type[ServiceError]]] = defaultdict(list)
    for kind in _kinds(operation):
        by_status[status_of(kind(""))].append(kind)
    return [ErrorAnswer(status, by_status[status]) for status in sorted({*by_status, *_gateway_statuses(operation)})]


def error_schemas() -> dict[str, Any]:
    """The one shape of our errors, with all codes, and that of the gateway's."""
    codes = sorted({kind.code for operation in OPERATIONS for kind in _kinds(operation)})
    told = {
        "code": {"enum": codes, "description": "Stable, for programs."},
        "message": {"type": "string", "description": "For people."},
        "field": {"type": "string", "description": "What of the request it is about."},
        "requestId": {"type": "string", "description": "By which the request is found in the logs."},
    }
    return {
        "Error": closed({"error": closed(told, optional=("field",))}),
        "GatewayError": closed({"message": {"type": "string"}}, description="What API Gateway itself answers."),
    }


def _kinds(operation: Operation) -> Iterable[type[ServiceError]]:
    if operation.is_public:
        return (ServiceError,)
    return (*_OF_ALL, *([TooLargeError] if operation.body else []), *operation.raises)


def _gateway_statuses(operation: Operation) -> set[int]:
    if operation.is_public:
        return set(_GATEWAY_OF_PUBLIC)
    return {status for status in _GATEWAY if status != 413 or operation.body}


def _ours(kinds: Sequence[type[ServiceError]]) -> dict[str, Any]:
    codes = {"enum": [kind.code for kind in kinds]}
    narrowed = {"properties": {"error": {"properties": {"code": codes}}}}
    return {"allOf": [schema_ref("Error"), narrowed]}


def _first_line(kind: type[ServiceError]) -> str:
    if kind is ServiceError:
        return "A fault of ours."
    return (kind.__doc__ or "").strip().partition("\n")[0]
