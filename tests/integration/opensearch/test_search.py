"""``_search`` of memories and of the messages of one memory: envelope, matching, order and errors."""

import json
from typing import Any

import pytest

from tests.bed.in_process import Api
from tests.bed.opensearch import Cluster

ALL: dict[str, Any] = {"match_all": {}}


def ids(hits: Any) -> list[str]:
    return [hit["_id"] for hit in hits["hits"]]


def sources(hits: Any, member: str) -> list[Any]:
    return [hit["_source"][member] for hit in hits["hits"]]


# The envelope


def test_the_envelope_of_memories(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="first", additional_info={"k": "v"})
    cluster.message(memory_id, input="a")
    cluster.put(f"/{memory_id}", {})

    answer = cluster.call("POST", "/_search", {"query": ALL}).body

    assert list(answer) == ["took", "timed_out", "_shards", "hits"]
    assert isinstance(answer["took"], int)
    assert answer["timed_out"] is False
    assert answer["_shards"] == {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    assert list(answer["hits"]) == ["total", "max_score", "hits"]
    assert answer["hits"]["total"] == {"value": 1, "relation": "eq"}
    [hit] = answer["hits"]["hits"]
    assert list(hit) == ["_index", "_id", "_version", "_seq_no", "_primary_term", "_score", "_source"]
    assert hit["_index"] == ".plugins-ml-memory-meta"
    assert (hit["_id"], hit["_version"], hit["_primary_term"]) == (memory_id, 3, 1)
    assert isinstance(hit["_seq_no"], int)
    assert hit["_score"] == answer["hits"]["max_score"] == 1.0
    memory = cluster.get(f"/{memory_id}")
    assert hit["_source"] == {name: memory[name] for name in memory if name != "memory_id"}


def test_the_envelope_of_messages(shared: Cluster) -> None:
    memory_id = shared.memory()
    message_id = shared.message(memory_id, input="q", additional_info={"k": "v"})
    trace_id = shared.message(memory_id, input="t", origin="o", parent_message_id=message_id, trace_number=1)
    shared.put(f"/message/{message_id}", {"response": "r"})

    hits = shared.search(f"/{memory_id}")

    assert (hits["total"], hits["max_score"] > 0) == ({"value": 2, "relation": "eq"}, True)
    by_id = {hit["_id"]: hit for hit in hits["hits"]}
    assert {hit["_index"] for hit in hits["hits"]} == {".plugins-ml-memory-message"}
    assert (by_id[message_id]["_version"], by_id[trace_id]["_version"]) == (2, 1)
    message = shared.get(f"/message/{message_id}")
    expected = {name: message[name] for name in message if name != "message_id"}
    assert by_id[message_id]["_source"] == expected | {"parent_message_id": None, "trace_number": None}
    trace = shared.get(f"/message/{trace_id}")
    assert by_id[trace_id]["_source"] == {name: trace[name] for name in trace if name != "message_id"}
    assert by_id[trace_id]["_source"]["trace_number"] == 1


def test_updates_and_searches_tell_the_same_version_and_sequence_number(shared: Cluster) -> None:
    memory_id = shared.memory(name="n")
    message_id = shared.message(memory_id, input="a")
    trace_id = shared.message(memory_id, input="t", parent_message_id=message_id, trace_number=1)

    for path, changed in (("", memory_id), (f"/{memory_id}", message_id), (f"/{memory_id}", trace_id)):
        before = shared.search(path, {"ids": {"values": [changed]}})["hits"][0]
        answer = shared.put(f"/{changed}" if changed == memory_id else f"/message/{changed}", {})
        hit = shared.search(path, {"ids": {"values": [changed]}})["hits"][0]
        assert (hit["_version"], hit["_seq_no"]) == (answer["_version"], answer["_seq_no"])
        assert hit["_version"] == before["_version"] + 1
        assert hit["_seq_no"] > before["_seq_no"]


def test_sorted_hits_have_no_score(cluster: Cluster) -> None:
    ids_of = [cluster.memory(name=f"{number}") for number in range(3)]

    hits = cluster.search("", sort=[{"updated_time": "desc"}])

    assert ids(hits) == ids_of[::-1]
    assert hits["max_score"] is None
    assert [hit["_score"] for hit in hits["hits"]] == [None] * 3
    times = [hit["sort"][0] for hit in hits["hits"]]
    assert times == sorted(times, reverse=True)
    assert all(isinstance(time, int) and time > 1_600_000_000_000 for time in times)
    assert list(hits["hits"][0])[-1] == "sort"


def test_no_hits(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="n")
    nothing: dict[str, Any] = {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}
    assert cluster.search(f"/{memory_id}") == nothing
    assert cluster.search("", {"match": {"name": "other"}}) == nothing


def test_the_total_may_be_left_out_or_bounded(cluster: Cluster) -> None:
    for _ in range(3):
        cluster.memory()
    assert "total" not in cluster.search("", track_total_hits=False)
    assert cluster.search("", track_total_hits=2)["total"] == {"value": 2, "relation": "gte"}
    assert cluster.search("", track_total_hits=True, size=0) == {
        "total": {"value": 3, "relation": "eq"},
        "max_score": None,
        "hits": [],
    }


def test_sources(cluster: Cluster) -> None:
    cluster.memory(name="n", additional_info={"a": {"b": 1, "c": 2}})

    [whole] = cluster.search("", _source=False)["hits"]  # OpenSearch turns it on again
    assert whole["_source"]["name"] == "n"
    assert sources(cluster.search("", _source=["name"]), "name") == ["n"]
    [hit] = cluster.search("", _source={"includes": ["additional_info"], "excludes": ["*.b"]})["hits"]
    assert hit["_source"] == {"additional_info": {"a": {"c": 2}}}
    assert cluster.search("", _source="create_time")["hits"][0]["_source"].keys() == {"create_time"}


# How it is asked for


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("of_messages", [True, False])
def test_the_methods_are_equal_and_a_parameter_may_hold_the_body(
    cluster: Cluster, method: str, of_messages: bool
) -> None:
    memory_id = cluster.memory(name="found")
    found = cluster.message(memory_id, input="found") if of_messages else memory_id
    path = f"/{memory_id}/_search" if of_messages else "/_search"
    body = {"query": {"match": {"input" if of_messages else "name": "found"}}}

    by_body = cluster.call(method, path, body).body
    parameters: dict[str, Any] = {"source": json.dumps(body), "source_content_type": "application/json"}
    by_parameter = cluster.call(method, path, **parameters).body

    assert ids(by_body["hits"]) == [found]
    assert by_parameter["hits"] == by_body["hits"]


def test_what_is_no_search(shared: Cluster) -> None:
    memory_id = shared.memory()
    for path in ("/_search", f"/{memory_id}/_search"):
        nothing = (400, "parse_exception", "request body or source parameter is required")
        assert shared.refusal("POST", path) == nothing
        assert shared.refusal("GET", path) == nothing
        no_query = (400, "illegal_argument_exception", "inner bool query clause cannot be null")
        assert shared.refusal("POST", path, {}) == no_query
        assert shared.refusal("POST", path, {"size": 3}) == no_query
        assert shared.refusal("POST", path, {"query": ALL}, size=3)[:2] == (400, "illegal_argument_exception")
        unknown = shared.call("POST", path, {"query": {"nothing": {}}})
        assert unknown.error[:2] == (400, "parsing_exception")
        assert "unknown query [nothing]" in unknown.error[2]
        assert {"line", "col"} <= unknown.body["error"].keys()
        assert shared.refusal("POST", path, {"query": ALL, "sizes": 3})[:2] == (400, "parsing_exception")
        assert shared.refusal("POST", path, [])[:2] == (400, "parsing_exception")
        assert shared.refusal("POST", path, raw='{"query":')[:2] == (400, "json_e_o_f_exception")
        assert shared.refusal("POST", path, {"query": ALL, "from": -1})[1] == "illegal_argument_exception"
        body = {"source": '{"query":{"match_all":{}}}'}
        no_type = "source and source_content_type parameters are required"
        assert shared.refusal("GET", path, **body) == (400, "illegal_argument_exception", no_type)
        of_text = shared.refusal("GET", path, **body, source_content_type="text/plain")
        assert of_text[2] == "Unknown value for source_content_type [text/plain]"
        both = shared.refusal("POST", path, {"query": ALL}, **body)
        assert "contains unrecognized parameter: [source]" in both[2]


def test_a_search_in_no_memory(shared: Cluster) -> None:
    missing = (404, "resource_not_found_exception", "Memory [unknown] not found")
    assert shared.refusal("POST", "/unknown/_search", {"query": ALL}) == missing
    assert shared.refusal("POST", "/unknown/_search", {}) == missing
    assert shared.refusal("POST", "/unknown/_search", {"query": {"nothing": {}}})[0] == 400


@pytest.mark.parametrize("of_messages", [True, False])
def test_what_is_refused_where_the_documents_are(shared: Cluster, of_messages: bool) -> None:
    memory_id = shared.memory(name="n")
    shared.message(memory_id, input="a")
    path = f"/{memory_id}/_search" if of_messages else "/_search"

    window = shared.call("POST", path, {"query": ALL, "from": 9_995, "size": 10})
    assert window.error == (400, "search_phase_execution_exception", "all shards failed")
    error = window.body["error"]
    assert (error["phase"], error["grouped"]) == ("query", True)
    [cause] = error["root_cause"]
    assert cause["type"] == "illegal_argument_exception"
    assert "[10000] but was [10005]" in cause["reason"]
    date = shared.call("POST", path, {"query": {"range": {"create_time": {"gte": "2024-02-03"}}}})
    assert date.error[:2] == (400, "search_phase_execution_exception")
    reason = "failed to parse date field [2024-02-03] with format [strict_date_time||epoch_millis]"
    assert reason in date.body["error"]["root_cause"][0]["reason"]
    by_text = shared.call("POST", path, {"query": ALL, "sort": ["input" if of_messages else "name"]})
    assert by_text.error[:2] == (400, "search_phase_execution_exception")
    assert shared.search(path.removesuffix("/_search"), **{"from": 9_990})["hits"] == []


# Matching


def test_any_of_the_words_and_the_best_first(cluster: Cluster) -> None:
    henry = cluster.memory(name="Henry Conversation")
    mehul = cluster.memory(name="Mehul Conversation")

    hits = cluster.search("", {"match": {"name": "Henry Conversation"}})

    assert ids(hits) == [henry, mehul]
    assert hits["hits"][0]["_score"] > hits["hits"][1]["_score"] > 0
    both = {"match": {"name": {"query": "Mehul conversation", "operator": "and"}}}
    assert ids(cluster.search("", both)) == [mehul]


def test_additional_info_is_matched_whole(cluster: Cluster) -> None:
    ours = cluster.memory(name="n", additional_info={"k1": "v1", "deep": {"n": 5}})
    cluster.memory(name="n", additional_info={"k1": "v1 and more", "k2": "v1"})

    assert ids(cluster.search("", {"match": {"additional_info.k1": "v1"}})) == [ours]
    assert cluster.search("", {"match": {"additional_info.k1": "v1"}})["total"]["value"] == 1
    assert ids(cluster.search("", {"term": {"additional_info.deep.n": "5"}})) == [ours]
    assert cluster.search("", {"term": {"additional_info": "v1"}})["total"]["value"] == 2


def test_messages_are_those_of_the_memory(shared: Cluster) -> None:
    memory_a, memory_b = shared.memory(), shared.memory()
    ours = [
        shared.message(memory_a, input="input about fish"),
        shared.message(memory_a, input="input about squash"),
        shared.message(memory_a, input="input about france"),
    ]
    shared.message(memory_b, input="input about fish")

    hits = shared.search(f"/{memory_a}", {"match": {"input": "fish input"}})

    assert set(ids(hits)) == set(ours)
    assert ids(hits)[0] == ours[0]
    assert shared.search(f"/{memory_a}", {"term": {"memory_id": memory_b}})["hits"] == []


def test_text_is_cut_into_words_of_small_letters(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="A Conversation")
    assert cluster.search("", {"term": {"name": {"value": "Conversation"}}})["hits"] == []
    assert ids(cluster.search("", {"term": {"name": {"value": "conversation"}}})) == [memory_id]


def test_japanese_is_found(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="映画の話")
    question = "おすすめの映画を教えてください。"
    message_id = cluster.message(memory_id, input=question, response="どんなジャンルがお好きですか？")
    cluster.message(memory_id, input="天気はどうですか？")

    for word in ("映画", "おすすめ"):
        assert ids(cluster.search(f"/{memory_id}", {"match_phrase": {"input": word}})) == [message_id]
        assert ids(cluster.search(f"/{memory_id}", {"match": {"input": word}}))[0] == message_id
    assert ids(cluster.search("", {"match": {"name": "映画"}})) == [memory_id]
    raw = json.dumps({"query": {"match": {"response": "ジャンル"}}}, ensure_ascii=False)
    assert ids(cluster.call("POST", f"/{memory_id}/_search", raw=raw).body["hits"]) == [message_id]
    hits = cluster.search(
        f"/{memory_id}",
        {"match_phrase": {"input": "映画"}},
        highlight={"fields": {"input": {"number_of_fragments": 0}}},
    )
    assert hits["hits"][0]["highlight"] == {"input": ["おすすめの<em>映</em><em>画</em>を教えてください。"]}


def test_times(shared: Cluster) -> None:
    memory_id = shared.memory()
    message_ids = [shared.message(memory_id, input=f"{number}") for number in range(3)]
    newest = shared.get(f"/message/{message_ids[2]}")["create_time"]
    in_ms = shared.search(f"/{memory_id}", sort=["create_time"])["hits"][2]["sort"][0]

    for bound in (newest[:23] + "Z", in_ms, str(in_ms)):
        assert message_ids[2] in ids(shared.search(f"/{memory_id}", {"range": {"create_time": {"gte": bound}}}))
    assert shared.search(f"/{memory_id}", {"range": {"create_time": {"lt": 5}}})["hits"] == []
    assert len(ids(shared.search(f"/{memory_id}", {"range": {"create_time": {"gte": "now-1d"}}}))) == 3


def test_traces_are_found_and_told_from_messages(shared: Cluster) -> None:
    memory_id = shared.memory()
    parent = shared.message(memory_id, input="q")
    traces = [
        shared.message(memory_id, input="t", origin="tool", parent_message_id=parent, trace_number=number)
        for number in (2, 1)
    ]

    of_traces = {"bool": {"must_not": {"exists": {"field": "trace_number"}}}}
    assert ids(shared.search(f"/{memory_id}", of_traces)) == [parent]
    assert set(ids(shared.search(f"/{memory_id}", {"exists": {"field": "trace_number"}}))) == set(traces)
    by_number = shared.search(f"/{memory_id}", {"term": {"parent_message_id": parent}}, sort=["trace_number"])
    assert ids(by_number) == traces[::-1]
    assert (
        ids(shared.search(f"/{memory_id}", {"terms": {"origin": ["tool", "x"]}}, sort="trace_number")) == traces[::-1]
    )


def test_every_search_sees_what_was_written_before(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="before")
    message_id = cluster.message(memory_id, input="q")
    assert cluster.search(f"/{memory_id}", {"match": {"response": "late"}})["hits"] == []

    cluster.put(f"/message/{message_id}", {"response": "late"})
    assert ids(cluster.search(f"/{memory_id}", {"match": {"response": "late"}})) == [message_id]
    cluster.put(f"/message/{message_id}", {"response": "later"})
    assert cluster.search(f"/{memory_id}", {"match": {"response": "late"}})["hits"] == []
    cluster.put(f"/{memory_id}", {"name": "after"})
    assert ids(cluster.search("", {"match": {"name": "after"}})) == [memory_id]
    assert cluster.search("", {"match": {"name": "before"}})["hits"] == []
    cluster.delete(f"/{memory_id}")
    assert cluster.search("")["hits"] == []


def test_our_own_conversations_are_found(cluster: Cluster, api: Api) -> None:
    conversation_id = api.create(name="ours", metadata={"topic": "names"})
    api.say(conversation_id, "My name is Ada.")
    api.say(conversation_id, "Hello Ada!", "assistant")

    assert ids(cluster.search("", {"match": {"additional_info.topic": "names"}})) == [conversation_id]
    [hit] = cluster.search(f"/{conversation_id}", {"match": {"input": "ada"}})["hits"]
    assert (hit["_source"]["input"], hit["_source"]["response"]) == ("My name is Ada.", "Hello Ada!")


# What clients really send

CLIENT_BODIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"query": ALL, "size": 1000}, ["first conversation", "second conversation", "other"]),
    (
        {"query": {"term": {"name": {"value": "conversation"}}}},
        ["first conversation", "second conversation"],
    ),
    ({"query": {"match": {"name": "first"}}}, ["first conversation"]),
    (
        {
            "from": 0,
            "size": 20,
            "query": {"multi_match": {"query": "conversation", "fields": ["name"]}},
            "sort": [{"updated_time": "desc"}],
        },
        ["second conversation", "first conversation"],
    ),
    (
        {"from": 20, "size": 20, "query": ALL, "sort": [{"updated_time": "desc"}]},
        [],
    ),
    (
        {"from": 0, "size": 10, "query": ALL, "sort": [{"create_time": "asc"}]},
        ["first conversation", "second conversation", "other"],
    ),
    (
        {"from": 1, "size": 1, "query": ALL, "sort": [{"create_time": {"order": "desc"}}]},
        ["second conversation"],
    ),
]


@pytest.mark.parametrize(("body", "found"), CLIENT_BODIES)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_bodies_of_real_clients(cluster: Cluster, method: str, body: dict[str, Any], found: list[str]) -> None:
    for name in ("first conversation", "second conversation", "other"):
        cluster.memory(name=name)

    reply = cluster.call(method, "/_search", body)

    assert reply.status == 200, reply
    assert sources(reply.body["hits"], "name") == found


def test_the_newest_messages_as_it_is_advised_to_ask_for_them(shared: Cluster) -> None:
    memory_id = shared.memory()
    for number in range(4):
        shared.message(memory_id, input=f"{number}")
    newest_first = [{"create_time": "desc"}]

    first = shared.search(f"/{memory_id}", sort=newest_first, size=2)
    second = shared.search(f"/{memory_id}", sort=newest_first, **{"from": 2, "size": 2})
    after = shared.search(f"/{memory_id}", sort=newest_first, size=2, search_after=first["hits"][1]["sort"])

    assert sources(first, "input") == ["3", "2"]
    assert sources(second, "input") == ["1", "0"]
    assert [text for text in sources(after, "input") if text not in ("2", "3")] == sources(after, "input")


def test_a_search_without_a_query_is_refused_as_real_servers_do(shared: Cluster) -> None:
    refused = shared.refusal("POST", "/_search", {"size": 100})
    assert refused == (400, "illegal_argument_exception", "inner bool query clause cannot be null")


def test_an_answer_has_its_limit(shared: Cluster) -> None:
    memory_id = shared.memory()
    for number in range(2):
        shared.message(memory_id, input=f"{number}", additional_info={"large": "x" * 2_900_000})

    refused = shared.refusal("POST", f"/{memory_id}/_search", {"query": ALL})

    assert refused[:2] == (413, "content_too_long_exception")
    assert len(shared.search(f"/{memory_id}", size=1)["hits"]) == 1
    assert len(shared.search(f"/{memory_id}", _source=["create_time"])["hits"]) == 2
