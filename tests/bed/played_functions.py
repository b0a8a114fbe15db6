"""Lambda as the tools meet it: what a function returns or raises comes back as the service's own answer."""

import io
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

Played = Callable[[dict[str, Any]], Any]


class PlayedFunctions:
    """A client of Lambda. ``events`` are what functions were invoked with, by their names."""

    def __init__(self, functions: Mapping[str, Played]) -> None:
        self._functions = functions
        self._lock = threading.Lock()
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, region: str | None, timeout_s: float) -> "PlayedFunctions":
        """The client of any region."""
        return self

    def invoke(self, **request: Any) -> dict[str, Any]:
        name, event = request["FunctionName"], json.loads(request["Payload"])
        with self._lock:
            self.events.append((name, event))
        if name not in self._functions:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "arn:secret"}}, "Invoke")
        try:
            returned = self._functions[name](event)
        except Exception as error:
            told = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": ["secret.py"]}
            return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": _stream(json.dumps(told))}
        return {
            "StatusCode": 200,
            "Payload": _stream(returned if isinstance(returned, bytes) else json.dumps(returned)),
        }


def _stream(payload: str | bytes) -> io.BytesIO:
    return io.BytesIO(payload.encode() if isinstance(payload, str) else payload)
