"""Scores against values worked out by hand from Lucene's formulas.

BM25 (`BM25Similarity`, k1 = 1.2, b = 0.75) gives a term of weight w that occurs f times in a field of length dl

    idf  = ln(1 + (N - n + 0.5) / (n + 0.5))      N documents have the field, n of them the term
    norm = 1.2 * (0.25 + 0.75 * dl / avgdl)       avgdl is exact, dl what one byte keeps of the length
    score = w * idf * f / (f + norm)

The expected values below are written as these terms; nothing of the package computes them.
"""

from math import log
from typing import Any

import pytest

from conversations.search import Index
from conversations.search.single_precision import decoded_length, encoded_length, shortest

SIX_DIGITS = 1e-6


def index_of(*documents: dict[str, Any]) -> Index:
    fields = {name: {"type": "text"} for document in documents for name in document if name != "kind"}
    mapping = {"properties": {**fields, "kind": {"type": "keyword"}}}
    return Index(mapping, ((str(number), document) for number, document in enumerate(documents)))


def scores(index: Index, query: dict[str, Any]) -> dict[str, float]:
    hits = index.search({"query": query}, now_ms=0).hits
    return {hit.id: hit.score or 0.0 for hit in hits}


def test_one_field() -> None:
    index = index_of({"t": "red red blue"}, {"t": "blue"}, {"t": "green blue"}, {"t": "red green green green"})

    # N = 4, "red" in n = 2; lengths 3, 1, 2, 4: avgdl = 2.5.
    idf = log(1 + (4 - 2 + 0.5) / (2 + 0.5))  # ln 2 = 0.6931472
    first = idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2.5))  # 0.6931472 * 2 / 3.38 = 0.4101463
    fourth = idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 4 / 2.5))  # 0.6931472 / 2.74 = 0.2529734
    assert scores(index, {"match": {"t": "red"}}) == pytest.approx({"0": first, "3": fourth}, rel=SIX_DIGITS)
    assert (first, fourth) == pytest.approx((0.4101463, 0.2529734), rel=2e-7)


def test_a_field_that_few_documents_have_counts_only_these() -> None:
    index = index_of({"t": "red"}, {"t": "red blue"}, {"u": "red"}, {"u": "other"}, {"t": ""})

    # Of five documents two have a term in t: N = n = 2, avgdl = 1.5.
    idf = log(1 + (2 - 2 + 0.5) / (2 + 0.5))  # ln 1.2
    expected = {
        "0": idf / (1 + 1.2 * (0.25 + 0.75 * 1 / 1.5)),
        "1": idf / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.5)),
    }
    assert scores(index, {"match": {"t": "red"}}) == pytest.approx(expected, rel=SIX_DIGITS)


def test_several_fields_by_the_best_and_by_most() -> None:
    index = index_of({"a": "cat", "b": "dog dog"}, {"a": "cat dog", "b": "bird"}, {"a": "bird", "b": "cat cat cat cat"})

    # a: lengths 1, 2, 1, avgdl 4/3, "cat" in 2 of 3; b: lengths 2, 1, 4, avgdl 7/3, "cat" in 1 of 3.
    idf_a, idf_b = log(1 + (3 - 2 + 0.5) / 2.5), log(1 + (3 - 1 + 0.5) / 1.5)
    in_a0 = idf_a / (1 + 1.2 * (0.25 + 0.75 * 1 / (4 / 3)))
    in_a1 = idf_a / (1 + 1.2 * (0.25 + 0.75 * 2 / (4 / 3)))
    in_b2 = idf_b * 4 / (4 + 1.2 * (0.25 + 0.75 * 4 / (7 / 3)))
    best = {"multi_match": {"query": "cat", "fields": ["a", "b"]}}
    assert scores(index, best) == pytest.approx({"0": in_a0, "1": in_a1, "2": in_b2}, rel=SIX_DIGITS)

    # "dog" stands in b of the first (n = 1, f = 2) and in a of the second (n = 1); "cat dog" sums within a field.
    dog_a1 = log(1 + 2.5 / 1.5) / (1 + 1.2 * (0.25 + 0.75 * 2 / (4 / 3)))
    dog_b0 = idf_b * 2 / (2 + 1.2 * (0.25 + 0.75 * 2 / (7 / 3)))
    tied = {"multi_match": {"query": "cat dog", "fields": ["a", "b^3"], "tie_breaker": 0.4}}
    expected = {"0": max(in_a0, 3 * dog_b0) + 0.4 * min(in_a0, 3 * dog_b0), "1": in_a1 + dog_a1, "2": 3 * in_b2}
    assert scores(index, tied) == pytest.approx(expected, rel=SIX_DIGITS)
    most = {"multi_match": {"query": "cat dog", "fields": ["a", "b"], "type": "most_fields"}}
    expected = {"0": in_a0 + dog_b0, "1": in_a1 + dog_a1, "2": in_b2}
    assert scores(index, most) == pytest.approx(expected, rel=SIX_DIGITS)


def test_boosts_multiply_and_clauses_add() -> None:
    index = index_of({"t": "x y", "kind": "note"}, {"t": "x", "kind": "memo"}, {"t": "y z"})

    # Lengths 2, 1, 2: avgdl = 5/3; x and y in 2 of 3.
    idf = log(1 + (3 - 2 + 0.5) / 2.5)
    of_two, of_one = (idf / (1 + 1.2 * (0.25 + 0.75 * length / (5 / 3))) for length in (2, 1))
    query = {
        "bool": {
            "must": [{"match": {"t": {"query": "x", "boost": 2.5}}}],
            "should": [{"match": {"t": "y"}}, {"term": {"kind": {"value": "memo", "boost": 0.25}}}],
            "filter": [{"exists": {"field": "kind"}}],
            "boost": 3,
        }
    }
    expected = {"0": 3 * (2.5 * of_two + of_two), "1": 3 * (2.5 * of_one + 0.25)}
    assert scores(index, query) == pytest.approx(expected, rel=SIX_DIGITS)
    constant = {"constant_score": {"filter": {"match": {"t": "x"}}, "boost": 1.5}}
    assert scores(index, constant) == {"0": 1.5, "1": 1.5}


def test_phrases_exact_and_with_slop() -> None:
    index = index_of(
        {"t": "new york city new york"}, {"t": "york new"}, {"t": "new big york"}, {"t": "new"}, {"t": "york a b c d e"}
    )

    # Lengths 5, 2, 3, 1, 6: avgdl = 17/5. new in 4 of 5, york in 4 of 5: the phrase's idf is the sum.
    idf = 2 * log(1 + (5 - 4 + 0.5) / 4.5)

    def score(frequency: float, length: int) -> float:
        return idf * frequency / (frequency + 1.2 * (0.25 + 0.75 * length / (17 / 5)))

    assert scores(index, {"match_phrase": {"t": "new york"}}) == pytest.approx({"0": score(2, 5)}, rel=SIX_DIGITS)
    # One word between counts 1/2 (distance 1), the wrong order 1/3 (distance 2). The first document has the phrase
    # twice, and between them "york ... new" at a distance of 3, beyond the slop.
    sloppy = {"match_phrase": {"t": {"query": "new york", "slop": 2}}}
    expected = {"0": score(2, 5), "2": score(1 / 2, 3), "1": score(1 / 3, 2)}
    assert scores(index, sloppy) == pytest.approx(expected, rel=SIX_DIGITS)


def test_long_documents_are_as_long_as_their_byte_says() -> None:
    index = index_of({"t": "word " * 41}, {"t": "word " + "x " * 999}, {"t": "word " + "x " * 1100})

    # 41 is kept as 40, 1000 as 984, 1101 as 1048 (four significant bits above 24); avgdl = 2142/3 stays exact.
    assert [decoded_length(encoded_length(length)) for length in (41, 1000, 1101)] == [40, 984, 1048]
    idf = log(1 + 0.5 / 3.5)
    expected = {
        "0": idf * 41 / (41 + 1.2 * (0.25 + 0.75 * 40 / 714)),
        "1": idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 984 / 714)),
        "2": idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 1048 / 714)),
    }
    assert scores(index, {"match": {"t": "word"}}) == pytest.approx(expected, rel=SIX_DIGITS)


def test_japanese() -> None:
    index = index_of({"t": "おすすめの映画を教えてください。"}, {"t": "天気"}, {"t": "映像"})

    # 15 characters, 2, 2: avgdl = 19/3. 映 in 2 of 3 documents, 画 in 1.
    eiga = log(1 + 1.5 / 2.5) / (1 + 1.2 * (0.25 + 0.75 * 15 / (19 / 3))) + log(1 + 2.5 / 1.5) / (
        1 + 1.2 * (0.25 + 0.75 * 15 / (19 / 3))
    )
    found = scores(index, {"match": {"t": "映画"}})
    assert found["0"] == pytest.approx(eiga, rel=SIX_DIGITS)
    assert list(found) == ["0", "2"]


def test_lengths_up_to_39_are_exact_and_longer_ones_rounded_down() -> None:
    kept = [decoded_length(encoded_length(length)) for length in range(200)]

    assert kept[:40] == list(range(40))
    assert kept[40:46] == [40, 40, 42, 42, 44, 44]
    assert all(length * 0.88 < short <= length for length, short in enumerate(kept) if length)
    assert encoded_length(2**31 - 1) == 255


def test_a_score_prints_as_a_float_of_java() -> None:
    assert shortest(0.47000363469123840) == 0.47000363
    assert shortest(1.0) == 1.0
