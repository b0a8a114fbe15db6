"""A loopback proxy between a client and the API that loses answers: the request is done, and nobody hears of it."""

from tests.bed.forwarder import Forwarder, Passed, Passing


class Cutter(Forwarder):
    """Cuts every connection instead of answering, once the answer is there."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[int] = []

    def on_answer(self, request: Passing, answer: Passed) -> None:
        with self.lock:
            self.lost.append(answer.status)
