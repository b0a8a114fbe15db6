"""The fixtures of the tests with real adapters, for those that go on for longer."""

from tests.integration.conftest import api, clock, lagging, own_dynamodb, store

__all__ = ["api", "clock", "lagging", "own_dynamodb", "store"]
