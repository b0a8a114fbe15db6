"""The clients inside the frameworks, on a service that somebody else has started: its address is in the environment."""

import os
import uuid
from collections.abc import Callable, Iterator

import pytest
from langchain_core.messages import BaseMessage

from conversation_memory import AsyncClient, Client
from conversation_memory.langchain import ConversationMemoryHistory

API_URL = os.environ["MEMORY_URL"]


@pytest.fixture(scope="session")
def memory() -> Iterator[Client]:
    with Client(API_URL) as client:
        yield client


@pytest.fixture
def session_id() -> str:
    """A name that nobody has used yet."""
    return f"session {uuid.uuid4()}"


@pytest.fixture
def async_memory() -> AsyncClient:
    return AsyncClient(API_URL)


@pytest.fixture
def history(memory: Client, session_id: str) -> ConversationMemoryHistory:
    return ConversationMemoryHistory(session_id, memory)


@pytest.fixture
def kept(history: ConversationMemoryHistory) -> Callable[[BaseMessage], BaseMessage]:
    """A message as it comes back."""

    def keep(message: BaseMessage) -> BaseMessage:
        history.add_messages([message])
        return history.messages[-1]

    return keep
