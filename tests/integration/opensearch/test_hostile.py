"""Bodies and parameters that nobody sends by accident: refused in bounded time, with nothing written."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bed.opensearch import Cluster

pytestmark = pytest.mark.slow

DEEP = 100_000
HOSTILE = {
    "deep lists": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"input":' * DEEP + "1" + "}" * DEEP,
    "deep below": '{"input":"a","additional_info":' + '{"a":' * 500 + "1" + "}" * 501,
    "cut deep": "[" * DEEP,
    "a long number": '{"input":' + "9" * 5_000 + "}",
    "a longer number": '{"input":' + "9" * 500_000 + "}",
    "a great number": '{"trace_number":1e999,"input":"a"}',
    "no number": '{"input":NaN}',
    "infinity": '{"input":-Infinity}',
    "twice the same": '{"input":"a","input":"b"}',
    "twice the same below": '{"input":"a","additional_info":{"a":1,"a":2}}',
    "half a surrogate pair": '{"input":"\\ud83d"}',
    "half a surrogate pair in a name": '{"input":"a","additional_info":{"\\udc00":1}}',
    "a control character": '{"input":"a\x00b"}',
    "no JSON at all": "\x00\x01\x02",
    "a byte order mark": '\ufeff{"input":"a"}',
    "two documents": '{"input":"a"}{"input":"b"}',
    "a comma too many": '{"input":"a",}',
    "single quotes": "{'input':'a'}",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_bodies(shared: Cluster, case: str) -> None:
    memory_id = shared.memory(name="n")
    message_id = shared.message(memory_id, input="a")
    before = shared.get(), shared.messages(memory_id)

    for method, path in (
        ("POST", f"/{memory_id}/messages"),
        ("PUT", f"/message/{message_id}"),
        ("PUT", f"/{memory_id}"),
        ("POST", f"/conversation/{memory_id}"),
        ("POST", f"/{memory_id}/_search"),
        ("GET", "/_search"),
    ):
        status, _, reason = shared.refusal(method, path, raw=HOSTILE[case])
        assert status == 400, (method, path)
        assert len(reason) < 300
    assert (shared.get(), shared.messages(memory_id)) == before


@pytest.mark.parametrize("case", HOSTILE)
def test_bodies_of_new_memories(shared: Cluster, case: str) -> None:
    before = shared.get()
    assert shared.refusal("POST", "", raw=HOSTILE[case])[:2] == (400, "parse_exception")
    assert shared.get() == before


def test_what_only_looks_hostile(cluster: Cluster) -> None:
    memory_id = cluster.memory(name="\0")
    assert cluster.get(f"/{memory_id}")["name"] == "\0"
    message_id = cluster.message(memory_id, input="\u202e\ufffe\U0010ffff\0", additional_info={"": "x", "a.b": "c"})
    message = cluster.get(f"/message/{message_id}")
    assert message["input"] == "\u202e\ufffe\U0010ffff\0"
    assert message["additional_info"] == {"": "x", "a.b": "c"}
    assert cluster.search(f"/{memory_id}")["total"]["value"] == 1


QUERIES: dict[str, Any] = {
    "catastrophic regular expressions": {"regexp": {"input": "(a+)+$"}},
    "catastrophic wildcards": {"wildcard": {"input": {"value": "*a" * 5_000}}},
    "deep booleans": None,
    "many clauses": {"bool": {"should": [{"term": {"input": f"{n}"}} for n in range(20_000)]}},
    "an unknown query": {"unknown": {}},
    "two queries": {"match_all": {}, "match_none": {}},
    "a script": {"script": {"script": "1"}},
    "no object": [],
    "a text": "x",
    "a great boost": {"match_all": {"boost": 1e300}},
    "a bad range": {"range": {"create_time": {"gte": "2024-02-03"}}},
    "a bad date": {"range": {"create_time": {"gte": "now-1x"}}},
    "numbers for a number": {"term": {"trace_number": "9" * 4_000}},
}


@pytest.mark.parametrize("case", QUERIES)
@pytest.mark.parametrize("of_memories", [True, False])
def test_queries(shared: Cluster, case: str, of_memories: bool) -> None:
    memory_id = shared.memory(name="a" * 200)
    shared.message(memory_id, input="a" * 200)
    query = QUERIES[case]
    if case == "deep booleans":
        query = {"match_all": {}}
        for _ in range(60):
            query = {"bool": {"must": query}}
        query = {"bool": {"must": {"bool": {"unknown": query}}}}

    reply = shared.call("POST", "/_search" if of_memories else f"/{memory_id}/_search", {"query": query})

    if reply.status == 200:  # cheap after all: patterns are matched without going back, and memories have no numbers
        assert case in ("catastrophic wildcards", "a great boost") or (of_memories and case == "numbers for a number")
        return
    status, _, reason = reply.error
    assert status == 400
    assert len(reason) < 2_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.dictionaries(
    st.sampled_from(
        [
            *("name", "application_type", "additional_info", "input", "prompt_template", "response", "origin"),
            *("parent_message_id", "trace_number", "query", "from", "size", "sort", "_source", "search_after"),
            *("track_total_hits", "min_score", "highlight", "aggs", "version"),
        ]
    ),
    JSON,
    max_size=6,
)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=MEMBERS | JSON)
def test_whatever_is_sent_is_answered(shared: Cluster, body: Any) -> None:
    memory_id = shared.memory(name="n")
    message_id = shared.message(memory_id, input="a")

    for method, path in (
        ("POST", ""),
        ("PUT", f"/{memory_id}"),
        ("POST", f"/{memory_id}/messages"),
        ("PUT", f"/message/{message_id}"),
        ("POST", f"/conversation/{memory_id}"),
        ("POST", "/_search"),
        ("POST", f"/{memory_id}/_search"),
    ):
        reply = shared.call(method, path, body)
        assert reply.status in (200, 400), (method, path, reply)
    for path in ("", f"/{memory_id}", f"/{memory_id}/messages", f"/message/{message_id}"):
        shared.get(path)
    shared.search("")
    shared.search(f"/{memory_id}")


@pytest.mark.parametrize(
    "query",
    [
        {"filter_path": "*a" * 3_000},
        {"filter_path": ",".join(["**.a"] * 1_000)},
        {"max_results": "9" * 5_000},
        {"next_token": "٣"},
        {"next_page_token": "=" * 5_000},
        {"x" * 5_000: "1"},
        {"\0": "1"},
    ],
)
def test_parameters(shared: Cluster, query: dict[str, Any]) -> None:
    shared.memory(name="a" * 1_000)
    reply = shared.call("GET", "", **query)
    assert reply.status == (200 if "filter_path" in query else 400)
