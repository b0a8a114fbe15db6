"""Held against Tantivy, live: random documents and queries, the same hits in the same order.

Known differences, each kept out of the comparison or taken into account:

* Tantivy multiplies every BM25 score by k1 + 1 = 2.2, as Lucene did before version 8 and OpenSearch before 3.0.
* It counts all documents in N and in the average length, Lucene those that have the field: all documents here have it.
* Its default tokenizer cuts at whatever is no letter or digit and knows no UAX #29 (`don't`, `3.14`, 映画): words here
  are plain. `test_lucene` compares the analysis, with Lucene itself.
* Its slop counts otherwise (it does not charge two for a swap): phrases here have none.
* Its patterns are regular expressions: wildcards are compared with Lucene, too.
* Sums are rounded to single precision after each addition, Lucene's once: six digits agree, hence the tolerance.
"""

from itertools import pairwise
from typing import Any

import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st
from tantivy import Occur
from tantivy import Query as Other

from conversations.search import Index

pytestmark = pytest.mark.slow

FIELDS = ("a", "b")
FACTOR = 2.2
TOLERANCE = 3e-6
MAPPING: dict[str, Any] = {"properties": {field: {"type": "text"} for field in FIELDS}}
WORDS = ["red", "blue", "green", "gray", "cat", "dog", "über"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
DOCUMENTS = st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, TEXTS)), min_size=1, max_size=12)
FIELD, WORD = st.sampled_from(FIELDS), st.sampled_from([*WORDS, "nowhere"])
BOOST = st.sampled_from([0.5, 1.0, 2.0, 3.5])
Query = dict[str, Any]

MATCHES = st.builds(
    lambda field, words, operator, boost: {
        "match": {field: {"query": " ".join(words), "operator": operator, "boost": boost}}
    },
    FIELD,
    st.lists(WORD, min_size=1, max_size=4, unique=True),
    st.sampled_from(["or", "and"]),
    BOOST,
)
TERMS = st.builds(lambda field, word: {"term": {field: {"value": word}}}, FIELD, WORD)
PHRASES = st.builds(
    lambda field, words: {"match_phrase": {field: " ".join(words)}}, FIELD, st.lists(WORD, min_size=2, max_size=3)
)
MULTI = st.builds(
    lambda word, rest: {"multi_match": {"query": word, "fields": list(FIELDS), "tie_breaker": rest}},
    WORD,
    st.sampled_from([0.0, 0.3]),
)
LEAVES = MATCHES | TERMS | PHRASES | MULTI


def _bool(must: list[Query], should: list[Query], must_not: list[Query]) -> Query:
    return {"bool": {"must": must, "should": should, "must_not": must_not}}


QUERIES = LEAVES | st.builds(
    _bool, st.lists(LEAVES, min_size=1, max_size=2), st.lists(LEAVES, max_size=2), st.lists(LEAVES, max_size=1)
)


class Tantivy:
    """An index of Tantivy in memory, with one segment."""

    def __init__(self, documents: list[dict[str, str]]) -> None:
        builder = tantivy.SchemaBuilder()
        for field in FIELDS:
            builder.add_text_field(field, tokenizer_name="default", index_option="position")
        builder.add_integer_field("number", stored=True)
        self._schema = builder.build()
        index = tantivy.Index(self._schema)
        writer = index.writer(heap_size=15_000_000, num_threads=1)
        for number, document in enumerate(documents):
            writer.add_document(tantivy.Document(number=number, **document))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def search(self, query: Query) -> list[tuple[int, float]]:
        hits = self._searcher.search(self._translated(query), 100).hits
        return [(int(self._searcher.doc(address)["number"][0]), float(score)) for score, address in hits]

    def _translated(self, query: Query) -> Other:
        [(name, body)] = query.items()
        if name == "bool":
            occurs = {"must": Occur.Must, "should": Occur.Should, "must_not": Occur.MustNot}
            return Other.boolean_query([(occurs[kind], self._translated(q)) for kind in occurs for q in body[kind]])
        if name == "multi_match":
            parts = [Other.term_query(self._schema, field, body["query"]) for field in body["fields"]]
            return Other.disjunction_max_query(parts, body["tie_breaker"])
        [(field, options)] = body.items()
        if name == "term":
            return Other.term_query(self._schema, field, options["value"])
        if name == "match_phrase":
            return Other.phrase_query(self._schema, field, options.split())
        occur = Occur.Must if options["operator"] == "and" else Occur.Should
        words = [(occur, Other.term_query(self._schema, field, word)) for word in options["query"].split()]
        return Other.boost_query(Other.boolean_query(words), options["boost"])


@settings(max_examples=80, deadline=None)
@given(DOCUMENTS, st.lists(QUERIES, min_size=1, max_size=6))
def test_hits_and_their_order_are_those_of_tantivy(documents: list[dict[str, str]], queries: list[Query]) -> None:
    index = Index(MAPPING, ((str(number), document) for number, document in enumerate(documents)))
    other = Tantivy(documents)

    for query in queries:
        ours = [(int(hit.id), hit.score or 0.0) for hit in index.search({"query": query, "size": 100}, now_ms=0).hits]
        theirs = {number: score / FACTOR for number, score in other.search(query)}
        assert {number for number, _ in ours} == theirs.keys(), query
        assert dict(ours) == pytest.approx(theirs, rel=TOLERANCE), query
        in_our_order = [theirs[number] for number, _ in ours]
        assert all(later <= earlier * (1 + TOLERANCE) for earlier, later in pairwise(in_our_order)), query
