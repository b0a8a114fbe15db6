"""Documents that come, change and go: the index is always as if it had been made anew from those that are there."""

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.search import DocumentError, Index
from conversations.search.terms import TermDictionary

MAPPING: dict[str, Any] = {
    "properties": {
        "text": {"type": "text"},
        "kind": {"type": "keyword"},
        "count": {"type": "long"},
        "at": {"type": "date"},
        "info": {"type": "flat_object"},
    }
}
WORDS = st.lists(st.sampled_from(["red", "blue", "ab", "映画", "don't"]), max_size=6).map(" ".join)
SOURCES = st.fixed_dictionaries(
    {},
    optional={
        "text": WORDS | st.lists(WORDS, max_size=3),
        "kind": st.sampled_from(["a", "b"]),
        "count": st.integers(0, 3) | st.none(),
        "at": st.integers(0, 3),
        "info": st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["v", 1, None])),
    },
)
STEPS = st.lists(st.tuples(st.sampled_from("wxyz"), SOURCES | st.none()), max_size=20)
QUERIES: list[dict[str, Any]] = [
    {"match": {"text": "red blue"}},
    {"match_phrase": {"text": "red blue"}},
    {"match_phrase": {"text": {"query": "blue red", "slop": 3}}},
    {"match_phrase_prefix": {"text": "red b"}},
    {"prefix": {"text": "r"}},
    {"wildcard": {"text": "*b*"}},
    {"term": {"kind": "a"}},
    {"range": {"count": {"gte": 1}}},
    {"range": {"at": {"lt": 3}}},
    {"term": {"info.k": "v"}},
    {"exists": {"field": "info"}},
    {"exists": {"field": "text"}},
    {"match_all": {}},
]


def answers(index: Index) -> list[Any]:
    return [index.search({"query": query, "sort": ["_score", "_doc"]}, now_ms=0) for query in QUERIES]


def comparable(index: Index) -> list[Any]:
    return [[(hit.id, hit.score) for hit in results.hits] for results in answers(index)]


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_an_index_equals_one_made_anew_from_its_documents(steps: list[tuple[str, dict[str, Any] | None]]) -> None:
    index, documents = Index(MAPPING), dict[str, dict[str, Any]]()
    for id_, source in steps:
        documents.pop(id_, None)
        if source is None:
            index.remove(id_)
        else:
            documents[id_] = source
            index.add(id_, source)
        index.search({"query": {"prefix": {"text": "r"}}}, now_ms=0)  # so that orders are kept up, not made once

    anew = Index(MAPPING, documents.items())

    assert comparable(index) == comparable(anew)
    assert len(index) == len(documents)
    for id_ in "wxyz":
        index.remove(id_)
    assert index.memory_bytes <= Index(MAPPING).memory_bytes + 200


def test_a_term_that_is_gone_leaves_its_symbol_to_another() -> None:
    dictionary = TermDictionary()
    [first] = dictionary.add_once(1, ["red"])
    dictionary.remove(1, {first})

    assert [term.symbol for term in dictionary.add_once(2, ["blue"])] == [first.symbol]


def test_removing_tells_whether_there_was_something() -> None:
    index = Index(MAPPING, [("1", {"text": "red"})])

    assert "1" in index
    assert (index.remove("1"), index.remove("1")) == (True, False)
    assert ("1" in index, len(index)) == (False, 0)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"count": "many"}, r"failed to parse field \[count\] of type \[long\]: For input string"),
        ({"count": 2**63}, "out of range for a long"),
        ({"count": {"a": 1}}, "count"),
        ({"count": True}, "count"),
        ({"count": "1e400"}, "out of range"),
        ({"count": float("nan")}, "For input string"),
        ({"at": "2024-02-03"}, "failed to parse date field"),
        ({"at": True}, "no date"),
        ({"text": {"a": "b"}}, "START_OBJECT"),
        ({"kind": "k" * 32_767}, "immense term"),
        ({"info": "v"}, "flat_object"),
        ({"info": [{"k": 1}, "v"]}, "flat_object"),
        ({"info": {"k": "v" * 32_766}}, "immense term"),
    ],
)
def test_a_refused_document_changes_nothing(source: dict[str, Any], reason: str) -> None:
    index = Index(MAPPING, [("1", {"text": "red", "kind": "a"})])
    before, memory = comparable(index), index.memory_bytes

    with pytest.raises(DocumentError, match=reason) as caught:
        index.add("1", {"text": "blue new words", **source})

    assert caught.value.type == "mapper_parsing_exception"
    assert (comparable(index), index.memory_bytes) == (before, memory)


def test_values_are_read_as_opensearch_reads_them() -> None:
    index = Index(
        MAPPING, [("1", {"count": "7", "kind": 5, "text": [1.5, True, None], "at": None, "info": {"n": 1.0}})]
    )
    queries: list[dict[str, Any]] = [
        {"term": {"count": 7}},
        {"term": {"kind": "5"}},
        {"match": {"text": "1.5"}},
        {"term": {"text": "true"}},
        {"term": {"info.n": "1.0"}},
    ]

    assert [len(index.search({"query": query}, now_ms=0).hits) for query in queries] == [1] * 5


def test_nested_fields_are_found_by_path() -> None:
    mapping: dict[str, Any] = {"properties": {"a": {"properties": {"b": {"type": "keyword"}}}}}
    index = Index(mapping, [("1", {"a": [{"b": "x"}, {"b": ["y", "z"]}]}), ("2", {"a.b": "z"})])

    found = index.search({"query": {"term": {"a.b": "z"}}}, now_ms=0)
    assert [hit.id for hit in found.hits] == ["1", "2"]
    assert len(index.search({"query": {"exists": {"field": "a"}}}, now_ms=0).hits) == 2


@pytest.mark.parametrize(
    "mapping",
    [
        {},
        {"properties": {"a": {"type": "geo_point"}}},
        {"properties": {"a": {"type": "text", "analyzer": "english"}}},
        {"properties": {"a": {"type": "date", "format": "yyyy"}}},
        {"properties": {"a": "text"}},
        {"properties": {}, "dynamic": False},
    ],
)
def test_an_unknown_mapping_is_refused(mapping: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"mapping|FieldType|parameter|yyyy|object"):
        Index(mapping)


@pytest.mark.slow
def test_the_memory_it_tells_is_the_memory_it_takes() -> None:
    def documents() -> Iterator[tuple[str, dict[str, Any]]]:
        for number in range(2_000):
            text = " ".join(f"w{number * k % 977}" for k in range(60))
            yield f"id{number}", {"text": text, "kind": f"k{number % 7}", "at": number, "info": {"n": number}}

    Index(MAPPING, documents())  # what is made once, such as tables, is not counted
    gc.collect()
    tracemalloc.start()
    index = Index(MAPPING, documents())
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert 0.95 * taken <= index.memory_bytes <= 1.3 * taken  # it errs on the side of caution
