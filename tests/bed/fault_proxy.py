"""Faults of AWS between the deployed functions and the emulator, by operation."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.bed.forwarder import Passed, Passing, Way

LATE_S = 3.5  # longer than any time-out of the functions' clients for data

_HELD_AT_MOST_S = 30.0


def operation_of(request: Passing) -> str:
    """As `dynamodb.GetItem`, from what the SDKs put on the wire."""
    if target := request.header("x-amz-target"):
        service, _, operation = target.partition(".")
        return f"{'sqs' if service == 'AmazonSQS' else 'dynamodb'}.{operation}"
    url = urlsplit(request.path)
    if url.path.endswith("/invocations"):
        return "lambda.Invoke"
    is_bucket = url.path.strip("/").count("/") == 0
    if is_bucket:
        return {"GET": "s3.ListObjectsV2", "POST": "s3.DeleteObjects"}.get(request.method, "s3")
    return {"GET": "s3.GetObject", "PUT": "s3.PutObject", "DELETE": "s3.DeleteObject"}.get(request.method, "s3")


def throttled(operation: str) -> Way:
    service = operation.partition(".")[0]
    code = {"s3": "SlowDown", "lambda": "TooManyRequestsException"}.get(service, "ThrottlingException")
    return _answering({"s3": 503, "lambda": 429}.get(service, 400), code, service)


def failed(operation: str) -> Way:
    service = operation.partition(".")[0]
    code = {"s3": "InternalError", "lambda": "ServiceException"}.get(service, "InternalServerError")
    return _answering(500, code, service)


def unavailable(operation: str) -> Way:
    """As a load balancer says it."""
    page = Passed(503, [("content-type", "text/html")], b"<html><body>Service Unavailable</body></html>")
    return lambda usual: page


def reset(operation: str) -> Way:
    return lambda usual: None


def lost(operation: str) -> Way:
    """It is carried out, and the connection closed instead of an answer."""

    def way(usual: Callable[[], Passed | None]) -> None:
        usual()

    return way


def late(operation: str) -> Way:
    """It is carried out, and the answer comes when nobody waits for it any more."""

    def way(usual: Callable[[], Passed | None]) -> Passed | None:
        answer = usual()
        time.sleep(LATE_S)
        return answer

    return way


def _answering(status: int, code: str, service: str) -> Way:
    if service == "s3":
        body, kind = f"<Error><Code>{code}</Code><Message>injected</Message></Error>", "application/xml"
    else:
        body, kind = f'{{"__type": "injected#{code}", "message": "injected"}}', "application/x-amz-json-1.0"
    headers = [("content-type", kind), ("x-amzn-errortype", code)]
    return lambda usual: Passed(status, headers, body.encode())


@dataclass(frozen=True)
class Held:
    """A call that waits, before or after it is carried out, until it is released; then the connection is cut."""

    is_carried_out: bool
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self, operation: str) -> Way:
        def way(usual: Callable[[], Passed | None]) -> None:
            if self.is_carried_out:
                usual()
            self.reached.set()
            self.released.wait(_HELD_AT_MOST_S)

        return way


KINDS: dict[str, Callable[[str], Way]] = {
    "throttled": throttled,
    "failed": failed,
    "unavailable": unavailable,
    "reset": reset,
    "lost": lost,
    "late": late,
}


class Faults:
    """Which calls go wrong, and how. `injected` counts those that did, by operation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """From now on nothing goes wrong."""
        with self._lock:
            self._kind: Callable[[str], Way] = failed
            self._left: dict[str, float] = defaultdict(float)
            self.injected: Counter[str] = Counter()

    def first_of_each(self, kind: str, times: int = 1) -> None:
        """The next calls of every operation go wrong."""
        with self._lock:
            self._kind, self._left = KINDS[kind], defaultdict(lambda: float(times))

    def down(self, operation: str, kind: str) -> None:
        """An operation goes wrong until further notice."""
        with self._lock:
            self._kind = KINDS[kind]
            self._left[operation] = float("inf")

    def hold(self, operation: str, held: Held) -> None:
        """Hold the next call of an operation."""
        with self._lock:
            self._kind = held
            self._left[operation] = 1

    def detour(self, request: Passing) -> Way | None:
        operation = operation_of(request)
        with self._lock:
            if not self._left[operation]:
                return None
            self._left[operation] -= 1
            self.injected[operation] += 1
            return self._kind(operation)
