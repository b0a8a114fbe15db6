"""The standard analyzer: tokens of the standard tokenizer, in lower case. No stop words, no stemming."""

from collections.abc import Iterator
from typing import NamedTuple

from conversations.search.word_breaks import ascii_words, spans

__all__ = ["Token", "lower_case", "terms", "tokens"]


class Token(NamedTuple):
    """A term and where its text stands, in code points."""

    text: str
    start: int
    end: int


def lower_case(text: str) -> str:
    """Lower case of each character by itself, as Lucene has it: never longer, and sigma knows no final form."""
    if text.isascii():
        return text.lower()
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def terms(text: str) -> list[str]:
    """The terms of a text, in order; a term's place is its position."""
    lowered = lower_case(text)
    if lowered.isascii() and text.isascii():
        words = ascii_words(lowered)
        if words is not None:
            return words
    return [lowered[start:end] for start, end in spans(text)]


def tokens(text: str) -> Iterator[Token]:
    """The terms of a text with their places."""
    lowered = lower_case(text)
    for start, end in spans(text):
        yield Token(lowered[start:end], start, end)
