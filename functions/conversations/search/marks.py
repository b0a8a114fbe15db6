"""Which words of a text a query is about: what the plain highlighter marks (Lucene's `WeightedSpanTermExtractor`).

A word found by itself is marked wherever it stands; a word of a phrase only where the whole phrase stands.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conversations.search.nodes import Best, Boosted, Clauses, Constant, Fixed, Node, Phrase, Repeated, ScoredTerm
from conversations.search.single_precision import single

__all__ = ["Marks", "Wanted", "wanted"]

Span = tuple[int, int]


class Wanted(NamedTuple):
    """Words of one field, or the places of a phrase in it, with their weight."""

    field: str
    weight: float
    words: frozenset[str] = frozenset()
    places: tuple[frozenset[str], ...] = ()
    slop: int = 0


def wanted(node: Node, weight: float = 1.0) -> Iterator[Wanted]:
    """What a query looks for; what it excludes is no part of that."""
    match node:
        case ScoredTerm():
            yield Wanted(node.field, weight, words=frozenset([node.term.text]))
        case Fixed():
            yield Wanted(node.field, weight, words=node.texts)
        case Phrase():
            places = tuple(frozenset(term.text for term in place) for place in node.places)
            yield Wanted(node.field, weight, places=places, slop=node.slop)
        case Boosted():
            yield from wanted(node.inner, single(weight * node.factor))
        case Constant() | Repeated():
            yield from wanted(node.inner, weight)
        case Clauses():
            for inner in (*node.must, *node.filter, *node.should):
                yield from wanted(inner, weight)
        case Best():
            for inner in node.nodes:
                yield from wanted(inner, weight)


class Marks:
    """The marked words of one text: their weights, and for words of phrases the spans in which they count."""

    def __init__(self) -> None:
        self._weights: dict[str, float] = {}
        self._spans: dict[str, list[Span]] = {}
        self._anywhere: set[str] = set()

    @classmethod
    def of(cls, words: Sequence[str], sought: Sequence[Wanted]) -> "Marks":
        """The marks in a text of these words."""
        marks, present = cls(), set(words)
        for each in sought:
            for word in each.words & present:
                marks._weights[word] = each.weight
                marks._anywhere.add(word)
            if each.places:
                marks._add_phrase(each, words)
        return marks

    def weight(self, word: str, position: int) -> float:
        """The weight of a word at a position; 0 if it is not marked."""
        weight = self._weights.get(word, 0.0)
        if not weight or word in self._anywhere:
            return weight
        return weight if any(start <= position < end for start, end in self._spans[word]) else 0.0

    def span_from(self, word: str, position: int) -> Span | None:
        """The phrase that begins at a position with this word."""
        return next((span for span in self._spans.get(word, ()) if span[0] == position), None)

    def _add_phrase(self, phrase: Wanted, words: Sequence[str]) -> None:
        found = list(_near(phrase, words) if phrase.slop else _exact(phrase, words))
        if found:
            for word in frozenset().union(*phrase.places):
                self._weights.setdefault(word, phrase.weight)
                self._spans.setdefault(word, []).extend(found)


def _exact(phrase: Wanted, words: Sequence[str]) -> Iterator[Span]:
    size = len(phrase.places)
    for start in range(len(words) - size + 1):
        if all(words[start + offset] in place for offset, place in enumerate(phrase.places)):
            yield start, start + size


def _near(phrase: Wanted, words: Sequence[str]) -> Iterator[Span]:
    """Every window, in any order, that is no wider than the words and the slop (`NearSpansUnordered`)."""
    positions = [[p for p, word in enumerate(words) if word in place] for place in phrase.places]
    if not all(positions):
        return
    heads = [0] * len(positions)
    while True:
        here = [places[head] for places, head in zip(positions, heads, strict=True)]
        first = here.index(min(here))
        if max(here) + 1 - here[first] - len(here) <= phrase.slop:
            yield here[first], max(here) + 1
        heads[first] += 1
        if heads[first] == len(positions[first]):
            return
