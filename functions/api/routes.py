"""What all routes share: the request as they read it, and the answers as they give them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from api import parameters
from api.identity import Caller, identify
from api.memory import Memory
from api.strict_json import read_object
from conversations.codec import to_json

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """The request in hand: who calls, and what is sent."""

    caller: Caller
    query: Mapping[str, str]
    headers: Mapping[str, str]
    event: Mapping[str, Any]

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        return read_object(self.event)

    @property
    def key(self) -> str | None:
        """The idempotency key, if one was sent."""
        return parameters.idempotency_key(self.headers)


class Routes:
    """A group of routes on one resolver."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory) -> None:
        self.app = app
        self.memory = memory

    def request(self, *known_parameters: str) -> Request:
        """The request in hand, which may have these query parameters and no others.

        Raises:
            UnauthorizedError, InvalidRequestError: see ``identity.identify`` and ``parameters.known_parameters``.
        """
        event = self.app.current_event
        caller = identify(event.raw_event, self.memory.auth)
        query = event.query_string_parameters or {}
        parameters.known_parameters(query, *known_parameters)
        return Request(caller, query, event.headers, event.raw_event)


def answer(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response[str]:
    """An answer in JSON that is not ASCII-escaped."""
    return json_answer(status, to_json(body), headers)


def json_answer(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response[str]:
    """An answer whose JSON is written already."""
    return Response(status_code=status, content_type=JSON, body=text, headers=dict(headers or {}))


def no_content() -> Response[str]:
    """An answer that says by its status alone that it is done."""
    return Response(status_code=204, body="")
