"""The real adapters on a local engine, and the real API and turn over them."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from conversations.clock import NANOSECONDS, SystemClock
from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.objects import Objects
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.strict_dynamodb import be_strict
from tests.bed.tables import Tables


class TestClock(SystemClock):
    """Real time, moved by ``offset_s``; sleeps are short, so that tests need not wait."""

    __test__ = False

    def __init__(self) -> None:
        self.offset_s = 0.0

    def now_ns(self) -> int:
        return super().now_ns() + int(self.offset_s * NANOSECONDS)

    def sleep(self, seconds: float) -> None:
        super().sleep(min(seconds, 0.05))


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def own_dynamodb(dynamodb_endpoint: str) -> Iterator[Any]:
    """A client of this test's own, which it may inject faults into."""
    config = Config(max_pool_connections=64, retries={"mode": "standard", "total_max_attempts": 1})
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint, config=config)
    be_strict(client)
    yield client
    client.close()


@pytest.fixture
def store(own_dynamodb: Any, s3: Any, tables: Tables, clock: TestClock) -> DynamoStore:
    names = TableNames(tables.messages, tables.conversations)
    return DynamoStore(own_dynamodb, names, Objects(lambda: s3, tables.bodies), clock)


@pytest.fixture
def lagging(store: DynamoStore) -> LaggingStore:
    return LaggingStore(store)


@pytest.fixture
def api(lagging: LaggingStore, clock: TestClock) -> Api:
    """The API of one anonymous person, over a store whose index can be made to lag."""
    return Api(lagging, clock)
