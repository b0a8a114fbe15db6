"""Budgets are counted, never timed: a change that costs more fails by itself, on every machine alike."""

from collections.abc import Iterator

import pytest

from tests.bench.metered import Metered, metered


@pytest.fixture
def service(dynamodb_endpoint: str) -> Iterator[Metered]:
    """The real handlers over tables of this test's own, behind a meter."""
    with metered(dynamodb_endpoint) as service:
        yield service
