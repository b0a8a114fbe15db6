"""The fixtures of the tests with real adapters, for those that go on for longer; and the sum of what was injected."""

import pytest

from tests.integration.conftest import api, clock, lagging, own_dynamodb, store

__all__ = ["api", "clock", "lagging", "own_dynamodb", "store"]

FAULTS = "faults injected"
"""The property of a test in which it tells how many faults it injected."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    told = [dict(report.user_properties).get(FAULTS, 0) for report in terminalreporter.getreports("passed")]
    if any(told):
        terminalreporter.write_line(f"{FAULTS}: {sum(told)}")
