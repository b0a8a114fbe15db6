"""What all routes share: the request as they read it, and the answers as they give them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api import parameters
from api.identity import Caller, identify
from api.memory import Memory
from api.router import Answer, Event
from api.strict_json import read_object
from conversations.codec import to_json

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """The request in hand: who calls, and what is sent."""

    caller: Caller
    query: Mapping[str, str]
    headers: Mapping[str, str]
    event: Event

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        return read_object(self.event)

    @property
    def key(self) -> str | None:
        """The idempotency key, if one was sent."""
        return parameters.idempotency_key(self.headers)


class Routes:
    """A group of routes, whose handlers each take an event."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def request(self, event: Event, *known_parameters: str) -> Request:
        """The request of an event, which may have these query parameters and no others.

        Raises:
            UnauthorizedError, InvalidRequestError: see ``identity.identify`` and ``parameters.known_parameters``.
        """
        caller = identify(event, self.memory.auth)
        query = event.get("queryStringParameters") or {}
        parameters.known_parameters(query, *known_parameters)
        return Request(caller, query, event.get("headers") or {}, event)


def answer(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON that is not ASCII-escaped."""
    return json_answer(status, to_json(body), headers)


def json_answer(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer whose JSON is written already."""
    return _answer(status, text, {"Content-Type": JSON, **(headers or {})})


def no_content() -> Answer:
    """An answer that says by its status alone that it is done."""
    return _answer(204, "", {})


def _answer(status: int, text: str, headers: Mapping[str, str]) -> Answer:
    return {"statusCode": status, "headers": dict(headers), "body": text, "isBase64Encoded": False}
