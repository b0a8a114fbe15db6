"""Another service to move conversations into, beside the one that the tests of clients have."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conversation_memory import Client
from conversation_memory.moving.exporting import export
from conversation_memory.moving.formats import JsonLines
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.objects import Objects
from tests.bed.in_process import Api
from tests.bed.served import Served
from tests.bed.tables import fresh_tables
from tests.integration.conftest import TestClock


@pytest.fixture
def other_served(dynamodb: Any, s3: Any, clock: TestClock) -> Iterator[Served]:
    with fresh_tables(dynamodb, s3) as tables:
        names = TableNames(tables.messages, tables.conversations)
        yield Served(Api(DynamoStore(dynamodb, names, Objects(lambda: s3, tables.bodies), clock), clock))


@pytest.fixture
def other(other_served: Served) -> Iterator[Client]:
    """A client of another service, where nothing is yet."""
    with httpx.Client(transport=other_served) as http:
        yield Client("http://other", http=http)


@pytest.fixture
def written_down(memory: Client, tmp_path: Path) -> Callable[..., Path]:
    """All conversations of the first service, in a file."""

    def write(**options: Any) -> Path:
        path = tmp_path / "conversations.jsonl"
        with path.open("w") as file:
            export(memory, JsonLines(), file.write, **options)
        return path

    return write
