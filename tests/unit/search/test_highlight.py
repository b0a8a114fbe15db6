"""The plain highlighter: what it marks, and where it cuts."""

from typing import Any

import pytest

from conversations.search import Index, QueryError

MAPPING: dict[str, Any] = {
    "properties": {
        "text": {"type": "text"},
        "other": {"type": "text"},
        "tag": {"type": "keyword"},
        "n": {"type": "long"},
    }
}


def marked(source: dict[str, Any], query: dict[str, Any], /, **options: Any) -> dict[str, list[str]] | None:
    fields = options.pop("fields", {"text": {}})
    index = Index(MAPPING, [("1", source)])
    [hit] = index.search({"query": query, "highlight": {"fields": fields, **options}}, now_ms=0).hits
    return hit.highlight


def match(text: str) -> dict[str, Any]:
    return {"match": {"text": text}}


def test_words_are_marked_wherever_they_stand_in_their_own_form() -> None:
    found = marked({"text": "Red, blue; RED and reddish."}, match("red blue"))

    assert found == {"text": ["<em>Red</em>, <em>blue</em>; <em>RED</em> and reddish."]}


def test_a_phrase_is_marked_only_where_it_stands_whole() -> None:
    source = {"text": "new york and york new"}

    assert marked(source, {"match_phrase": {"text": "new york"}}) == {
        "text": ["<em>new</em> <em>york</em> and york new"]
    }
    sloppy = {"match_phrase": {"text": {"query": "york and", "slop": 1}}}
    assert marked({"text": "york x and york"}, sloppy) == {"text": ["<em>york</em> x <em>and</em> <em>york</em>"]}


def test_a_word_that_just_fills_a_fragment_begins_the_next() -> None:
    text, options = {"text": "aaaa bbbb cccc"}, {"fragmenter": "simple"}

    assert marked(text, match("aaaa bbbb"), fragment_size=9, **options) == {
        "text": ["<em>aaaa</em>", " <em>bbbb</em> cccc"]
    }
    assert marked(text, match("aaaa bbbb"), fragment_size=10, **options) == {"text": ["<em>aaaa</em> <em>bbbb</em>"]}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"prefix": {"text": "qui"}}, "a <em>quick</em> <em>quiet</em> fox"),
        ({"wildcard": {"text": "*ck"}}, "a <em>quick</em> quiet fox"),
        ({"range": {"text": {"gte": "quid"}}}, "a quick <em>quiet</em> fox"),
        ({"terms": {"text": ["fox", "a"]}}, "<em>a</em> quick quiet <em>fox</em>"),
        ({"match_phrase_prefix": {"text": "quick qu"}}, "a <em>quick</em> <em>quiet</em> fox"),
        ({"constant_score": {"filter": {"term": {"text": "fox"}}}}, "a quick quiet <em>fox</em>"),
        ({"multi_match": {"query": "fox", "fields": ["text", "other"]}}, "a quick quiet <em>fox</em>"),
        (
            {"bool": {"must": [match("fox")], "filter": [match("quick")], "must_not": [match("zebra")]}},
            "a <em>quick</em> quiet <em>fox</em>",
        ),
    ],
)
def test_all_kinds_of_queries_mark(query: dict[str, Any], expected: str) -> None:
    assert marked({"text": "a quick quiet fox"}, query) == {"text": [expected]}


def test_what_is_excluded_or_in_another_field_is_not_marked() -> None:
    source = {"text": "red blue", "other": "red"}

    assert marked(source, {"match": {"other": "red"}}) is None
    assert marked(source, {"match": {"other": "red"}}, require_field_match=False) == {"text": ["<em>red</em> blue"]}
    assert marked(source, {"match_all": {}}) is None


def test_japanese_and_keywords() -> None:
    assert marked({"text": "おすすめの映画"}, match("映画")) == {"text": ["おすすめの<em>映</em><em>画</em>"]}
    assert marked({"tag": "new york"}, {"term": {"tag": "new york"}}, fields={"ta*": {}}) == {
        "tag": ["<em>new york</em>"]
    }


LONG = " ".join(f"word{number}" for number in range(40))
"""40 words of 5 or 6 letters: 269 characters."""


def test_long_texts_are_cut_between_words_and_the_best_fragment_comes_first() -> None:
    found = marked({"text": LONG}, match("word3 word20 word21 word39"))

    # word15 is the first to end behind 100 characters and word30 behind 200: each begins a fragment.
    assert found is not None
    assert [fragment.split()[0] for fragment in found["text"]] == ["word15", "word0", "word30"]
    assert [fragment.count("<em>") for fragment in found["text"]] == [2, 1, 1]
    best, first, last = (fragment.replace("<em>", "").replace("</em>", "") for fragment in found["text"])
    assert first + best + last == LONG


def test_the_end_of_a_text_is_no_fragment_of_its_own_if_it_is_short() -> None:
    text = " ".join(["word"] * 24)  # 119 characters: less than 50 are left behind the hundredth

    assert marked({"text": text}, match("word")) == {"text": [text.replace("word", "<em>word</em>")]}


def test_the_number_and_size_of_fragments() -> None:
    sought = match("word0 word13 word26 word39")

    assert marked({"text": LONG}, sought, number_of_fragments=0) == {
        "text": [
            LONG.replace("word0 ", "<em>word0</em> ", 1)
            .replace("word13", "<em>word13</em>")
            .replace("word26", "<em>word26</em>")
            .replace("word39", "<em>word39</em>")
        ]
    }
    one = marked({"text": LONG}, sought, number_of_fragments=1, fragment_size=40)
    assert one is not None
    assert one["text"] == ["<em>word0</em> word1 word2 word3 word4 word5"]


def test_tags_encoder_and_options_of_one_field() -> None:
    source = {"text": "a <b> & red", "other": "red"}
    query = {"multi_match": {"query": "red", "fields": ["text", "other"]}}

    found = marked(
        source,
        query,
        fields=[{"text": {"encoder": "html"}}, {"other": {"pre_tags": ["<i>"], "post_tags": ["</i>"]}}],
        pre_tags="<b>",
        post_tags=["</b>"],
        type="plain",
    )

    assert found == {"text": ["a &lt;b&gt; &amp; <b>red</b>"], "other": ["<i>red</i>"]}


def test_no_match_size_gives_the_beginning() -> None:
    query: dict[str, Any] = {"match_all": {}}

    assert marked({"text": "one two three"}, query, no_match_size=8) == {"text": ["one two"]}
    assert marked({"text": "one two"}, query, no_match_size=2) is None


def test_several_values_give_a_fragment_each_and_the_best_first() -> None:
    source = {"text": ["red", "none", "red blue"]}

    assert marked(source, match("red blue")) == {"text": ["<em>red</em>", "<em>red</em> <em>blue</em>"]}
    assert marked(source, match("red blue"), order="score") == {"text": ["<em>red</em> <em>blue</em>", "<em>red</em>"]}
    assert marked(source, match("red blue"), number_of_fragments=1, order="score") == {
        "text": ["<em>red</em> <em>blue</em>"]
    }


@pytest.mark.parametrize(
    ("highlight", "reason"),
    [
        ({"fields": {"text": {"type": "unified"}}}, "unified"),
        ({"fields": {"text": {"type": "fvh"}}}, "fvh"),
        ({"fields": {"text": {}}, "boundary_scanner": "word"}, "boundary_scanner"),
        ({"fields": {"text": {"matched_fields": []}}}, "matched_fields"),
        ({"fields": "text"}, "fields"),
        ({"fields": {"text": {"fragment_size": -1}}}, "fragment_size"),
        ({"fields": {"text": {}}, "pre_tags": [1]}, "pre_tags"),
        ({"fields": {"text": {}}, "order": "best"}, "order"),
    ],
)
def test_other_highlighters_and_options_are_refused_by_name(highlight: dict[str, Any], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        Index(MAPPING).search({"highlight": highlight}, now_ms=0)


def test_a_text_beyond_a_million_characters_is_not_highlighted() -> None:
    with pytest.raises(QueryError, match="1000000"):
        marked({"text": "red " + "x" * 1_000_000}, match("red"))


def test_a_text_is_looked_at_as_far_as_the_request_wants() -> None:
    long = "red " * 300_000

    with pytest.raises(QueryError, match="has exceeded"):
        marked({"text": long}, match("red"))
    assert marked({"text": long}, match("red"), max_analyzer_offset=7, number_of_fragments=0) == {
        "text": ["<em>red</em> <em>red</em>"]
    }
    assert marked({"text": "blue red"}, match("red"), max_analyzer_offset=4) is None
    tags = marked({"tag": "red and blue"}, {"term": {"tag": "red and blue"}}, fields={"tag": {}}, max_analyzer_offset=4)
    assert tags == {"tag": ["<em>red and blue</em>"]}
    with pytest.raises(QueryError, match="positive"):
        marked({"text": "red"}, match("red"), max_analyzer_offset=0)
