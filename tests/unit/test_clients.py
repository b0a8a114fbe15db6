"""The time that calls of AWS may take fits into that of the API's function."""

from typing import Any

import pytest

from conversations import clients, retrying
from infra.api import TIMEOUT

FUNCTION_S = TIMEOUT.to_seconds()
LAST_TRY_S = retrying.GIVE_UP_AFTER_S + retrying.LONGEST_PAUSE_S
_BACKOFF_BASE_S, _BACKOFF_FACTOR = 1, 2  # botocore.retries.standard: a random part of 1, 2, 4 ... seconds


def _worst_s(config: Any) -> float:
    """How long a call takes when nothing ever answers."""
    tries = config.retries["total_max_attempts"]
    pauses = sum(_BACKOFF_BASE_S * _BACKOFF_FACTOR**number for number in range(tries - 1))
    return float(tries * max(config.connect_timeout, config.read_timeout) + pauses)


def _worst_read_s() -> float:
    """A read of DynamoDB is tried once by a shorter way before."""
    return float(max(clients.DATA.connect_timeout, clients.DATA.read_timeout)) + _worst_s(clients.DATA)


def _row(name: str) -> list[str]:
    (row,) = [line for line in (clients.__doc__ or "").splitlines() if line.startswith(name)]
    return row.removeprefix(name).split()[:5]


def test_what_the_documentation_says_is_so() -> None:
    worst = {"DynamoDB": clients.DATA, "S3": clients.OBJECTS, "Lambda": clients.INVOKE}

    for name, config in worst.items():
        assert config.retries["mode"] == "standard"
        tries, read_s, worst_s = config.retries["total_max_attempts"], config.read_timeout, _worst_s(config)
        assert _row(name) == [str(tries), str(read_s), "s", f"{worst_s:.0f}", "s"]
    tries, read_s = clients.DATA.retries["total_max_attempts"], clients.DATA.read_timeout
    assert _row("... reads") == [str(1 + tries), str(read_s), "s", f"{_worst_read_s():.0f}", "s"]


@pytest.mark.parametrize(
    "seconds",
    [
        # A write is begun again, after a pause and with a read, as long as less than 16 s have passed.
        LAST_TRY_S + _worst_s(clients.DATA),
        LAST_TRY_S + _worst_read_s(),
        # Objects are read in parallel; what was begun when the first failed is waited for.
        _worst_s(clients.OBJECTS) * 2,
        # The turn is started after the message is stored.
        LAST_TRY_S + _worst_s(clients.INVOKE),
        _worst_read_s() + _worst_s(clients.OBJECTS),
    ],
)
def test_a_busy_answer_leaves_before_the_function_is_ended(seconds: float) -> None:
    assert seconds < FUNCTION_S


def test_a_client_is_made_once_for_its_region_and_use() -> None:
    """Making one takes a quarter of a second, and a new one has no connection yet."""
    made = clients.Clients()

    assert made.functions() is made.functions()
    assert made.queues() is made.queues()
    assert made.model(None) is made.model(None)
    assert made.model("eu-west-1") is not made.model(None)
    assert made.tools(None, 5) is made.tools(None, 5)
    assert made.tools(None, 6) is not made.tools(None, 5)
