"""Messages: create, list, read and change, as OpenSearch 3.8 answers."""

import os
from typing import Any

import pytest

from conversations.objects import Objects
from tests.bed.in_process import Api
from tests.bed.messages import said
from tests.bed.opensearch import Cluster, instant
from tests.integration.conftest import TestClock

ALL_FIVE = {
    "input": "How do I make an interaction?",
    "prompt_template": "Hello, can you answer this question?",
    "response": "Hello, here is the answer.",
    "origin": "MyFirstWrapper",
    "additional_info": {"suggestion": "api.example.com"},
}
NOTHING_SAID = (
    "At least one of the following parameters must be non-empty: "
    "input, prompt_template, response, origin, additional_info"
)


def inputs(page: Any) -> list[str]:
    return [message["input"] for message in page["messages"]]


def shown(cluster: Cluster, message_id: str) -> dict[str, Any]:
    """What is said in a message."""
    message = cluster.get(f"/message/{message_id}")
    return {
        name: message[name]
        for name in message
        if name not in ("memory_id", "message_id", "create_time", "updated_time")
    }


# Create and get


def test_all_that_is_said_is_given_back(shared: Cluster) -> None:
    memory_id = shared.memory()

    message_id = shared.message(memory_id, **ALL_FIVE)

    message = shared.get(f"/message/{message_id}")
    assert list(message) == ["memory_id", "message_id", "create_time", "updated_time", *ALL_FIVE]
    assert {name: message[name] for name in ALL_FIVE} == ALL_FIVE
    assert (message["memory_id"], message["message_id"]) == (memory_id, message_id)
    assert message["create_time"] == message["updated_time"]
    assert shared.messages(memory_id) == {"messages": [message]}


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"response": "r"}, {"response": "r"}),
        ({"origin": "x"}, {"origin": "x"}),
        ({"prompt_template": "p"}, {"prompt_template": "p"}),
        ({"additional_info": {"a": "b"}}, {"additional_info": {"a": "b"}}),
        ({"input": " a ", "response": "  ", "origin": ""}, {"input": " a "}),
        ({"input": "a", "unknown": {"x": [1]}}, {"input": "a"}),
        ({"input": "a", "additional_info": "some metadata"}, {"input": "a"}),
        ({"input": "a", "additional_info": None}, {"input": "a"}),
        ({"input": "a", "additional_info": 5}, {"input": "a"}),
        ({"input": 5, "response": True, "origin": 1.5}, {"input": "5", "response": "true", "origin": "1.5"}),
        (
            {"additional_info": {"a": 1, "b": True, "c": "x", "d": False}},
            {"additional_info": {"a": "1", "b": "true", "c": "x", "d": "false"}},
        ),
        ({"input": "a", "parent_message_id": "p"}, {"input": "a"}),
        ({"input": "a", "trace_number": 3}, {"input": "a"}),
        ({"input": "映画 😀\n\t"}, {"input": "映画 😀\n\t"}),
    ],
)
def test_what_is_kept_of_a_body(shared: Cluster, body: dict[str, Any], kept: dict[str, Any]) -> None:
    memory_id = shared.memory()

    message_id = shared.message(memory_id, **body)

    assert shown(shared, message_id) == kept
    assert len(shared.messages(memory_id)["messages"]) == 1


def test_numbers_become_text_as_they_were_written(shared: Cluster) -> None:
    memory_id = shared.memory()
    raw = '{"input":1.50,"response":1e5,"additional_info":{"a":-0.0,"b":12345678901234567890}}'

    created = shared.call("POST", f"/{memory_id}/messages", raw=raw).body

    assert shown(shared, created["message_id"]) == {
        "input": "1.50",
        "response": "1e5",
        "additional_info": {"a": "-0.0", "b": "12345678901234567890"},
    }


@pytest.mark.parametrize(
    ("raw", "type_", "reason"),
    [
        ('{"input":"","response":" ","additional_info":{}}', "illegal_argument_exception", NOTHING_SAID),
        ("{}", "illegal_argument_exception", NOTHING_SAID),
        ('{"parent_message_id":"p","trace_number":1}', "illegal_argument_exception", NOTHING_SAID),
        ("", "parse_exception", "request body is required"),
        (
            "[]",
            "parsing_exception",
            "Failed to parse object: expecting token of type [START_OBJECT] but found [START_ARRAY]",
        ),
        (
            '"x"',
            "parsing_exception",
            "Failed to parse object: expecting token of type [START_OBJECT] but found [VALUE_STRING]",
        ),
        (
            "5",
            "parsing_exception",
            "Failed to parse object: expecting token of type [START_OBJECT] but found [VALUE_NUMBER]",
        ),
        ('{"input":"a"', "json_e_o_f_exception", None),
        ('{"input":"a', "json_e_o_f_exception", None),
        ('{"input"', "json_e_o_f_exception", None),
        ('{"input":a}', "json_parse_exception", None),
        ('{"input":"a","input":"b"}', "json_parse_exception", None),
        ('{"input":null}', "illegal_argument_exception", "[input]: Can't get text on a VALUE_NULL"),
        ('{"response":{}}', "illegal_argument_exception", "[response]: Can't get text on a START_OBJECT"),
        ('{"origin":[]}', "illegal_argument_exception", "[origin]: Can't get text on a START_ARRAY"),
        ('{"input":"a","additional_info":[]}', "illegal_argument_exception", None),
        ('{"input":"a","additional_info":{"a":null}}', "illegal_argument_exception", None),
        ('{"input":"a","additional_info":{"a":{"b":1}}}', "illegal_argument_exception", None),
        ('{"input":"a","parent_message_id":null}', "illegal_argument_exception", None),
        ('{"input":"a","trace_number":"1"}', "illegal_argument_exception", "Integer value passed as String"),
        (
            '{"input":"a","trace_number":1.5}',
            "illegal_argument_exception",
            "1.5 cannot be converted to Integer without data loss",
        ),
        ('{"input":"a","trace_number":2147483648}', "input_coercion_exception", None),
        ('{"input":"a","trace_number":true}', "illegal_argument_exception", None),
        ('{"input":"a","trace_number":null}', "illegal_argument_exception", None),
    ],
)
def test_a_body_that_cannot_be_read_leaves_nothing(shared: Cluster, raw: str, type_: str, reason: str | None) -> None:
    memory_id = shared.memory()

    refused = shared.refusal("POST", f"/{memory_id}/messages", raw=raw)

    assert refused[:2] == (400, type_)
    assert reason is None or refused[2] == reason
    assert shared.messages(memory_id) == {"messages": []}
    assert shared.refusal("POST", "/unknown/messages", raw=raw) == refused  # the body comes first


def test_a_message_for_no_memory(shared: Cluster) -> None:
    refused = (404, "resource_not_found_exception", "Memory [unknown] not found")
    assert shared.refusal("POST", "/unknown/messages", {"input": "a"}) == refused
    assert shared.refusal("GET", "/unknown/messages") == refused


def test_a_message_moves_the_time_of_its_memory(shared: Cluster) -> None:
    memory_id = shared.memory()

    message = shared.get(f"/message/{shared.message(memory_id, input='a', response='b')}")

    memory = shared.get(f"/{memory_id}")
    assert instant(memory["updated_time"]) >= instant(message["create_time"]) > instant(memory["create_time"])


# List


def test_messages_stand_in_the_order_in_which_they_came(shared: Cluster) -> None:
    memory_id = shared.memory()
    assert shared.messages(memory_id) == {"messages": []}
    assert shared.messages(memory_id, max_results=1) == {"messages": []}

    for number in range(3):
        shared.message(memory_id, input=f"{number}", response=f"r{number}" if number % 2 else "")

    first = shared.messages(memory_id, max_results=2)
    assert (inputs(first), first["next_token"]) == (["0", "1"], 2)
    second = shared.messages(memory_id, max_results=2, next_token=2)
    assert inputs(second) == ["2"]
    assert "next_token" not in second
    full = shared.messages(memory_id, max_results=3)
    assert (inputs(full), full["next_token"]) == (["0", "1", "2"], 3)
    assert shared.messages(memory_id, next_token=3) == {"messages": []}
    assert inputs(shared.messages(memory_id, next_token=1, max_results=1)) == ["1"]
    assert shared.messages(memory_id, max_results=1)["next_token"] == 1


@pytest.mark.parametrize(
    ("query", "type_", "reason"),
    [
        (
            {"max_results": 0},
            "action_request_validation_exception",
            "Validation Failed: 1: The number of interactions to retrieve must be positive;",
        ),
        (
            {"next_token": -2},
            "action_request_validation_exception",
            "Validation Failed: 1: The starting position must be nonnegative;",
        ),
        (
            {"max_results": -1, "next_token": -2},
            "action_request_validation_exception",
            "Validation Failed: 1: The number of interactions to retrieve must be positive;"
            "2: The starting position must be nonnegative;",
        ),
        ({"max_results": "ten"}, "number_format_exception", 'For input string: "ten"'),
        ({"max_results": 1, "next_token": 10_000}, "search_phase_execution_exception", "all shards failed"),
    ],
)
def test_parameters_that_cannot_be(shared: Cluster, query: dict[str, Any], type_: str, reason: str) -> None:
    assert shared.refusal("GET", f"/{shared.memory()}/messages", **query) == (400, type_, reason)


def test_a_page_is_cut_to_what_an_answer_may_hold(cluster: Cluster) -> None:
    memory_id = cluster.memory()
    for number in range(3):
        cluster.message(memory_id, input=f"{number}" * 2_000_000)

    first = cluster.messages(memory_id)

    assert [text[0] for text in inputs(first)] == ["0", "1"]
    assert first["next_token"] == 2
    second = cluster.messages(memory_id, next_token=first["next_token"])
    assert [text[0] for text in inputs(second)] == ["2"]
    assert "next_token" not in second


@pytest.mark.parametrize("of_traces", [False, True])
@pytest.mark.slow
def test_no_more_is_read_than_an_answer_may_hold(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, of_traces: bool
) -> None:
    """However large the page is that is asked for: of what is said about them, too."""
    memory_id = cluster.memory()
    parent = cluster.message(memory_id, input="q")
    large = {"large": os.urandom(900_000).hex()}
    for number in range(12):
        of_trace = {"parent_message_id": parent, "trace_number": number} if of_traces else {}
        cluster.message(memory_id, input=f"{number}", additional_info=large, **of_trace)
    read: list[str] = []
    get = Objects.get

    def counted(objects: Objects, keys: list[str]) -> dict[str, bytes]:
        read.extend(keys)
        return get(objects, keys)

    monkeypatch.setattr(Objects, "get", counted)

    page = cluster.get(f"/message/{parent}/traces" if of_traces else f"/{memory_id}/messages", max_results=1000)

    assert page["next_token"] == (2 if of_traces else 3)
    assert len(read) <= 8


# Change


def test_additional_info_is_merged_and_keeps_its_types(shared: Cluster) -> None:
    memory_id = shared.memory()
    message_id = shared.message(memory_id, input="a", additional_info={"suggestion": "api.example.com"})
    memory = shared.get(f"/{memory_id}")

    first = shared.put(f"/message/{message_id}", {"additional_info": {"feedback": "positive"}})

    assert isinstance(first.pop("_seq_no"), int)
    assert first == {
        "_index": ".plugins-ml-memory-message",
        "_id": message_id,
        "_version": 2,
        "result": "updated",
        "forced_refresh": True,
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_primary_term": 1,
    }
    assert shown(shared, message_id)["additional_info"] == {"suggestion": "api.example.com", "feedback": "positive"}
    change = {"additional_info": {"feedback": "negative", "deep": {"n": 1, "list": [True]}}}
    assert shared.put(f"/message/{message_id}", change)["_version"] == 3
    assert shown(shared, message_id)["additional_info"] == {
        "suggestion": "api.example.com",
        "feedback": "negative",
        "deep": {"n": 1, "list": [True]},
    }
    message = shared.get(f"/message/{message_id}")
    assert instant(message["updated_time"]) > instant(message["create_time"])
    assert shared.get(f"/{memory_id}") == memory  # its time does not move


@pytest.mark.parametrize(
    "before", [{"input": "a"}, {"input": "a", "response": "r"}, {"response": "r"}, {"origin": "o"}]
)
def test_the_response_may_be_given_later(shared: Cluster, before: dict[str, str]) -> None:
    memory_id = shared.memory()
    message_id = shared.message(memory_id, **before)
    other = shared.message(memory_id, input="b")

    shared.put(f"/message/{message_id}", {"response": "r2"})

    assert shown(shared, message_id) == before | {"response": "r2"}
    assert [message["message_id"] for message in shared.messages(memory_id)["messages"]] == [message_id, other]
    assert shown(shared, other) == {"input": "b"}


@pytest.mark.parametrize("body", [{}, {"input": "x"}, {"origin": "x", "prompt_template": "y", "memory_id": "z"}])
def test_nothing_else_can_be_changed(shared: Cluster, body: dict[str, str]) -> None:
    message_id = shared.message(shared.memory(), **ALL_FIVE)
    before = shared.get(f"/message/{message_id}")

    assert shared.put(f"/message/{message_id}", body)["result"] == "updated"

    assert shown(shared, message_id) == ALL_FIVE
    assert instant(shared.get(f"/message/{message_id}")["updated_time"]) > instant(before["updated_time"])


@pytest.mark.parametrize(
    ("raw", "type_", "reason"),
    [
        ("", "parse_exception", "Failed to update interaction: Request body is empty"),
        ("[]", "parsing_exception", None),
        ('{"response":', "json_e_o_f_exception", None),
        ('{"response":null}', "illegal_argument_exception", None),
        ('{"response":5}', "illegal_argument_exception", None),
        ('{"additional_info":null}', "mapper_parsing_exception", None),
        ('{"additional_info":"x"}', "mapper_parsing_exception", None),
    ],
)
def test_a_change_that_cannot_be_read_leaves_the_message_sound(
    shared: Cluster, raw: str, type_: str, reason: str | None
) -> None:
    memory_id = shared.memory()
    message_id = shared.message(memory_id, **ALL_FIVE)

    refused = shared.refusal("PUT", f"/message/{message_id}", raw=raw)

    assert refused[:2] == (400, type_)
    assert reason is None or refused[2] == reason
    assert shown(shared, message_id) == ALL_FIVE
    assert len(shared.messages(memory_id)["messages"]) == 1


@pytest.mark.parametrize("message_id", ["unknown", "a/b", "映画", "x" * 20 + ".y"])
def test_ids_that_stand_for_nothing(shared: Cluster, message_id: str) -> None:
    not_found = "resource_not_found_exception"
    path = f"/message/{message_id.replace('/', '%2F')}"
    assert shared.refusal("GET", path) == (404, not_found, f"Message [{message_id}] not found")
    assert shared.refusal("GET", f"{path}/traces") == (404, not_found, f"Message [{message_id}] not found")
    assert shared.refusal("PUT", path, {}) == (404, not_found, f"message [{message_id}] not found")


def test_a_message_of_a_memory_that_is_there_is_missing_all_the_same(shared: Cluster) -> None:
    message_id = shared.message(shared.memory(), input="a")
    missing = message_id[:21] + "x" * 16
    assert shared.refusal("GET", f"/message/{missing}")[2] == f"Message [{missing}] not found"
    assert shared.refusal("PUT", f"/message/{missing}", {})[2] == f"message [{missing}] not found"


# One store with our own API


def test_turns_of_our_own_api_are_messages_here(cluster: Cluster, api: Api) -> None:
    conversation_id = api.create()
    question = api.say(conversation_id, "q", metadata={"a": 1})
    api.say(conversation_id, "a", "assistant")
    api.say(conversation_id, "alone", "assistant")
    api.say(conversation_id, "be brief", "system")

    messages = cluster.messages(conversation_id)["messages"]

    assert [{name: m[name] for name in m if name in ALL_FIVE} for m in messages] == [
        {"input": "q", "response": "a", "additional_info": {"a": 1}},
        {"response": "alone"},
        {"prompt_template": "be brief"},
    ]
    assert messages[0]["message_id"] == question["id"]


def test_messages_from_here_are_a_history_there(cluster: Cluster, api: Api) -> None:
    memory_id = cluster.memory()
    message_id = cluster.message(memory_id, input="q", response="a", additional_info={"k": "v"}, origin="o")
    cluster.message(memory_id, input="thinking", parent_message_id=message_id, trace_number=1)
    cluster.message(memory_id, input="follow-up")

    found = api.call("GET", f"/conversations/{memory_id}/messages").body["messages"]

    assert [(m["role"], m["content"]) for m in found] == [
        ("user", said("q")),
        ("assistant", said("a")),
        ("user", said("follow-up")),
    ]
    assert found[0]["metadata"] == {"k": "v"}
    assert found[1]["id"] == f"{message_id}.response"
    history = api.call("GET", f"/conversations/{memory_id}/history").body
    assert [m["role"] for m in history["messages"]] == ["user", "assistant", "user"]


def test_without_the_updated_time(lagging: Any, clock: TestClock) -> None:
    cluster = Cluster(Api(lagging, clock, message_updated_time=False))
    memory_id = cluster.memory()
    message_id = cluster.message(memory_id, input="a")
    cluster.message(memory_id, input="t", parent_message_id=message_id, trace_number=1)

    found = [
        cluster.get(f"/message/{message_id}"),
        *cluster.messages(memory_id)["messages"],
        *cluster.get(f"/message/{message_id}/traces")["traces"],
        *(hit["_source"] for hit in cluster.search(f"/{memory_id}")["hits"]),
    ]

    assert len(found) == 5
    assert all("updated_time" not in message and "create_time" in message for message in found)
    assert "updated_time" in cluster.get(f"/{memory_id}")
