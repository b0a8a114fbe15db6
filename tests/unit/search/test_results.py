"""Pages, totals, order, sources: what a request gets of what was found."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.search import Index, QueryError, Total

LONGEST = 2**63 - 1
MAPPING: dict[str, Any] = {
    "properties": {
        "text": {"type": "text"},
        "color": {"type": "keyword"},
        "size": {"type": "long"},
        "at": {"type": "date"},
        "info": {"type": "flat_object"},
    }
}


def sized() -> Index:
    index = Index(MAPPING)
    index.add("a", {"text": "red", "color": "red", "size": 3, "at": "2024-01-01T00:00:00.000Z"})
    index.add("b", {"text": "red red", "color": "blue", "size": 1, "at": 1})
    index.add("c", {"text": "red blue", "color": ["green", "azure"], "size": [2, 9]})
    index.add("d", {"text": "red", "size": 1})
    index.add("e", {"text": "gray"})
    return index


def ids(index: Index, **body: Any) -> list[str]:
    return [hit.id for hit in index.search(body, now_ms=0).hits]


def sorts(index: Index, **body: Any) -> list[Any]:
    return [hit.sort for hit in index.search(body, now_ms=0).hits]


def test_without_a_query_all_documents_in_order_of_indexing() -> None:
    results = sized().search({}, now_ms=0)

    assert [hit.id for hit in results.hits] == ["a", "b", "c", "d", "e"]
    assert (results.total, results.max_score) == (Total(5, "eq"), 1.0)


def test_equal_scores_stand_in_order_of_indexing() -> None:
    index = sized()
    index.add("a", {"text": "red"})  # a changed document is the latest one

    assert ids(index, query={"term": {"text": "red"}}) == ["b", "d", "a", "c"]


def test_pages() -> None:
    index = sized()

    pages = [ids(index, **{"from": start, "size": 2}) for start in (0, 2, 4, 6)]
    assert pages == [["a", "b"], ["c", "d"], ["e"], []]
    assert ids(index, size=0) == []
    assert index.search({"size": 0}, now_ms=0).max_score is None
    assert ids(index, size="3") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"from": -1}, r"\[from\] parameter cannot be negative"),
        ({"size": -1}, r"\[size\] parameter cannot be negative, found \[-1\]"),
        ({"size": 10_001}, r"less than or equal to: \[10000\] but was \[10001\]"),
        ({"from": 9_999, "size": 2}, r"but was \[10001\]"),
        ({"size": 2**31}, "size"),
        ({"size": 1.5}, "size"),
        ({"size": True}, "size"),
        ({"aggs": {}}, r"Unknown key for a START_OBJECT in \[aggs\]"),
        ({"post_filter": {}}, "post_filter"),
        ({"explain": True}, r"Unknown key for a VALUE_BOOLEAN in \[explain\]"),
        ({"sort": "nowhere"}, r"No mapping found for \[nowhere\] in order to sort on"),
        ({"sort": "text"}, "Text fields are not optimised"),
        ({"sort": "info.x"}, "can't sort on"),
        ({"sort": {"size": {"order": "up"}}}, "order"),
        ({"sort": {"size": {"nested": {}}}}, "nested"),
        ({"sort": [1]}, "malformed sort format"),
        ({"sort": {"size": {"missing": "x"}}}, "For input string"),
        ({"search_after": [1]}, "Sort must contain at least one field"),
        ({"search_after": [1], "sort": ["size", "color"]}, r"search_after has 1 value\(s\) but sort has 2"),
        ({"search_after": [], "sort": "size"}, "at least one value"),
        ({"search_after": [[1]], "sort": "size"}, "array or object"),
        ({"search_after": [1], "sort": "size", "from": 1}, "`from` parameter must be set to 0"),
        ({"search_after": ["x"], "sort": "size"}, "For input string"),
        ({"search_after": ["x"], "sort": [{"_score": "asc"}]}, "_score"),
        ({"min_score": "much"}, "min_score"),
        ({"track_total_hits": -2}, "must be positive or equals to -1, got -2"),
        ({"track_total_hits": "some"}, "track_total_hits"),
        ({"_source": 5}, "_source"),
        ({"_source": {"include": ["a"], "only": 1}}, "only"),
        ({"_source": [1]}, "_source"),
    ],
)
def test_what_is_unknown_or_out_of_bounds_is_refused_by_name(body: dict[str, Any], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        sized().search(body, now_ms=0)


def test_totals() -> None:
    index = sized()
    red = {"term": {"text": "red"}}

    totals = [index.search({"query": red, "track_total_hits": n}, now_ms=0).total for n in (True, False, 3, 4, -1)]

    assert totals == [Total(4, "eq"), None, Total(3, "gte"), Total(4, "eq"), Total(4, "eq")]


def test_beyond_ten_thousand_hits_the_total_is_a_lower_bound() -> None:
    index = Index(MAPPING, ((str(number), {"size": number}) for number in range(10_001)))

    assert index.search({"size": 0}, now_ms=0).total == Total(10_000, "gte")
    assert index.search({"size": 0, "track_total_hits": True}, now_ms=0).total == Total(10_001, "eq")


def test_no_hits() -> None:
    results = sized().search({"query": {"match_none": {}}}, now_ms=0)

    assert (results.total, results.max_score, results.hits) == (Total(0, "eq"), None, [])


def test_min_score_drops_hits_and_counts_without_them() -> None:
    body = {"query": {"constant_score": {"filter": {"term": {"text": "red"}}, "boost": 0.5}}}
    query = {"bool": {"must": [body["query"]], "should": [{"term": {"color": "red"}}]}}

    results = sized().search({"query": query, "min_score": 1}, now_ms=0)

    assert ([hit.id for hit in results.hits], results.total) == (["a"], Total(1, "eq"))


def test_one_key_ascending_and_descending() -> None:
    index = sized()

    assert ids(index, sort="size") == ["b", "d", "c", "a", "e"]
    assert ids(index, sort={"size": "desc"}) == ["c", "a", "b", "d", "e"]
    assert ids(index, sort=[{"size": {"order": "desc", "mode": "min"}}]) == ["a", "c", "b", "d", "e"]
    assert ids(index, sort="at") == ["b", "a", "c", "d", "e"]


def test_several_keys() -> None:
    assert ids(sized(), sort=["size", {"color": "desc"}]) == ["b", "d", "c", "a", "e"]
    assert ids(sized(), sort=[{"_score": "desc"}, {"size": "desc"}], query={"term": {"text": "red"}})[:1] == ["b"]
    assert ids(sized(), sort=[{"_id": "desc"}]) == ["e", "d", "c", "b", "a"]
    assert ids(sized(), sort=[{"_doc": "desc"}]) == ["e", "d", "c", "b", "a"]


def test_sort_values_are_those_of_opensearch() -> None:
    assert sorts(sized(), sort=["at", "color"], size=3) == [
        [1, "blue"],
        [1_704_067_200_000, "red"],
        [LONGEST, "azure"],
    ]
    assert sorts(sized(), sort=[{"size": "desc"}])[-1] == [-LONGEST - 1]


def test_missing_values_last_first_or_as_told() -> None:
    index = sized()

    assert ids(index, sort={"color": {"order": "asc"}}) == ["c", "b", "a", "d", "e"]
    assert ids(index, sort={"color": {"order": "desc"}}) == ["a", "c", "b", "d", "e"]
    assert ids(index, sort={"color": {"order": "asc", "missing": "_first"}}) == ["d", "e", "c", "b", "a"]
    assert ids(index, sort={"color": {"order": "desc", "missing": "_first"}}) == ["d", "e", "a", "c", "b"]
    assert ids(index, sort={"color": {"missing": None}}) == ["c", "b", "a", "d", "e"]
    assert ids(index, sort={"color": {"missing": "b"}}) == ["c", "d", "e", "b", "a"]
    assert ids(index, sort={"size": {"missing": 2}}) == ["b", "d", "c", "e", "a"]
    assert ids(index, sort={"size": {"order": "desc", "missing": "_first"}}) == ["e", "c", "a", "b", "d"]
    assert sorts(index, sort={"nowhere": {"unmapped_type": "keyword"}}, size=1) == [[None]]
    assert sorts(index, sort={"nowhere": {"unmapped_type": "long"}}, size=1) == [[LONGEST]]


def test_sorted_hits_have_no_score_unless_it_is_asked_for() -> None:
    red = {"term": {"text": "red"}}

    plain = sized().search({"query": red, "sort": "size"}, now_ms=0)
    tracked = sized().search({"query": red, "sort": "size", "track_scores": True}, now_ms=0)
    by_score = sized().search({"query": red, "sort": ["_score", "size"]}, now_ms=0)
    only_score = sized().search({"query": red, "sort": ["_score"]}, now_ms=0)

    assert (plain.max_score, {hit.score for hit in plain.hits}) == (None, {None})
    assert tracked.max_score == max(hit.score or 0 for hit in tracked.hits)
    assert by_score.max_score is None
    assert [hit.score for hit in by_score.hits] == [hit.sort[0] for hit in by_score.hits if hit.sort]
    assert only_score == sized().search({"query": red}, now_ms=0)


KEYS = st.sampled_from(["size", "color", "at", "_id", "_doc", "_score"])
VALUES = {"size": st.integers(-2, 2), "color": st.sampled_from(["a", "b", "c"]), "at": st.integers(0, 3)}
SOURCES = st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=1, max_size=12)


@given(
    SOURCES,
    st.lists(st.tuples(KEYS, st.sampled_from(["asc", "desc"]), st.sampled_from(["_first", "_last"])), max_size=3),
)
def test_search_after_goes_through_all_hits_in_order(
    sources: list[dict[str, Any]], keys: list[tuple[str, str, str]]
) -> None:
    index = Index(MAPPING, ((f"d{number}", source) for number, source in enumerate(sources)))
    sort = [{name: {"order": order, "missing": missing}} for name, order, missing in keys] + [{"_doc": "asc"}]
    body: dict[str, Any] = {"sort": sort, "query": {"bool": {"should": [{"match_all": {}}, {"term": {"color": "a"}}]}}}
    whole = index.search(body, now_ms=0).hits

    walked = []
    page = index.search({**body, "size": 2}, now_ms=0).hits
    while page:
        walked += page
        after = json.loads(json.dumps(page[-1].sort))
        page = index.search({**body, "size": 2, "search_after": after}, now_ms=0).hits

    assert walked == index.search({**body, "size": 100}, now_ms=0).hits
    assert whole == walked[:10]


def test_search_after_takes_a_date_as_text_and_leaves_the_total() -> None:
    results = sized().search({"sort": "at", "search_after": ["1970-01-01T00:00:00.001Z"]}, now_ms=0)

    assert ([hit.id for hit in results.hits], results.total) == (["a", "c", "d", "e"], Total(5, "eq"))


SOURCE = {"a": 1, "b": {"c": 2, "d": [{"e": 3, "f": 4}, {"f": 5}, 6]}, "ab": None, "g.h": 7}


@pytest.mark.parametrize(
    ("filter_", "shown"),
    [
        (True, SOURCE),
        ({}, SOURCE),
        (False, None),
        ("a", {"a": 1}),
        ("a*", {"a": 1, "ab": None}),
        (["b"], {"b": SOURCE["b"]}),
        (["b.c"], {"b": {"c": 2}}),
        (["b.*"], {"b": SOURCE["b"]}),
        (["*.f"], {"b": {"d": [{"f": 4}, {"f": 5}]}}),
        (["b.d.e", "a"], {"a": 1, "b": {"d": [{"e": 3}]}}),
        (["x"], {}),
        (["g.h"], {"g.h": 7}),
        ({"excludes": ["b"]}, {"a": 1, "ab": None, "g.h": 7}),
        ({"includes": ["b"], "excludes": ["b.d", "*.z"]}, {"b": {"c": 2}}),
        ({"exclude": "*.f", "include": "b.*"}, {"b": {"c": 2, "d": [{"e": 3}, {}, 6]}}),
    ],
)
def test_source_filters(filter_: Any, shown: dict[str, Any] | None) -> None:
    index = Index(MAPPING, [("1", SOURCE)])

    [hit] = index.search({"_source": filter_}, now_ms=0).hits

    assert hit.source == shown


def test_version_flags_are_the_callers_business() -> None:
    assert ids(sized(), version=True, seq_no_primary_term=True, size=1) == ["a"]
