"""The client for asyncio in the shape of the one that blocks, so that a test holds for both."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from conversation_memory import AsyncClient


class Awaited:
    """Awaits each method at once, and each item of an iteration when it is asked for."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            returned = method(*arguments, **named)
            is_iteration = inspect.isasyncgen(returned)
            return self._items(returned) if is_iteration else self._loop.run_until_complete(returned)

        return call

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def _items(self, iteration: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                yield self._loop.run_until_complete(anext(iteration))
            except StopAsyncIteration:
                return
