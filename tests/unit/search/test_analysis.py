"""The terms of texts in many scripts, as the rules of UAX #29 and Lucene's additions to them have it."""

import pytest

from conversations.search import Index
from conversations.search.analysis import terms, tokens

TEXTS: list[tuple[str, list[str]]] = [
    ("", []),
    ("...!?", []),
    ("おすすめの映画を教えてください。", list("おすすめの映画を教えてください")),
    ("カタカナの映画", ["カタカナ", "の", "映", "画"]),
    ("ﾃﾚﾋﾞ 東京2024年", ["ﾃﾚﾋﾞ", "東", "京", "2024", "年"]),
    ("我喜欢看电影，你呢？", list("我喜欢看电影你呢")),
    ("한국어 영화를 추천해 주세요.", ["한국어", "영화를", "추천해", "주세요"]),
    ("ภาษาไทย สวัสดี", ["ภาษาไทย", "สวัสดี"]),
    ("Straße, Füße und ÜBERGRÖSSE ẞ", ["straße", "füße", "und", "übergrösse", "ß"]),
    ("u\u0308ber", ["u\u0308ber"]),
    ("ΟΔΥΣΣΕΥΣ İstanbul", ["οδυσσευσ", "istanbul"]),
    ("👍🏽 ok 👩‍👩‍👧‍👦🇩🇪🇫🇷1️⃣", ["👍🏽", "ok", "👩‍👩‍👧‍👦", "🇩🇪", "🇫🇷", "1️⃣"]),
    ("Don't don’t 'quoted'", ["don't", "don’t", "quoted"]),
    ("foo-bar foo_bar foo.bar foo:bar foo/bar", ["foo", "bar", "foo_bar", "foo.bar", "foo:bar", "foo", "bar"]),
    ("3.14 1,000.5 -7 50% 1.a 2nd", ["3.14", "1,000.5", "7", "50", "1", "a", "2nd"]),
    ("ada.l+x@mail.example.com", ["ada.l", "x", "mail.example.com"]),
    ("https://example.com/a?b=c", ["https", "example.com", "a", "b", "c"]),
    ('צה"ל', ['צה"ל']),
    ("x" * 300, ["x" * 255, "x" * 45]),
    ("ü" * 300, ["ü" * 255, "ü" * 45]),
    ("𝒳" * 200, ["𝒳" * 127, "𝒳" * 73]),
    ("a" + "\u0301" * 600, ["a" + "\u0301" * 254]),
    ("ℹ️ Note: it’s fine", ["ℹ️", "note", "it’s", "fine"]),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[text[:30] for text, _ in TEXTS])
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected
    assert [token.text for token in tokens(text)] == expected


@pytest.mark.parametrize("text", [text for text, expected in TEXTS if expected], ids=lambda text: text[:30])
def test_a_text_is_found_by_each_of_its_terms_and_as_a_phrase(text: str) -> None:
    index = Index({"properties": {"t": {"type": "text"}}}, [("1", {"t": text}), ("2", {"t": "other"})])

    queries = [{"term": {"t": term}} for term in terms(text)] + [{"match_phrase": {"t": text}}]

    assert all([hit.id for hit in index.search({"query": query}, now_ms=0).hits] == ["1"] for query in queries)
