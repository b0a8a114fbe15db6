"""Traces: the steps of a message, which stand in no list and no history."""

from typing import Any

import pytest

from tests.bed.opensearch import Cluster, instant


def trace(cluster: Cluster, memory_id: str, parent_id: str, number: int, **said: str) -> str:
    body = {"input": f"step {number}", **said, "parent_message_id": parent_id, "trace_number": number}
    return cluster.message(memory_id, **body)


def numbers(page: Any) -> list[int]:
    return [found["trace_number"] for found in page["traces"]]


def test_traces_stand_in_the_order_of_their_numbers(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q")
    ids = {number: trace(shared, memory_id, parent, number, origin="tool") for number in (3, 1, 2, -1)}

    listed = shared.get(f"/message/{parent}/traces")

    assert numbers(listed) == [-1, 1, 2, 3]
    assert "next_token" not in listed
    assert {found["parent_message_id"] for found in listed["traces"]} == {parent}
    assert {found["memory_id"] for found in listed["traces"]} == {memory_id}
    assert list(listed["traces"][1]) == [
        *("memory_id", "message_id", "create_time", "updated_time"),
        *("input", "origin", "parent_message_id", "trace_number"),
    ]
    for number, trace_id in ids.items():
        found = shared.get(f"/message/{trace_id}")
        assert (found["trace_number"], found["input"]) == (number, f"step {number}")
        assert found in listed["traces"]
    assert [message["message_id"] for message in shared.messages(memory_id)["messages"]] == [parent]
    assert "trace_number" not in shared.get(f"/message/{parent}")


def test_pages(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q")
    for number in range(3):
        trace(shared, memory_id, parent, number)
    path = f"/message/{parent}/traces"

    first = shared.get(path, max_results=2)
    assert (numbers(first), first["next_token"]) == ([0, 1], 2)
    second = shared.get(path, max_results=2, next_token=2)
    assert numbers(second) == [2]
    assert "next_token" not in second
    assert shared.get(path, max_results=3)["next_token"] == 3
    assert shared.get(path, next_token=3) == {"traces": []}
    by_page_token = shared.get(path, max_results=2, next_page_token="")
    assert by_page_token["next_page_token"] == "Mg"
    assert numbers(shared.get(path, next_page_token="Mg")) == [2]


def test_without_traces(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q")
    assert shared.get(f"/message/{parent}/traces") == {"traces": []}
    of_trace = trace(shared, memory_id, parent, 1)
    assert shared.get(f"/message/{of_trace}/traces") == {"traces": []}


@pytest.mark.parametrize(
    ("query", "complaints"),
    [
        ({"max_results": -2}, "1: The number of traces to retrieve must be positive;"),
        ({"next_token": -2}, "1: The starting position must be nonnegative;"),
        (
            {"max_results": 0, "next_token": -2},
            "1: The number of traces to retrieve must be positive;2: The starting position must be nonnegative;",
        ),
    ],
)
def test_parameters_that_cannot_be(shared: Cluster, query: dict[str, int], complaints: str) -> None:
    message_id = shared.message(shared.memory(), input="q")

    refused = shared.refusal("GET", f"/message/{message_id}/traces", **query)

    assert refused == (400, "action_request_validation_exception", f"Validation Failed: {complaints}")
    assert shared.refusal("GET", "/message/unknown/traces", **query) == refused


def test_a_trace_moves_the_time_of_its_memory_and_can_be_changed(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q")
    before = shared.get(f"/{memory_id}")

    trace_id = trace(shared, memory_id, parent, 1)

    assert instant(shared.get(f"/{memory_id}")["updated_time"]) > instant(before["updated_time"])
    answer = shared.put(f"/message/{trace_id}", {"response": "r", "additional_info": {"a": 1}, "input": "x"})
    assert (answer["_id"], answer["_version"]) == (trace_id, 2)
    [found] = shared.get(f"/message/{parent}/traces")["traces"]
    assert (found["input"], found["response"], found["additional_info"]) == ("step 1", "r", {"a": 1})
    assert instant(found["updated_time"]) > instant(found["create_time"])


def test_a_trace_of_what_is_no_message_here_is_refused(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q", response="r")
    of_parent = trace(shared, memory_id, parent, 1)

    for other in (f"{parent}.response", of_parent, f"{parent}.turn", "", " "):
        body = {"input": "t", "parent_message_id": other, "trace_number": 2}
        assert shared.refusal("POST", f"/{memory_id}/messages", body)[:2] == (400, "illegal_argument_exception")
    assert {hit["_id"] for hit in shared.search(f"/{memory_id}")["hits"]} == {parent, of_parent}


@pytest.mark.parametrize("parent", ["unknown", "of another memory"])
def test_a_trace_of_a_message_that_is_not_in_its_memory_is_refused(shared: Cluster, parent: str) -> None:
    memory_id = shared.memory()
    others = shared.message(shared.memory(), input="q")
    body = {"input": "t", "parent_message_id": others if parent == "of another memory" else parent, "trace_number": 1}

    assert shared.refusal("POST", f"/{memory_id}/messages", body)[:2] == (400, "illegal_argument_exception")
    assert shared.get(f"/message/{others}/traces") == {"traces": []}
    assert shared.search(f"/{memory_id}")["hits"] == []
