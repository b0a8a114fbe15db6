"""A loopback proxy between the functions and MiniStack's Lambda endpoint that remembers every invocation.

The API function calls it (`AWS_ENDPOINT_URL_LAMBDA`), so the payload it keeps is the descriptor on its way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from tests.bed.forwarder import Forwarder, Passed, Passing, Way


@dataclass(frozen=True)
class Invocation:
    """One call of Lambda's Invoke, as it left the caller."""

    function_name: str
    invocation_type: str
    payload: bytes
    status: int


class LambdaRecorder(Forwarder):
    """Forwards everything unchanged."""

    def __init__(self, detour: Callable[[Passing], Way | None] = lambda _: None) -> None:
        super().__init__(detour)
        self._invocations: list[Invocation] = []

    def reset(self) -> None:
        """Forget what was recorded."""
        with self.lock:
            self._invocations.clear()

    @property
    def invocations(self) -> list[Invocation]:
        """What was invoked since the last reset, oldest first."""
        with self.lock:
            return list(self._invocations)

    def on_answer(self, request: Passing, answer: Passed) -> Passed:
        if request.path.split("?")[0].endswith("/invocations"):
            name = unquote(request.path.split("/functions/")[1].split("/")[0])
            kind = request.header("x-amz-invocation-type") or "RequestResponse"
            with self.lock:
                self._invocations.append(Invocation(name, kind, request.body, answer.status))
        return answer
