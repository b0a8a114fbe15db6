"""Memories: create, read, list, change and delete, as OpenSearch 3.8 answers."""

import re
from typing import Any

import pytest

from tests.bed.in_process import Api
from tests.bed.lagging import LaggingStore
from tests.bed.opensearch import Cluster, instant

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z")


def names(page: Any) -> list[str]:
    return [memory["name"] for memory in page["memories"]]


# Create and get


def test_without_a_body_a_memory_has_no_name(shared: Cluster) -> None:
    created = shared.call("POST").body

    assert created.keys() == {"memory_id"}
    assert len(created["memory_id"]) == 20
    memory = shared.get(f"/{created['memory_id']}")
    assert list(memory) == ["memory_id", "create_time", "updated_time", "name"]
    assert memory["name"] is None


def test_a_memory_is_given_back(shared: Cluster) -> None:
    memory_id = shared.memory(name="name")

    memory = shared.get(f"/{memory_id}")

    assert (memory["memory_id"], memory["name"]) == (memory_id, "name")
    assert memory["create_time"] == memory["updated_time"]
    assert TIME.fullmatch(memory["create_time"])


def test_ids_differ(shared: Cluster) -> None:
    assert len({shared.memory() for _ in range(30)}) == 30


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ({"name": "n", "bogus": 1}, {"name": "n"}),
        ({"name": "n", "additional_info": {"key1": "value1", "key2": 123, "in": {"x": [1.5, None, True]}}}, None),
        ({"name": "n", "additional_info": {}}, {"name": "n"}),
        ({"name": None}, {"name": None}),
        ({"name": None, "additional_info": {"a": "b"}}, {"name": None}),
        ({"additional_info": {"a": "b"}}, {"name": None}),
        ({"name": " ", "additional_info": {"a": "b"}}, {"name": None, "additional_info": {"a": "b"}}),
        ([], {"name": None}),
        ("x", {"name": None}),
        (5, {"name": None}),
        ({"name": "映画 😀"}, None),
    ],
)
def test_what_is_kept_of_a_body(shared: Cluster, body: Any, kept: Any) -> None:
    created = shared.call("POST", "", body)
    assert created.status == 200, created

    memory = shared.get(f"/{created.body['memory_id']}")

    shown = {name: value for name, value in memory.items() if name in ("name", "additional_info")}
    assert shown == (body if kept is None else kept)
    assert memory.keys() <= {"memory_id", "create_time", "updated_time", "name", "additional_info"}


def test_the_application_type_is_found_and_not_shown(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="n", application_type="conversational-search")

    assert "application_type" not in cluster.get(f"/{memory_id}")
    [hit] = cluster.search("", {"term": {"application_type": "conversational-search"}})["hits"]
    assert hit["_source"]["application_type"] == "conversational-search"


@pytest.mark.parametrize(
    "raw",
    ['{"name":5}', '{"name":', '{"name":"a","name":"b"}', '{"application_type":[]}', '{"additional_info":"x"}', "{"],
)
def test_a_body_that_cannot_be_read_makes_no_memory(shared: Cluster, raw: str) -> None:
    before = shared.get()
    assert shared.refusal("POST", raw=raw)[:2] == (400, "parse_exception")
    assert shared.get() == before


@pytest.mark.parametrize(
    ("member", "value", "found", "needed"),
    [
        ("name", 5, "java.lang.Integer", "java.lang.String"),
        ("name", 1.5, "java.lang.Double", "java.lang.String"),
        ("application_type", True, "java.lang.Boolean", "java.lang.String"),
        ("application_type", [], "java.util.ArrayList", "java.lang.String"),
        ("name", {}, "java.util.HashMap", "java.lang.String"),
        ("additional_info", "x", "java.lang.String", "java.util.Map"),
    ],
)
def test_what_is_of_another_type_is_told_as_java_does(
    shared: Cluster, member: str, value: Any, found: str, needed: str
) -> None:
    reason = f"[{member}]: class {found} cannot be cast to class {needed}"
    assert shared.refusal("POST", "", {"name": "n", member: value}) == (400, "parse_exception", reason)


def test_an_id_that_stands_for_nothing(shared: Cluster) -> None:
    assert shared.call("GET", "/unknown").body == {
        "error": {
            "root_cause": [{"type": "resource_not_found_exception", "reason": "Memory [unknown] not found"}],
            "type": "resource_not_found_exception",
            "reason": "Memory [unknown] not found",
        },
        "status": 404,
    }


# Change


def test_a_change_answers_as_an_update_does(shared: Cluster) -> None:
    memory_id = shared.memory(name="n")
    before = shared.get(f"/{memory_id}")

    answer = shared.put(f"/{memory_id}", {"name": "new name"})

    sequence = answer.pop("_seq_no")
    assert isinstance(sequence, int)
    assert answer == {
        "_index": ".plugins-ml-memory-meta",
        "_id": memory_id,
        "_version": 2,
        "result": "updated",
        "forced_refresh": True,
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_primary_term": 1,
    }
    after = shared.get(f"/{memory_id}")
    assert after["name"] == "new name"
    assert after["create_time"] == before["create_time"]
    assert instant(after["updated_time"]) > instant(before["updated_time"])
    assert shared.put(f"/{memory_id}", {"name": "n3"})["_version"] == 3


def test_only_name_and_additional_info_can_be_changed(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="n", application_type="a")

    cluster.put(f"/{memory_id}", {"name": "x", "application_type": "y", "updated_time": 1, "user": "u"})

    memory = cluster.get(f"/{memory_id}")
    assert memory["name"] == "x"
    assert "user" not in memory
    assert memory["updated_time"] > "2020"
    assert cluster.search("")["hits"][0]["_source"]["application_type"] == "a"


@pytest.mark.parametrize("body", [{}, {"unknown": 1}])
def test_a_change_of_nothing_moves_the_time(shared: Cluster, body: Any) -> None:
    memory_id = shared.memory(name="n")
    before = shared.get(f"/{memory_id}")

    shared.put(f"/{memory_id}", body)

    after = shared.get(f"/{memory_id}")
    assert instant(after["updated_time"]) > instant(before["updated_time"])
    assert after | {"updated_time": before["updated_time"]} == before


def test_additional_info_is_merged_to_any_depth(shared: Cluster) -> None:
    memory_id = shared.memory(name="n", additional_info={"a": "1", "deep": {"x": 1, "list": [1, 2]}})

    shared.put(f"/{memory_id}", {"additional_info": {"b": "2"}})
    shared.put(f"/{memory_id}", {"additional_info": {"deep": {"y": 2, "list": [3]}, "a": {"now": "an object"}}})

    assert shared.get(f"/{memory_id}")["additional_info"] == {
        "a": {"now": "an object"},
        "b": "2",
        "deep": {"x": 1, "y": 2, "list": [3]},
    }
    assert shared.get(f"/{memory_id}")["name"] == "n"


@pytest.mark.parametrize(
    ("raw", "type_", "reason"),
    [
        ("", "parse_exception", "Failed to update conversation: Request body is empty"),
        (
            "[]",
            "parsing_exception",
            "Failed to parse object: expecting token of type [START_OBJECT] but found [START_ARRAY]",
        ),
        (
            "  ",
            "parsing_exception",
            "Failed to parse object: expecting token of type [START_OBJECT] but found [null]",
        ),
        ('{"name":', "json_e_o_f_exception", None),
        ('{"name":"abc', "json_e_o_f_exception", None),
        ('{"name" 5}', "json_parse_exception", None),
        ('{"name":null}', "illegal_argument_exception", None),
        ('{"name":5}', "illegal_argument_exception", None),
        ('{"additional_info":null}', "mapper_parsing_exception", None),
        ('{"additional_info":"x"}', "mapper_parsing_exception", None),
    ],
)
def test_a_change_that_cannot_be_read_leaves_the_memory_sound(
    shared: Cluster, raw: str, type_: str, reason: str | None
) -> None:
    memory_id = shared.memory(name="n")

    refused = shared.refusal("PUT", f"/{memory_id}", raw=raw)

    assert refused[:2] == (400, type_)
    assert reason is None or refused[2] == reason
    assert shared.get(f"/{memory_id}")["name"] == "n"
    assert "n" in names(shared.get())
    unknown = shared.refusal("PUT", "/unknown", raw=raw)
    assert unknown == refused  # the body is read before anything is looked for


def test_a_parsing_error_tells_line_and_column(shared: Cluster) -> None:
    body = shared.call("PUT", "/m", []).body
    assert (body["error"]["line"], body["error"]["col"]) == (1, 1)
    assert (body["error"]["root_cause"][0]["line"], body["error"]["root_cause"][0]["col"]) == (1, 1)


def test_changing_what_is_not_there_makes_nothing(shared: Cluster) -> None:
    memory_id = shared.memory()
    shared.delete(f"/{memory_id}")

    for id_ in (memory_id, "unknown"):
        refused = (404, "resource_not_found_exception", f"Memory [{id_}] not found")
        assert shared.refusal("PUT", f"/{id_}", {"name": "x"}) == refused
        assert shared.refusal("GET", f"/{id_}") == refused


# Delete


def test_delete_of_a_memory_without_messages(shared: Cluster) -> None:
    memory_id = shared.memory()

    assert shared.delete(f"/{memory_id}") == {"success": True}

    refused = (404, "resource_not_found_exception", f"Memory [{memory_id}] not found")
    assert shared.refusal("GET", f"/{memory_id}") == refused
    assert shared.refusal("DELETE", f"/{memory_id}") == refused


def test_delete_hides_a_memory_with_all_that_is_in_it_and_no_other(cluster: Cluster) -> None:
    memory_id, other = cluster.memory(), cluster.memory()
    message_id, others = cluster.message(memory_id, input="a"), cluster.message(other, input="b")
    trace_id = cluster.message(memory_id, input="t", parent_message_id=message_id, trace_number=1)

    assert cluster.delete(f"/{memory_id}") == {"success": True}

    assert [memory["memory_id"] for memory in cluster.get()["memories"]] == [other]
    assert cluster.refusal("GET", f"/{memory_id}/messages")[0] == 404
    assert cluster.refusal("POST", f"/{memory_id}/_search", {"query": {"match_all": {}}})[0] == 404
    for gone in (message_id, trace_id):
        assert cluster.refusal("GET", f"/message/{gone}")[0] == 404
    assert cluster.refusal("GET", f"/message/{message_id}/traces")[0] == 404
    assert [message["message_id"] for message in cluster.messages(other)["messages"]] == [others]


# List


def test_no_memories(cluster: Cluster) -> None:
    assert cluster.get() == {"memories": []}


def test_a_full_page_names_the_next(cluster: Cluster) -> None:
    memory_id = cluster.memory()

    assert [memory["memory_id"] for memory in cluster.get()["memories"]] == [memory_id]
    assert "next_token" not in cluster.get()
    assert cluster.get(max_results=1)["next_token"] == 1
    assert cluster.get(max_results=1, next_token=1) == {"memories": []}
    assert cluster.get(next_token=77) == {"memories": []}


def test_pages_go_from_the_newest_to_the_oldest(cluster: Cluster) -> None:
    for name in ("C1", "C2", "C3"):
        cluster.memory(name=name)

    first = cluster.get(max_results=2)
    second = cluster.get(max_results=2, next_token=first["next_token"])

    assert (names(first), first["next_token"]) == (["C3", "C2"], 2)
    assert names(second) == ["C1"]
    assert "next_token" not in second
    assert names(cluster.get(next_token=1, max_results=1)) == ["C2"]


def test_whatever_touches_a_memory_moves_it_to_the_front(cluster: Cluster) -> None:
    ids = [cluster.memory(name=name) for name in ("a", "b", "c")]

    cluster.put(f"/{ids[0]}", {})
    assert names(cluster.get()) == ["a", "c", "b"]
    cluster.message(ids[1], input="hello")
    assert names(cluster.get()) == ["b", "a", "c"]


def test_ten_are_shown_unless_it_is_said_otherwise(cluster: Cluster) -> None:
    for _ in range(11):
        cluster.memory()

    page = cluster.get()

    assert (len(page["memories"]), page["next_token"]) == (10, 10)
    assert len(cluster.get(max_results=1000)["memories"]) == 11


@pytest.mark.parametrize("sees_all", [True, False])
def test_a_new_memory_is_listed_whether_or_not_an_index_has_it(
    cluster: Cluster, alice: Cluster, lagging: LaggingStore, sees_all: bool
) -> None:
    who = cluster if sees_all else alice
    who.memory(name="old")
    lagging.withhold_conversations([who.memory(name="new")])

    assert names(who.get()) == ["new", "old"]
    assert names(who.get(max_results=1)) == ["new"]


def test_the_order_is_that_of_the_memories_and_not_of_a_late_index(alice: Cluster, lagging: LaggingStore) -> None:
    ids = [alice.memory(name=f"{number}") for number in range(15)]
    lagging.stop_listing_at_present("alice", "2026-11")

    alice.message(ids[2], input="hello")
    alice.put(f"/{ids[7]}", {})

    assert names(alice.get(max_results=4)) == ["7", "2", "14", "13"]
    assert names(alice.get(max_results=3, next_token=13)) == ["1", "0"]


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        (
            {"max_results": 0},
            ("action_request_validation_exception", "Validation Failed: 1: Can't list 0 or negative conversations;"),
        ),
        (
            {"max_results": -3},
            ("action_request_validation_exception", "Validation Failed: 1: Can't list 0 or negative conversations;"),
        ),
        ({"max_results": "abc"}, ("number_format_exception", 'For input string: "abc"')),
        ({"max_results": ""}, ("number_format_exception", 'For input string: ""')),
        ({"max_results": 2**31}, ("number_format_exception", 'For input string: "2147483648"')),
        ({"max_results": "1.0"}, ("number_format_exception", 'For input string: "1.0"')),
        ({"next_token": "x"}, ("number_format_exception", 'For input string: "x"')),
        ({"next_token": -1}, ("illegal_argument_exception", "[from] parameter cannot be negative, found [-1]")),
        (
            {"foo": 1},
            ("illegal_argument_exception", "request [/_plugins/_ml/memory] contains unrecognized parameter: [foo]"),
        ),
        (
            {"foo": 1, "bar": 2},
            (
                "illegal_argument_exception",
                "request [/_plugins/_ml/memory] contains unrecognized parameters: [bar], [foo]",
            ),
        ),
        (
            {"max_result": 1},
            (
                "illegal_argument_exception",
                "request [/_plugins/_ml/memory] contains unrecognized parameter: "
                "[max_result] -> did you mean [max_results]?",
            ),
        ),
    ],
)
def test_parameters_that_cannot_be(shared: Cluster, query: dict[str, Any], refused: tuple[str, str]) -> None:
    assert shared.refusal("GET", **query) == (400, *refused)


def test_the_wall_of_the_result_window(cluster: Cluster) -> None:
    assert cluster.get(max_results=10, next_token=9_990) == {"memories": []}
    assert cluster.get(max_results=10_000) == {"memories": []}

    reply = cluster.call("GET", max_results=11, next_token=9_990)

    assert reply.error == (400, "search_phase_execution_exception", "all shards failed")
    [cause] = reply.body["error"]["root_cause"]
    assert cause["type"] == "illegal_argument_exception"
    assert cause["reason"].startswith(
        "Result window is too large, from + size must be less than or equal to: [10000] but was [10001]"
    )


# One store with our own API


def test_conversations_of_our_own_api_are_memories_and_the_other_way_round(cluster: Cluster, api: Api) -> None:
    ours = api.create(name="ours", metadata={"a": 1})
    theirs = cluster.memory(name="theirs", additional_info={"b": 2})

    assert names(cluster.get()) == ["theirs", "ours"]
    assert cluster.get(f"/{ours}")["additional_info"] == {"a": 1}
    seen = api.call("GET", f"/conversations/{theirs}").body
    assert (seen["name"], seen["metadata"]) == ("theirs", {"b": 2})
    cluster.delete(f"/{ours}")
    assert api.call("GET", f"/conversations/{ours}").status == 404


def test_long_names_have_their_limit_in_an_item(cluster: Cluster, api: Api) -> None:
    memory_id = cluster.memory(name="n" * 100_000)

    assert cluster.get(f"/{memory_id}")["name"] == "n" * 100_000
    assert api.call("GET", f"/conversations/{memory_id}").body["name"] == "n" * 100_000
    assert cluster.refusal("POST", "", {"name": "n" * 300_000})[:2] == (413, "content_too_long_exception")
    assert cluster.refusal("PUT", f"/{memory_id}", {"additional_info": {"a": "b" * 200_000}})[0] == 413
    assert cluster.get(f"/{memory_id}").keys() == {"memory_id", "create_time", "updated_time", "name"}
