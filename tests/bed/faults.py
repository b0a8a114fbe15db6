"""Faults of DynamoDB, injected between botocore and the engine."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError
from botocore.httpsession import URLLib3Session

Fault = Callable[[Any], Any]


def fail_first(client: Any, operation: str, times: int, fault: Fault) -> list[int]:
    """Answer the first calls of an operation in place of the engine; returns a list with an entry for each."""
    failed: list[int] = []

    def hook(request: Any, **_: Any) -> Any:
        if len(failed) < times:
            failed.append(1)
            return fault(request)
        return None

    client.meta.events.register(f"before-send.dynamodb.{operation}", hook)
    return failed


def service_error(code: str, reasons: list[str] | None = None) -> Fault:
    """An error of the service, with the reasons of a canceled transaction if any are given."""
    document: dict[str, Any] = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code}
    if reasons:
        document["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return answering(400, "application/x-amz-json-1.0", json.dumps(document))


def answering(status: int, content_type: str, body: str) -> Callable[[Any], AWSResponse]:
    """An answer in the place of the engine's."""
    headers = {"content-type": content_type}
    return lambda request: AWSResponse(request.url, status, headers, _Body(body.encode()))


def write_and_hang_up(request: Any) -> Any:
    """The request is carried out, and its answer lost."""
    URLLib3Session().send(request)
    raise ConnectionClosedError(endpoint_url=request.url)


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._data
