"""The clients over the real API, in this process or deployed."""

from collections.abc import Iterator
from typing import cast

import httpx
import pytest

from conversation_memory import AsyncClient, Client
from tests.bed.awaited import Awaited
from tests.bed.in_process import Api
from tests.bed.served import Served
from tests.integration.conftest import api, clock, lagging, own_dynamodb, store

__all__ = ["api", "clock", "lagging", "own_dynamodb", "store"]

collect_ignore = ["frameworks", "tables"]  # in an environment of their own: test_frameworks.py, test_tables.py


@pytest.fixture
def served(api: Api) -> Served:
    return Served(api)


@pytest.fixture
def memory(request: pytest.FixtureRequest, served: Served) -> Iterator[Client]:
    """A client of the API in this process: the one that blocks, or if it is asked for the other in its shape."""
    if getattr(request, "param", "blocking") == "awaited":
        awaited = Awaited(request.getfixturevalue("async_memory"))
        yield cast(Client, awaited)
        awaited.close()
        return
    with httpx.Client(transport=served) as http:
        yield Client("http://memory", http=http)


@pytest.fixture
def async_memory(served: Served) -> AsyncClient:
    return AsyncClient("http://memory", http=httpx.AsyncClient(transport=served))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have slept, each time."""
    slept: list[float] = []
    monkeypatch.setattr("conversation_memory.client.time.sleep", slept.append)
    return slept
