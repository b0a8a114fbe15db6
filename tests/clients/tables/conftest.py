"""Tables of LangChain's own classes, of Python and of JavaScript, beside the real API in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest

from conversation_memory import Client
from conversation_memory.langchain import ConversationMemoryHistory
from conversation_memory.moving.langchain_tables import LangChainTable
from infra.local.environment import aws_settings
from tests.bed import node_packages
from tests.clients.conftest import api, clock, lagging, memory, own_dynamodb, served, store

__all__ = ["api", "clock", "lagging", "memory", "own_dynamodb", "served", "store"]

Shown = Callable[..., Any]


@pytest.fixture
def table(own_dynamodb: Any) -> Iterator[Callable[..., str]]:
    """Makes tables with such a key."""
    made = []

    def create(*key: str) -> str:
        name = f"Histories{uuid4().hex}"
        own_dynamodb.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": attribute, "KeyType": kind}
                for attribute, kind in zip(key, ("HASH", "RANGE"), strict=False)
            ],
            AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": "S"} for attribute in key],
            BillingMode="PAY_PER_REQUEST",
        )
        made.append(name)
        return name

    yield create
    for name in made:
        own_dynamodb.delete_table(TableName=name)


@pytest.fixture
def source(own_dynamodb: Any) -> Callable[..., LangChainTable]:
    """A table as a source."""

    def of(name: str, **options: Any) -> LangChainTable:
        return LangChainTable(name, client=own_dynamodb, **options)

    return of


@pytest.fixture
def python_session(dynamodb_endpoint: str) -> dict[str, Any]:
    """What Python's class needs to find the engine."""
    return {"boto3_session": boto3.Session(), "endpoint_url": dynamodb_endpoint}


@pytest.fixture
def javascript(dynamodb_endpoint: str, tmp_path: Path) -> Callable[..., list[Any]]:
    """Has JavaScript's class write histories; returns what it gives back of each."""
    program = node_packages.TESTS / "histories.mjs"
    folder = node_packages.workplace(tmp_path, program)

    def write(table: str, sessions: list[dict[str, Any]], **options: Any) -> list[Any]:
        asked = json.dumps({"table": table, "options": options, "sessions": sessions})
        variables = {**aws_settings(), "AWS_ENDPOINT_URL": dynamodb_endpoint}
        given: list[Any] = json.loads(node_packages.run(folder / program.name, variables=variables, said=asked))
        return given

    return write


@pytest.fixture
def kept(memory: Client) -> Callable[[str], list[Any]]:
    """The messages of a session in the service."""
    return lambda session_id: ConversationMemoryHistory(session_id, memory).messages
