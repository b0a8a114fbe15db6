"""Every call of AWS in turn meets a fault, between botocore and the engine: what is asked is counted, and one call, or
all from one on, go wrong.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session

from tests.bed.faults import Fault, answering

_THROTTLED = {"s3": (503, "SlowDown")}


def _error(status: int, code: str, service: str) -> Callable[[Any], AWSResponse]:
    if service == "s3":
        return answering(status, "application/xml", f"<Error><Code>{code}</Code><Message>x</Message></Error>")
    return answering(status, "application/x-amz-json-1.0", f'{{"__type": "x#{code}", "message": "x"}}')


def throttled(service: str) -> Fault:
    return _error(*_THROTTLED.get(service, (400, "ThrottlingException")), service)


def failed(service: str) -> Fault:
    return _error(500, "InternalError" if service == "s3" else "InternalServerError", service)


def unavailable(service: str) -> Fault:
    """As a load balancer says it, in its own words."""
    return answering(503, "text/html", "<html><body>Service Unavailable</body></html>")


def reset(service: str) -> Fault:
    def fault(request: Any) -> Any:
        raise ConnectionClosedError(endpoint_url=request.url)

    return fault


def lost(service: str) -> Fault:
    """It is carried out, and the connection is closed instead of an answer."""

    def fault(request: Any) -> Any:
        URLLib3Session().send(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    return fault


def late(service: str) -> Fault:
    """It is carried out, and the answer comes after the time-out."""

    def fault(request: Any) -> Any:
        URLLib3Session().send(request)
        raise ReadTimeoutError(endpoint_url=request.url)

    return fault


KINDS: dict[str, Callable[[str], Fault]] = {
    "throttled": throttled,
    "failed": failed,
    "unavailable": unavailable,
    "reset": reset,
    "lost": lost,
    "late": late,
}


class Injector:
    """Stands in the way of clients: counts their calls, and lets some of them go wrong."""

    def __init__(self, *clients: Any) -> None:
        self.calls: list[str] = []
        self.injected = 0
        self._wrong = range(0)
        self._kind: Callable[[str], Fault] = failed
        for client in clients:
            service = client.meta.service_model.service_name
            client.meta.events.register(f"before-send.{service}", self._hook)

    @contextmanager
    def wrong(self, kind: Callable[[str], Fault], numbers: range) -> Iterator[None]:
        """Let the calls of these numbers, counted from here, go wrong."""
        self.calls, self._kind, self._wrong = [], kind, numbers
        try:
            yield
        finally:
            self._wrong = range(0)

    def _hook(self, request: Any, event_name: str, **_others: Any) -> Any:
        service, operation = event_name.split(".")[1:]
        number = len(self.calls)
        self.calls.append(f"{service}.{operation}")
        if number not in self._wrong:
            return None
        self.injected += 1
        return self._kind(service)(request)
