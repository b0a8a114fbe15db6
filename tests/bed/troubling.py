"""A loopback proxy between a client and the API that makes trouble: every request is done, and then its answer is lost,
late, reset, or replaced by an excuse.
"""

import socket
import struct
import time
from collections import deque
from collections.abc import Callable

from tests.bed.forwarder import Forwarder, Passed, Passing

Trouble = Callable[[Passed], Passed | None]
_RESET = struct.pack("ii", 1, 0)
"""Linger for no time: closing sends a reset."""


class Troubler(Forwarder):
    """The answers meet the troubles in their order; those after them pass, and so does what browsers ask beforehand."""

    def __init__(self) -> None:
        super().__init__()
        self.troubles: deque[Trouble] = deque()
        self.statuses: list[int] = []

    def on_answer(self, request: Passing, answer: Passed) -> Passed | None:
        if request.method == "OPTIONS":
            return answer
        with self.lock:
            self.statuses.append(answer.status)
            trouble = self.troubles.popleft() if self.troubles else None
        return trouble(answer) if trouble else answer

    def on_cut(self, connection: socket.socket) -> None:
        if len(self.statuses) % 2:  # one is closed in order, the next is reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def cut(answer: Passed) -> None:
    """The connection ends."""


def slow(seconds: float) -> Trouble:
    """It comes later than anybody waits."""

    def trouble(answer: Passed) -> Passed:
        time.sleep(seconds)
        return answer

    return trouble


def excused(status: int, retry_after_s: int | None = None) -> Trouble:
    """Something between says that it cannot."""
    headers = [("content-type", "application/json")]
    if retry_after_s is not None:
        headers.append(("retry-after", str(retry_after_s)))
    return lambda _: Passed(status, headers, b'{"message": "no"}')
