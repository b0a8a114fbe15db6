"""What listing an owner's conversations takes: it follows the page, not how many there are."""

import pytest

from tests.bench.metered import Metered, Usage

pytestmark = pytest.mark.slow

PAGE = 20


def _listed(service: Metered) -> Usage:
    return service.usage(lambda: service.request("GET", "/conversations", limit=PAGE))


def test_a_page_costs_the_same_however_many_conversations_there_are(service: Metered) -> None:
    def make(number: int) -> None:
        for _ in range(number):
            service.request("POST", "/conversations", {"name": "a name of usual length"})
        service.wait(180)  # those of the last minute are read besides

    make(PAGE + 1)
    few = _listed(service)
    make(3 * PAGE)
    many = _listed(service)

    assert (many.calls, many.read_units) == (few.calls, few.read_units)
    assert few.calls <= 3
    assert few.read_units <= PAGE + 6


def test_creating_a_conversation_costs_little(service: Metered) -> None:
    usage = service.usage(lambda: service.request("POST", "/conversations", {"name": "a name"}))

    assert usage.calls == 1
    assert usage.write_units <= 6
