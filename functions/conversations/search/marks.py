"""Which words of a text a query is about: what the plain highlighter marks (Lucene's `WeightedSpanTermExtractor`).

A word found by itself is marked wherever it stands; a word of a phrase only where the whole phrase stands.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from typing import NamedTuple

from conversations.search.nodes import AnyTerm, Best, Boosted, Clauses, Constant, Node, Phrase, Repeated, ScoredTerm
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
        case AnyTerm():
            yield Wanted(node.field, weight, words=node.texts())
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


class _Spans:
    """Where the occurrences of a phrase begin and end, in positions."""

    def __init__(self, spans: list[Span]) -> None:
        self.ends: dict[int, int] = {}
        self._starts: list[int] = []
        self._merged_ends: list[int] = []
        for start, end in sorted(spans):
            self.ends.setdefault(start, end)
            if self._starts and start <= self._merged_ends[-1]:
                self._merged_ends[-1] = max(self._merged_ends[-1], end)
            else:
                self._starts.append(start)
                self._merged_ends.append(end)

    def cover(self, position: int) -> bool:
        """Whether an occurrence takes in the position."""
        index = bisect_right(self._starts, position) - 1
        return index >= 0 and position < self._merged_ends[index]


class Marks:
    """The marked words of one text: their weights, and for words of phrases the spans in which they count."""

    def __init__(self, words: Sequence[str], sought: Sequence[Wanted]) -> None:
        self._weights: dict[str, float] = {}
        self._spans: dict[str, list[_Spans]] = {}
        self._anywhere: set[str] = set()
        present = set(words)
        for each in sought:
            for word in each.words & present:
                self._weights[word] = each.weight
                self._anywhere.add(word)
            if each.places:
                self._add_phrase(each, words)

    def weight(self, word: str, position: int) -> float:
        """The weight of a word at a position; 0 if it is not marked."""
        weight = self._weights.get(word, 0.0)
        if not weight or word in self._anywhere:
            return weight
        return weight if any(spans.cover(position) for spans in self._spans[word]) else 0.0

    def phrase_end(self, word: str, position: int) -> int | None:
        """The end of the phrase that begins at a position with this word."""
        return next((spans.ends[position] for spans in self._spans.get(word, ()) if position in spans.ends), None)

    def _add_phrase(self, phrase: Wanted, words: Sequence[str]) -> None:
        found = list(_near(phrase, words) if phrase.slop else _exact(phrase, words))
        if found:
            spans = _Spans(found)
            for word in frozenset().union(*phrase.places):
                self._weights.setdefault(word, phrase.weight)
                self._spans.setdefault(word, []).append(spans)


def _exact(phrase: Wanted, words: Sequence[str]) -> Iterator[Span]:
    size = len(phrase.places)
    for start in range(len(words) - size + 1):
        if all(words[start + offset] in place for offset, place in enumerate(phrase.places)):
            yield start, start + size


def _near(phrase: Wanted, words: Sequence[str]) -> Iterator[Span]:
    """Every window, in any order, that is no wider than the words and the slop (`NearSpansUnordered`)."""
    positions = [iter([p for p, word in enumerate(words) if word in place]) for place in phrase.places]
    heads = [(next(each, -1), place) for place, each in enumerate(positions)]
    if min(heads)[0] < 0:
        return
    last, size = max(heads)[0], len(heads)
    heapify(heads)
    while True:
        first, place = heads[0]
        if last + 1 - first - size <= phrase.slop:
            yield first, last + 1
        following = next(positions[place], None)
        if following is None:
            return
        last = max(last, following)
        heapreplace(heads, (following, place))
