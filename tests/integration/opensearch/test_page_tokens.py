"""``next_page_token``: beside ``next_token`` when it is asked for, and pages that stay whole while others write."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.bed.opensearch import Cluster


def ids_of(page: Any) -> list[str]:
    return [memory["memory_id"] for memory in page["memories"]]


def listed(cluster: Cluster, size: int, between: Callable[[int], None]) -> list[str]:
    """The ids on all pages; something may happen between one page and the next."""
    found: list[str] = []
    page = cluster.get(max_results=size, next_page_token="")
    pages = 1
    while True:
        assert len(page["memories"]) <= size
        found += ids_of(page)
        assert ("next_page_token" in page) == ("next_token" in page) == (len(page["memories"]) == size)
        if "next_page_token" not in page:
            return found
        assert page["next_token"] == len(found)
        between(pages)
        page = cluster.get(max_results=size, next_page_token=page["next_page_token"])
        pages += 1


def test_it_is_shown_only_to_those_who_ask_for_it(cluster: Cluster) -> None:
    memory_id = cluster.memory()
    cluster.message(memory_id, input="a")

    assert cluster.get(max_results=1).keys() == {"memories", "next_token"}
    assert cluster.get(max_results=1, next_page_token="").keys() == {"memories", "next_token", "next_page_token"}
    assert cluster.get(next_page_token="").keys() == {"memories"}
    messages = cluster.messages(memory_id, max_results=1, next_page_token="")
    assert (messages["next_token"], messages["next_page_token"]) == (1, "MQ")


def test_of_messages_it_is_the_offset(shared: Cluster) -> None:
    memory_id = shared.memory()
    for number in range(7):
        shared.message(memory_id, input=f"{number}")

    def inputs(**query: Any) -> str:
        return "".join(message["input"] for message in shared.messages(memory_id, **query)["messages"])

    assert inputs(max_results=2, next_page_token="Mg") == "23"
    assert inputs(next_page_token="Ng") == "6"
    assert inputs(max_results=2, next_page_token="Mg", next_token=5) == "23"
    assert inputs(max_results=2, next_page_token="", next_token=5) == "56"


@pytest.mark.parametrize("path", ["/messages", "/traces", ""])
@pytest.mark.parametrize(
    "token", ["x", "Mg==", "MDI", "LTE", "Mi41", "映画", "OTk5OTk5OTk5OTk5", "bnVsbA", "W10", "WyJ3MSJd", "A" * 9000]
)
def test_a_token_that_is_none(shared: Cluster, path: str, token: str) -> None:
    memory_id = shared.memory()
    message_id = shared.message(memory_id, input="a")
    whole = {"/messages": f"/{memory_id}/messages", "/traces": f"/message/{message_id}/traces", "": ""}[path]

    refused = shared.refusal("GET", whole, next_page_token=token)

    assert refused == (400, "illegal_argument_exception", f"Invalid next_page_token: {token[:100]}")


def test_a_token_is_of_one_user(alice: Cluster, bob: Cluster) -> None:
    for who in (alice, bob):
        who.memory()
        who.memory()
    token = alice.get(max_results=1, next_page_token="")["next_page_token"]

    assert len(alice.get(next_page_token=token)["memories"]) == 1
    assert bob.refusal("GET", next_page_token=token)[2] == f"Invalid next_page_token: {token[:100]}"


def test_offsets_are_taken_of_memories_too(cluster: Cluster) -> None:
    ids = [cluster.memory() for _ in range(4)]
    assert ids_of(cluster.get(max_results=2, next_page_token="MQ")) == [ids[2], ids[1]]


@pytest.mark.parametrize("size", [1, 3, 4, 50])
def test_all_memories_are_listed_once(cluster: Cluster, size: int) -> None:
    ids = [cluster.memory() for _ in range(8)]
    assert listed(cluster, size, lambda _: None) == ids[::-1]


@pytest.mark.parametrize("kind", ["somebody without security", "a user"])
def test_pages_stay_whole_while_others_write(cluster: Cluster, alice: Cluster, kind: str) -> None:
    who = alice if kind == "a user" else cluster
    ids = [who.memory(name=f"{number}") for number in range(9)]

    def happen(page: int) -> None:
        who.message(ids[0], input="this one has not been shown yet")
        who.message(ids[8], input="this one has")
        who.put(f"/{ids[page]}", {})
        who.memory(name="made later")

    found = listed(who, 2, happen)

    assert len(found) == len(set(found))
    assert set(found) == set(ids)
    assert found[:2] == [ids[8], ids[7]]
    by_offset = ids_of(who.get(max_results=100))
    assert len(by_offset) > len(found)


def test_what_is_deleted_meanwhile_is_left_out(cluster: Cluster) -> None:
    ids = [cluster.memory() for _ in range(6)]

    found = listed(cluster, 2, lambda page: cluster.delete(f"/{ids[0]}") and None if page == 1 else None)

    assert found == ids[:0:-1]
