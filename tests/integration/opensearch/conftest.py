"""The dialect over one store: as somebody without security, and as users with it."""

from collections.abc import Iterator
from typing import Any

import pytest

from conversations.dynamo import DynamoStore
from conversations.dynamo import Tables as TableNames
from conversations.objects import Objects
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.opensearch import Cluster
from tests.bed.tables import fresh_tables
from tests.integration.conftest import TestClock


@pytest.fixture
def cluster(api: Api) -> Cluster:
    """Security is off."""
    return Cluster(api)


def _user(lagging: LaggingStore, clock: TestClock, name: str, groups: str = "[]") -> Cluster:
    api = Api(lagging, clock, auth="jwt")
    api.as_user(name, groups)
    return Cluster(api)


@pytest.fixture
def alice(lagging: LaggingStore, clock: TestClock) -> Cluster:
    return _user(lagging, clock, "alice")


@pytest.fixture
def bob(lagging: LaggingStore, clock: TestClock) -> Cluster:
    return _user(lagging, clock, "bob")


@pytest.fixture
def root(lagging: LaggingStore, clock: TestClock) -> Cluster:
    """A member of the administrators' group."""
    return _user(lagging, clock, "root", "[admin]")


@pytest.fixture(scope="module")
def shared(dynamodb: Any, s3: Any) -> Iterator[Cluster]:
    """Security is off, and the memories of the module's other tests are there: for tests of what their own hold."""
    with fresh_tables(dynamodb, s3) as tables:
        clock, names = TestClock(), TableNames(tables.messages, tables.conversations)
        store = DynamoStore(dynamodb, names, Objects(lambda: s3, tables.bodies), clock)
        yield Cluster(Api(LaggingStore(store), clock))
