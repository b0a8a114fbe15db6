"""Listing conversations exactly by their last activity."""

from typing import Any

import pytest

from conversations.amending import InteractionChange, change_interaction
from conversations.clock import to_timestamp
from conversations.memories import memories
from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.integration.conftest import TestClock


@pytest.fixture
def alice(lagging: LaggingStore, clock: TestClock) -> Api:
    api = Api(lagging, clock, auth="jwt")
    api.as_user("alice")
    return api


def _ids(store: Any, clock: TestClock, owner: str | None, offset: int = 0, limit: int = 100) -> list[str]:
    return [one.id for one in memories(store, clock, owner, offset=offset, limit=limit, caller="alice")]


@pytest.mark.parametrize("owner", ["alice", None])
def test_the_order_is_that_of_the_present_whatever_the_index_has(
    alice: Api, lagging: LaggingStore, clock: TestClock, owner: str | None
) -> None:
    made = [alice.create(name=str(place)) for place in range(5)]
    assert _ids(lagging, clock, owner) == made[::-1]
    lagging.stop_listing_at_present("alice", to_timestamp(clock.now_ns())[:7])

    message = alice.say(made[1], "moves it")
    alice.call("PATCH", f"/conversations/{made[0]}", {"name": "moves it, too"})
    alice.call("DELETE", f"/conversations/{made[3]}")
    new = alice.create()
    change_interaction(lagging, clock, owner=None, message_id=message["id"], change=InteractionChange(response="r"))

    assert _ids(lagging, clock, owner) == [new, made[0], made[1], made[4], made[2]]
    assert _ids(lagging, clock, owner, 1, 3) == [made[0], made[1], made[4]]
    assert _ids(lagging, clock, owner, 5, 3) == []
    assert _ids(lagging, clock, "bob") == []
    [renamed] = memories(lagging, clock, owner, offset=1, limit=1, caller="alice")
    assert renamed.about is not None
    assert renamed.about.name == "moves it, too"


def test_an_expired_one_is_not_listed(alice: Api, lagging: LaggingStore, clock: TestClock) -> None:
    alice.create(ttlDays=1)
    kept = alice.create(ttlDays=3)
    clock.offset_s += 2 * 24 * 3600

    assert _ids(lagging, clock, "alice") == [kept]
