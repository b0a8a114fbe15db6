"""Hostile requests and documents: refused, or answered within bounds."""

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from conversations.search import DocumentError, Index, QueryError

pytestmark = pytest.mark.slow

MAPPING: dict[str, Any] = {
    "properties": {
        "text": {"type": "text"},
        "kind": {"type": "keyword"},
        "count": {"type": "long"},
        "at": {"type": "date"},
        "info": {"type": "flat_object"},
    }
}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Processor time, so that a busy machine fails nothing; the bounds are some ten times what is needed."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index(MAPPING, ((str(n), {"text": f"some words and word{n}", "kind": f"k{n}"}) for n in range(2_000)))
    index.add("long", {"text": "a b " * 20_000, "kind": "aaaaaaaaaa" * 1_000})
    return index


def nested(kind: str, depth: int) -> dict[str, Any]:
    query: dict[str, Any] = {"match_all": {}}
    for _ in range(depth):
        query = {"constant_score": {"filter": query}} if kind == "constant_score" else {"bool": {kind: [query]}}
    return query


@pytest.mark.parametrize("kind", ["must", "filter", "should", "must_not", "constant_score"])
def test_nesting_10000_deep_is_refused(index: Index, kind: str) -> None:
    with within(1), pytest.raises(QueryError, match=r"exceeds the maximum nested depth"):
        index.search({"query": nested(kind, 10_000)}, now_ms=0)


def test_nesting_is_answered_up_to_twenty_levels(index: Index) -> None:
    assert len(index.search({"query": nested("must", 19)}, now_ms=0).hits) == 10
    with pytest.raises(QueryError, match="nested depth"):
        index.search({"query": nested("must", 20)}, now_ms=0)


def test_values_nested_10000_deep_are_refused(index: Index) -> None:
    value: Any = "x"
    for _ in range(10_000):
        value = [value]

    for query in (
        {"term": {"kind": value}},
        {"match": {"text": {"query": value}}},
        {"range": {"count": {"gte": value}}},
    ):
        with pytest.raises(QueryError):
            index.search({"query": query}, now_ms=0)


@pytest.mark.parametrize("name", ["size", "min_score", "track_scores", "track_total_hits"])
def test_values_nested_too_deep_to_be_told_are_refused(index: Index, name: str) -> None:
    value: Any = {}
    for _ in range(100_000):
        value = {"k": [value]}
    options: list[Any] = [{name: value}] + [
        {"query": {"match": {"text": {"query": "a", option: value}}}} for option in ("operator", "boost", "lenient")
    ]

    sorts = [("kind", "mode"), ("kind", "missing"), ("count", "missing")]
    for body in [*options, *({"sort": {field: {option: value}}} for field, option in sorts)]:
        with pytest.raises(QueryError):
            index.search(body, now_ms=0)
    with pytest.raises(DocumentError, match="START_OBJECT"):
        Index(MAPPING).add("1", {"count": value})


def test_documents_nested_10000_deep_are_taken() -> None:
    value: Any = "deep"
    for _ in range(10_000):
        value = {"k": value}
    index = Index(MAPPING)

    with within(5), pytest.raises(DocumentError, match="immense term"):
        index.add("1", {"info": value})  # the path alone is 20,000 letters, but a term of it and the value fits
        index.add("2", {"info": {"k" * 40_000: "x"}})

    assert index.memory_bytes > 0


@pytest.mark.parametrize(
    "pattern",
    ["*a*b*c*d*e*f*g*h*i*j*", "*a" * 5_000 + "*", "*" * 100_000, "?" * 10_000, "a*" * 2_000 + "b", "*?" * 3_000],
)
@pytest.mark.parametrize("field", ["text", "kind"])
def test_wildcards_take_no_longer_than_their_parts(index: Index, pattern: str, field: str) -> None:
    with within(2):
        index.search({"query": {"wildcard": {field: pattern}}}, now_ms=0)


def test_a_million_terms_are_refused(index: Index) -> None:
    with within(2), pytest.raises(QueryError, match=r"number of terms \[1000000\] .* maximum of \[65536\]"):
        index.search({"query": {"terms": {"kind": ["x"] * 1_000_000}}}, now_ms=0)


def test_65536_terms_are_answered(index: Index) -> None:
    with within(2):
        results = index.search({"query": {"terms": {"kind": [f"k{n}" for n in range(65_536)]}}}, now_ms=0)

    assert results.total is not None
    assert results.total.value == 2_000


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"text": "word " * 2_000}},
        {"match_phrase": {"text": "word " * 2_000}},
        {"bool": {"should": [{"match_all": {}}] * 1_025}},
        {"bool": {"should": [{"bool": {"should": [{"match_all": {}}] * 100}}] * 100}},
        {"ids": {"values": ["x"] * 100_000}},
        {"multi_match": {"query": "x", "fields": ["text"] * 5_000}},
    ],
)
def test_too_many_clauses_are_refused(index: Index, query: dict[str, Any]) -> None:
    with within(2), pytest.raises(QueryError, match=r"1024|65536"):
        index.search({"query": query}, now_ms=0)


@pytest.mark.parametrize("slop", [2**31 - 1, 10_000])
@pytest.mark.parametrize("text", ["a b", "b a", "a b a b", "some words"])
def test_a_huge_slop_is_answered(index: Index, slop: int, text: str) -> None:
    with within(5):
        results = index.search({"query": {"match_phrase": {"text": {"query": text, "slop": slop}}}}, now_ms=0)

    assert results.total is not None
    assert results.total.value >= 1


def test_a_sloppy_phrase_of_a_thousand_words_in_a_long_document_is_refused() -> None:
    words = " ".join(f"w{number}" for number in range(1_000))
    index = Index(MAPPING, [("1", {"text": f"{words} " * 30})])

    with within(5), pytest.raises(QueryError, match="too many steps"):
        index.search({"query": {"match_phrase": {"text": {"query": words, "slop": 1_000}}}}, now_ms=0)


@pytest.mark.parametrize("slop", [0, 5])
def test_phrases_of_hundreds_of_repeated_words_are_refused_or_answered(index: Index, slop: int) -> None:
    with within(10):
        try:
            index.search({"query": {"match_phrase": {"text": {"query": "a b " * 500, "slop": slop}}}}, now_ms=0)
        except QueryError as error:
            assert "too many steps" in error.reason


@pytest.mark.parametrize(
    "body",
    [
        {"from": 10**30},
        {"size": -(10**30)},
        {"size": 1e308},
        {"size": float("inf")},
        {"size": "9" * 5_000},
        {"min_score": 1e39},
        {"min_score": float("nan")},
        {"query": {"match_phrase": {"text": {"query": "a b", "slop": 10**20}}}},
        {"query": {"match_all": {"boost": 10**400}}},
        {"query": {"match_all": {"boost": "1e999"}}},
        {"query": {"term": {"count": 10**4_000}}},
        {"query": {"term": {"count": "1e1000000000"}}},
        {"query": {"range": {"count": {"gte": float("inf")}}}},
        {"query": {"range": {"at": {"gte": 10**30}}}},
        {"query": {"range": {"at": {"gte": "now+999999999d"}}}},
        {"query": {"range": {"at": {"gte": "now" + "+1d" * 5 + "+1"}}}},
        {"query": {"match": {"text": {"query": "a b", "minimum_should_match": "9" * 50}}}},
        {"search_after": [10**400], "sort": "count"},
        {"search_after": [float("inf")], "sort": "count"},
        {"search_after": [10**400], "sort": [{"_score": "asc"}]},
        {"sort": ["count"] * 1_000},
        {"_source": ["a"] * 5_000},
        {"highlight": {"fields": {f"f{n}": {} for n in range(1_000)}}},
        {"highlight": {"fields": {"text": {"fragment_size": 10**12}}}},
    ],
    ids=lambda body: str(body)[:80],
)
def test_numbers_out_of_range_are_refused(index: Index, body: dict[str, Any]) -> None:
    with within(1), pytest.raises(QueryError) as caught:
        index.search(body, now_ms=0)

    assert len(caught.value.reason) < 1_000


def test_a_thousand_clauses_over_all_documents_are_refused_or_answered(index: Index) -> None:
    clauses: list[dict[str, Any]] = [{"match_all": {}}, {"prefix": {"text": ""}}, {"match": {"text": "some words"}}]
    for clause in clauses:
        with within(5):
            try:
                index.search({"query": {"bool": {"should": [clause] * 250}}}, now_ms=0)
            except QueryError as error:
                assert "too many steps" in error.reason


def test_marks_of_tens_of_thousands_of_phrases(index: Index) -> None:
    for slop in (0, 3):
        query = {"match_phrase": {"text": {"query": "a b", "slop": slop}}}
        with within(5):
            [hit] = index.search({"query": query, "highlight": {"fields": {"text": {}}}}, now_ms=0).hits
        assert hit.highlight is not None


def test_very_many_highlights_are_refused() -> None:
    fields: list[dict[str, Any]] = [{"kind": {"fragment_size": size}} for size in range(100)]
    index = Index(MAPPING, [("1", {"kind": ["k" * 30_000 + str(number) for number in range(100)]})])

    with within(3), pytest.raises(QueryError, match="too many steps"):
        index.search({"query": {"exists": {"field": "kind"}}, "highlight": {"fields": fields}}, now_ms=0)


def test_a_deep_source_is_filtered() -> None:
    value: Any = "deep"
    for _ in range(5_000):
        value = {"k": [value]}
    index = Index(MAPPING, [("1", {"a": value, "b": 1})])

    shown = [index.search({"_source": patterns}, now_ms=0).hits[0].source for patterns in (["b"], ["a"], ["*.x"])]

    assert [list(source or {}) for source in shown] == [["b"], ["a"], []]


def test_a_thousand_source_patterns_over_many_hits(index: Index) -> None:
    with within(5):
        index.search({"_source": ["*a*b*c*d*", "x" * 1_000] * 500, "size": 2_000}, now_ms=0)


def test_huge_boosts_give_no_infinite_score(index: Index) -> None:
    query = {"bool": {"should": [{"match": {"text": {"query": "a", "boost": 3e38}}}] * 3, "boost": 3e38}}

    [hit] = index.search({"query": query}, now_ms=0).hits

    assert hit.score == pytest.approx(3.4028235e38, rel=1e-6)


@pytest.mark.parametrize("text", ["a" + "\u0301" * 500_000, "ℹ️ a note. " * 5_000, "😀\u200d" * 100_000, "a'" * 300_000])
def test_texts_that_are_hard_to_take_apart(text: str) -> None:
    with within(3):
        Index(MAPPING).add("1", {"text": text})


def test_strange_texts_are_taken(index: Index) -> None:
    for text in ("\ud800", "\0\0a\0", "\U0010ffff", "a" * 100_000, "\u202e\u0301"):
        taken = Index(MAPPING, [("1", {"text": text, "kind": text[:1_000]})])
        with within(3):
            taken.search(
                {"query": {"match": {"text": text}}, "highlight": {"fields": {"*": {}}}, "sort": "kind"}, now_ms=0
            )


@pytest.mark.parametrize(
    ("name", "value"),
    [("k" * 100_000, 1), ("k" * 32_000, 1), ("k" * 100_000, {}), ("k" * 100_000, None), ("k" * 32_000, [1])],
)
def test_a_long_name_above_many_leaves_does_not_take_its_length_for_each(name: str, value: Any) -> None:
    index = Index(MAPPING)
    document = {"info": {name: {str(n): value for n in range(20_000)}}}
    tracemalloc.start()

    with within(2), suppress(DocumentError):
        index.add("1", document)

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 30_000_000
    index.add("1", {"info": {"a": {"b": [{"c": 1}, {"d": [{"e": None}, 2]}], "": {"x": 3}}}})
    for path, text in (("a.b.c", "1"), ("a.b.d", "2"), ("a..x", "3")):
        assert len(index.search({"query": {"term": {f"info.{path}": text}}}, now_ms=0).hits) == 1


@pytest.mark.parametrize(
    ("filter_", "shown"),
    [(["kind"], {"kind"}), ({"excludes": ["kind"]}, {"info"}), ({"includes": ["info.x*"], "excludes": ["*.k"]}, set())],
)
def test_long_names_are_not_put_together_where_no_filter_reaches(filter_: Any, shown: set[str]) -> None:
    index = Index(MAPPING)
    for number in range(20):
        info = {"k" * 100_000: dict.fromkeys(map(str, range(2_000)), 1)}
        index.add(str(number), {"kind": "a", "info": info}, without=["info"])
    tracemalloc.start()

    with within(1):
        hits = index.search({"_source": filter_, "size": 20}, now_ms=0).hits

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000_000
    assert [set(hit.source or {}) for hit in hits] == [shown] * 20


def test_a_text_of_more_words_than_there_are_symbols_is_found_by_its_words() -> None:
    index = Index(MAPPING)
    index.add("long", {"text": "so on " * 600_000 + "end"})

    assert [hit.id for hit in index.search({"query": {"match_phrase": {"text": "on end"}}}, now_ms=0).hits] == ["long"]
