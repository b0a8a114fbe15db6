"""The queue of what is to be cleaned."""

from collections.abc import Callable
from typing import Any

from conversations.aws_errors import reading


class SqsQueue:
    """Implements ``worker.Queue``."""

    def __init__(self, client: Callable[[], Any], url: str) -> None:
        """``client`` gives the client when it is first needed: most messages are taken, not sent."""
        self._client = client
        self._url = url

    def send(self, body: str) -> None:
        with reading():
            self._client().send_message(QueueUrl=self._url, MessageBody=body)
