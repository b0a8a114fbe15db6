"""Each kind of query, what it finds and what it refuses."""

from typing import Any

import pytest

from conversations.search import Index, QueryError, ShardError
from conversations.search.minimum_should_match import required_matches

NOW = 1_706_992_570_252  # 2024-02-03T20:36:10.252Z
MAPPING: dict[str, Any] = {
    "properties": {
        "name": {"type": "text"},
        "input": {"type": "text"},
        "origin": {"type": "keyword"},
        "create_time": {"type": "date", "format": "strict_date_time||epoch_millis"},
        "trace_number": {"type": "long"},
        "additional_info": {"type": "flat_object"},
    }
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "henry": {
        "name": "Henry Conversation",
        "input": "What is the capital of France?",
        "origin": "ChatBot",
        "create_time": "2024-02-02T18:07:06.887061463Z",
        "trace_number": None,
        "additional_info": {"k1": "v1", "nested": {"count": 3, "tags": ["x", "y"]}, "ok": True, "none": None},
    },
    "mehul": {
        "name": "Mehul Conversation",
        "input": "the quick brown fox jumps over the lazy dog",
        "origin": "chatbot",
        "create_time": NOW,
        "trace_number": 1,
        "additional_info": {"k1": "V1", "k2": "v1"},
    },
    "film": {
        "name": "映画",
        "input": ["おすすめの映画を教えてください。", "quick fox"],
        "create_time": str(NOW - 86_400_000),
        "trace_number": "12",
    },
    "empty": {"name": "", "origin": "", "additional_info": {}, "unmapped": "henry"},
}


@pytest.fixture(scope="module")
def index() -> Index:
    return Index(MAPPING, DOCUMENTS.items())


def found(index: Index, query: dict[str, Any]) -> set[str]:
    return {hit.id for hit in index.search({"query": query}, now_ms=NOW).hits}


def scored(index: Index, query: dict[str, Any]) -> dict[str, float | None]:
    return {hit.id: hit.score for hit in index.search({"query": query}, now_ms=NOW).hits}


FINDS: list[tuple[dict[str, Any], str]] = [
    ({"match_all": {}}, "henry mehul film empty"),
    ({"match_none": {}}, ""),
    ({"match": {"name": "Henry Conversation"}}, "henry mehul"),
    ({"match": {"name": {"query": "Henry Conversation", "operator": "AND"}}}, "henry"),
    ({"match": {"name": {"query": "henry mehul conversation", "minimum_should_match": 2}}}, "henry mehul"),
    ({"match": {"name": {"query": "henry mehul conversation", "minimum_should_match": "100%"}}}, ""),
    ({"match": {"name": {"query": "henry conversation x", "minimum_should_match": "-1"}}}, "henry"),
    ({"match": {"name": "..."}}, ""),
    ({"match": {"name": {"query": "...", "zero_terms_query": "all"}}}, "henry mehul film empty"),
    ({"match": {"unmapped": "henry"}}, ""),
    ({"match": {"input": "映画"}}, "film"),
    ({"match": {"input": "おすすめ"}}, "film"),
    ({"match": {"origin": "chatbot"}}, "mehul"),
    ({"match": {"trace_number": "12"}}, "film"),
    ({"match": {"create_time": "2024-02-02T18:07:06.887Z"}}, "henry"),
    ({"match": {"additional_info.k1": "v1"}}, "henry"),
    ({"match": {"additional_info": "v1"}}, "henry mehul"),
    ({"match": {"_id": "film"}}, "film"),
    ({"match": {"trace_number": {"query": "many", "lenient": True}}}, ""),
    ({"multi_match": {"query": "henry fox", "fields": ["name", "input"]}}, "henry mehul film"),
    ({"multi_match": {"query": "henry", "fields": ["na*"]}}, "henry"),
    ({"multi_match": {"query": "henry"}}, "henry"),
    ({"multi_match": {"query": "quick fox", "fields": ["*"], "type": "phrase"}}, "film"),
    ({"multi_match": {"query": "quick bro", "fields": ["input"], "type": "phrase_prefix"}}, "mehul"),
    ({"multi_match": {"query": "henry", "fields": ["nowhere"]}}, ""),
    ({"match_phrase": {"input": "quick brown"}}, "mehul"),
    ({"match_phrase": {"input": "brown quick"}}, ""),
    ({"match_phrase": {"input": {"query": "brown quick", "slop": 2}}}, "mehul"),
    ({"match_phrase": {"input": {"query": "quick fox", "slop": 1}}}, "mehul film"),
    ({"match_phrase": {"input": {"query": "ください quick", "slop": 99}}}, ""),
    ({"match_phrase": {"input": {"query": "い quick", "slop": 100}}}, "film"),
    ({"match_phrase": {"origin": "ChatBot"}}, "henry"),
    ({"match_phrase_prefix": {"input": "quick br"}}, "mehul"),
    ({"match_phrase_prefix": {"input": {"query": "qu", "max_expansions": 1}}}, "mehul film"),
    ({"match_phrase_prefix": {"input": "the la"}}, "mehul"),
    ({"term": {"name": {"value": "conversation"}}}, "henry mehul"),
    ({"term": {"name": "Conversation"}}, ""),
    ({"term": {"origin": "ChatBot"}}, "henry"),
    ({"term": {"origin": ""}}, "empty"),
    ({"term": {"trace_number": 1}}, "mehul"),
    ({"term": {"trace_number": 1.0}}, "mehul"),
    ({"term": {"trace_number": 1.5}}, ""),
    ({"term": {"create_time": "2024-02-03T20:36:10.252Z"}}, "mehul"),
    ({"term": {"create_time": "now/d"}}, "mehul"),
    ({"term": {"additional_info.nested.count": 3}}, "henry"),
    ({"term": {"additional_info.nested.tags": "y"}}, "henry"),
    ({"term": {"additional_info.ok": True}}, "henry"),
    ({"term": {"_id": "film"}}, "film"),
    ({"terms": {"origin": ["ChatBot", "chatbot", "x"]}}, "henry mehul"),
    ({"terms": {"name": ["henry", "mehul"]}}, "henry mehul"),
    ({"terms": {"trace_number": [1, "12", 99]}}, "mehul film"),
    ({"terms": {"create_time": ["now/d", NOW - 86_400_000]}}, "mehul film"),
    ({"terms": {"_id": ["film", "nobody"]}}, "film"),
    ({"terms": {"additional_info.k1": ["V1"]}}, "mehul"),
    ({"ids": {"values": ["film", "henry", "nobody"]}}, "film henry"),
    ({"exists": {"field": "trace_number"}}, "mehul film"),
    ({"exists": {"field": "name"}}, "henry mehul film empty"),
    ({"exists": {"field": "input"}}, "henry mehul film"),
    ({"exists": {"field": "origin"}}, "henry mehul empty"),
    ({"exists": {"field": "additional_info"}}, "henry mehul"),
    ({"exists": {"field": "additional_info.nested.count"}}, "henry"),
    ({"exists": {"field": "additional_info.none"}}, ""),
    ({"exists": {"field": "nowhere"}}, ""),
    ({"range": {"create_time": {"gte": "2024-02-03T20:36:10.252Z"}}}, "mehul"),
    ({"range": {"create_time": {"gt": NOW}}}, ""),
    ({"range": {"create_time": {"gte": "now-1d", "lt": "now"}}}, "film"),
    ({"range": {"create_time": {"lte": "now-1d/d"}}}, "henry film"),
    ({"range": {"create_time": {"gt": "now-1d/d"}}}, "mehul"),
    ({"range": {"create_time": {"gte": "now-1d/d", "lt": "now/d"}}}, "henry film"),
    ({"range": {"create_time": {"lt": "2024-02-02T18:07:06.888+00:00"}}}, "henry"),
    ({"range": {"create_time": {"gte": "now/d", "time_zone": "+09:00"}}}, "mehul"),
    ({"range": {"trace_number": {"gt": 1}}}, "film"),
    ({"range": {"trace_number": {"gte": 0.5, "lt": 1.5}}}, "mehul"),
    ({"range": {"trace_number": {"from": 1, "to": 12, "include_upper": False}}}, "mehul"),
    ({"range": {"trace_number": {}}}, "mehul film"),
    ({"range": {"origin": {"gte": "D"}}}, "mehul"),
    ({"range": {"name": {"gte": "h", "lt": "n"}}}, "henry mehul"),
    ({"range": {"additional_info.nested.count": {"gte": "2", "lte": "4"}}}, "henry"),
    ({"range": {"additional_info.k1": {"gt": "V1"}}}, "henry"),
    ({"prefix": {"name": "conv"}}, "henry mehul"),
    ({"prefix": {"name": "Conv"}}, ""),
    ({"prefix": {"origin": {"value": "Chat"}}}, "henry"),
    ({"prefix": {"additional_info.k1": "v"}}, "henry"),
    ({"wildcard": {"name": {"value": "con*ion"}}}, "henry mehul"),
    ({"wildcard": {"name": {"value": "CON*ion"}}}, ""),
    ({"wildcard": {"origin": {"wildcard": "?hat*"}}}, "henry mehul"),
    ({"wildcard": {"origin": "CHAT*"}}, ""),
    ({"wildcard": {"additional_info.k1": "?1"}}, "henry mehul"),
    ({"wildcard": {"input": "映"}}, "film"),
    ({"bool": {}}, "henry mehul film empty"),
    ({"bool": {"must": [{"match": {"name": "conversation"}}, {"term": {"origin": "chatbot"}}]}}, "mehul"),
    ({"bool": {"must": {"match": {"name": "conversation"}}, "should": {"term": {"origin": "x"}}}}, "henry mehul"),
    ({"bool": {"should": [{"ids": {"values": ["film"]}}, {"term": {"name": "henry"}}]}}, "film henry"),
    ({"bool": {"filter": [{"exists": {"field": "name"}}], "must_not": [{"exists": {"field": "input"}}]}}, "empty"),
    ({"bool": {"must_not": [{"exists": {"field": "trace_number"}}]}}, "henry empty"),
    (
        {
            "bool": {
                "should": [{"term": {"name": n}} for n in ("henry", "mehul", "conversation")],
                "minimum_should_match": 2,
            }
        },
        "henry mehul",
    ),
    ({"bool": {"filter": {"match_all": {}}, "minimum_should_match": 1}}, ""),
    ({"constant_score": {"filter": {"match": {"name": "henry"}}}}, "henry"),
]


@pytest.mark.parametrize(("query", "ids"), FINDS, ids=[str(query) for query, _ in FINDS])
def test_a_query_finds(index: Index, query: dict[str, Any], ids: str) -> None:
    assert found(index, query) == set(ids.split())


def test_what_is_not_analyzed_scores_its_boost(index: Index) -> None:
    assert scored(index, {"term": {"origin": {"value": "chatbot", "boost": 2.5}}}) == {"mehul": 2.5}
    assert scored(index, {"range": {"trace_number": {"gte": 2, "boost": 0.5}}}) == {"film": 0.5}
    assert scored(index, {"prefix": {"name": "mehu"}}) == {"mehul": 1.0}
    assert scored(index, {"exists": {"field": "input"}}) == {"henry": 1.0, "mehul": 1.0, "film": 1.0}


def test_filters_alone_score_nothing(index: Index) -> None:
    assert scored(index, {"bool": {"filter": {"term": {"origin": "chatbot"}}}}) == {"mehul": 0.0}
    assert scored(index, {"bool": {"must_not": {"exists": {"field": "name"}}}}) == {}
    assert scored(index, {"bool": {"must_not": {"exists": {"field": "input"}}}}) == {"empty": 0.0}


def test_a_clause_in_must_adds_its_score(index: Index) -> None:
    alone = scored(index, {"match": {"name": "henry"}})["henry"]
    both = scored(index, {"bool": {"must": [{"match": {"name": "henry"}}, {"term": {"origin": "ChatBot"}}]}})["henry"]

    assert alone is not None
    assert both == pytest.approx(alone + 1, rel=1e-6)


def test_a_field_that_several_patterns_name_has_the_product_of_their_weights(index: Index) -> None:
    scores = [
        scored(index, {"multi_match": {"query": "henry", "fields": fields}})["henry"]
        for fields in (["name^6"], ["na*^3", "name^2"])
    ]

    assert scores[0] == scores[1]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"fuzzy": {"name": "henri"}}, r"unknown query \[fuzzy\]"),
    ({"query_string": {"query": "a"}}, r"unknown query \[query_string\]"),
    ({"match": {"name": {"query": "a", "fuzziness": 1}}}, r"\[match\] query does not support \[fuzziness\]"),
    ({"match": {"name": {"query": "a"}, "input": "b"}}, r"\[match\]"),
    ({"match": {"name": {}}}, r"\[match\] requires a value for \[query\]"),
    ({"match": {"name": {"query": ["a"]}}}, r"START_ARRAY"),
    ({"match": {"name": {"query": "a", "operator": "xor"}}}, "operator"),
    ({"match": {"name": {"query": "a b", "minimum_should_match": "x"}}}, 'For input string: "x"'),
    ({"match_all": {"foo": 1}}, r"\[match_all\] query does not support \[foo\]"),
    ({"multi_match": {"query": "a", "fields": ["name"], "type": "cross_fields"}}, "cross_fields"),
    ({"multi_match": {"query": "a", "fields": ["name^x"]}}, "boost"),
    ({"multi_match": {"query": "a", "fields": [1]}}, "fields"),
    ({"match_phrase": {"name": {"query": "a", "slop": -1}}}, "No negative slop"),
    ({"match_phrase": {"name": {"query": "a", "slop": 2**31}}}, "slop"),
    ({"match_phrase": {"name": {"query": "a", "analyzer": "x"}}}, "analyzer"),
    ({"match_phrase_prefix": {"origin": "a"}}, "Can only use phrase prefix queries on text fields"),
    ({"term": {"name": {"value": "a", "case_insensitive": True}}}, "case_insensitive"),
    ({"term": {"name": {"value": ["a"]}}}, "array or object"),
    ({"term": {"name": {"value": None}}}, "value cannot be null"),
    ({"term": {"trace_number": "x"}}, 'For input string: "x"'),
    ({"term": {"trace_number": 2**63}}, "out of range for a long"),
    ({"term": {"create_time": "2024-02-03"}}, r"failed to parse date field \[2024-02-03\] with format"),
    ({"terms": {"origin": "a"}}, "array of values"),
    ({"terms": {"origin": ["a"], "name": ["b"]}}, r"\[terms\]"),
    ({"ids": {"values": ["a"], "type": "x"}}, r"\[ids\] query does not support \[type\]"),
    ({"exists": {}}, r"\[exists\] must be provided with a \[field\]"),
    ({"range": {"trace_number": {"gte": 1, "near": 2}}}, r"\[range\] query does not support \[near\]"),
    ({"range": {"trace_number": {"gte": "one"}}}, "For input string"),
    ({"range": {"create_time": {"gte": "now", "format": "yyyy"}}}, "yyyy"),
    ({"range": {"create_time": {"gte": "now", "time_zone": "Asia/Tokyo"}}}, "Asia/Tokyo"),
    ({"range": {"origin": {"gte": "a", "format": "yyyy"}}}, "custom formats"),
    ({"prefix": {"trace_number": "1"}}, "Can only use prefix queries on keyword and text fields"),
    ({"wildcard": {"create_time": "1*"}}, "Can only use wildcard queries"),
    ({"wildcard": {"name": {"value": "a", "rewrite": "x"}}}, "rewrite"),
    ({"bool": {"musty": []}}, r"\[bool\] query does not support \[musty\]"),
    ({"bool": {"must": [{"nope": {}}]}}, r"unknown query \[nope\]"),
    ({"bool": {"must": "x"}}, "must start with start_object"),
    ({"constant_score": {"boost": 2}}, "requires a 'filter' element"),
    ({"match_all": {"boost": -1}}, r"negative \[boost\] are not allowed in \[match_all\]"),
    ({"match_all": {"boost": "heavy"}}, "boost"),
    ({"match_all": {"boost": 1e39}}, "boost"),
    ({"match_all": []}, "no start_object"),
    ({"match_all": {}, "match_none": {}}, r"\[match_all\] malformed query"),
    ({}, "empty clause"),
]


@pytest.mark.parametrize(("query", "reason"), REFUSED, ids=[str(query) for query, _ in REFUSED])
def test_what_is_unknown_or_malformed_is_refused_by_name(index: Index, query: dict[str, Any], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        index.search({"query": query}, now_ms=NOW)


@pytest.mark.parametrize(
    ("specification", "required"),
    [
        ("2", [2] * 5),  # of one clause, too: none matches
        ("-1", [0, 1, 2, 3, 9]),
        ("50%", [0, 1, 1, 2, 5]),
        ("-25%", [1, 2, 3, 3, 8]),
        ("-50%", [1, 1, 2, 2, 5]),
        ("2<75% 9<-3", [1, 2, 2, 3, 7]),
        (" 3 < -1 ", [1, 2, 3, 3, 9]),
        ("-20", [0] * 5),
    ],
)
def test_a_minimum_is_counted_as_opensearch_counts_it(specification: str, required: list[int]) -> None:
    assert [required_matches(clauses, specification) for clauses in (1, 2, 3, 4, 10)] == required


def test_errors_have_the_types_of_opensearch(index: Index) -> None:
    with pytest.raises(QueryError) as unknown:
        index.search({"query": {"nope": {}}}, now_ms=NOW)
    with pytest.raises(ShardError) as number:
        index.search({"query": {"term": {"trace_number": "x"}}}, now_ms=NOW)
    with pytest.raises(ShardError) as date:
        index.search({"query": {"term": {"create_time": "x"}}}, now_ms=NOW)

    types = [caught.value.type for caught in (unknown, number, date)]
    assert types == ["parsing_exception", "query_shard_exception", "parse_exception"]
    assert not isinstance(unknown.value, ShardError)
