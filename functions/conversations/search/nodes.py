"""What a query is once its fields are known: a tree that tells its documents, and their scores, as Lucene's scorers do.

Terms score in single precision; a sum is made in double precision and rounded once, as in `ConjunctionScorer`,
`DisjunctionSumScorer` and `ReqOptSumScorer`. A boost is multiplied down to the leaves.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache, reduce
from operator import and_
from typing import NamedTuple, Protocol

from conversations.search.budget import Budget
from conversations.search.fields import TextIndex
from conversations.search.phrases import ExactPhrase, PhraseCounter, SloppyPhrase
from conversations.search.scoring import Bm25, inverse_document_frequency
from conversations.search.single_precision import single, singles
from conversations.search.terms import DOCUMENT_SHIFT, PAYLOAD_MASK, Term

__all__ = [
    "AnyTerm",
    "Best",
    "Boosted",
    "Clauses",
    "Constant",
    "Fixed",
    "Node",
    "Phrase",
    "Repeated",
    "ScoredTerm",
    "disjunction",
    "flattened",
]

Scores = dict[int, float]


class Node(Protocol):
    """A query bound to an index. Documents are numbers in the order of their indexing."""

    def documents(self) -> Set[int]:
        """The matching documents."""

    def scores(self, boost: float) -> Scores:
        """The matching documents with their scores."""


class Fixed(NamedTuple):
    """Documents found without a score, when they are asked for; each scores the boost."""

    find: Callable[[], Set[int]] = frozenset
    budget: Budget = Budget()

    def documents(self) -> Set[int]:
        found = self.find()
        self.budget.spend_on_postings(len(found))
        return found

    def scores(self, boost: float) -> Scores:
        return dict.fromkeys(self.documents(), boost)


class AnyTerm(NamedTuple):
    """Documents with any of some terms of a field, which are looked up when they are asked for."""

    field: str
    find: Callable[[], Iterable[Term]]
    budget: Budget

    def documents(self) -> Set[int]:
        terms = list(self.find())
        self.budget.spend_on_postings(sum(len(term.postings) for term in terms) + len(terms))
        return _holders(terms)

    def texts(self) -> frozenset[str]:
        """The terms."""
        return frozenset(term.text for term in self.find())

    def scores(self, boost: float) -> Scores:
        return dict.fromkeys(self.documents(), boost)


class Constant(NamedTuple):
    """A node whose matches all score the boost."""

    inner: Node

    def documents(self) -> Set[int]:
        return self.inner.documents()

    def scores(self, boost: float) -> Scores:
        return dict.fromkeys(self.inner.documents(), boost)


class Boosted(NamedTuple):
    """A node whose scores are weighted."""

    inner: Node
    factor: float

    def documents(self) -> Set[int]:
        return self.inner.documents()

    def scores(self, boost: float) -> Scores:
        return self.inner.scores(single(boost * self.factor))


class Repeated(NamedTuple):
    """A word that a text asks for several times: it scores so many times as much."""

    inner: Node
    times: int

    def documents(self) -> Set[int]:
        return self.inner.documents()

    def scores(self, boost: float) -> Scores:
        return self.inner.scores(single(boost * self.times))


def _holders(terms: Iterable[Term]) -> set[int]:
    return {posting >> DOCUMENT_SHIFT for term in terms for posting in term.postings}


def _bm25(boost: float, index: TextIndex, terms: Iterable[Term]) -> Bm25:
    idfs = (inverse_document_frequency(len(term.postings), index.documents_with_terms) for term in terms)
    return Bm25(boost, idfs, index.average_length)


class ScoredTerm(NamedTuple):
    """A term of an analyzed field."""

    field: str
    text_index: TextIndex
    term: Term
    budget: Budget

    def documents(self) -> Set[int]:
        return _holders([self.term])

    def scores(self, boost: float) -> Scores:
        self.budget.spend_on_postings(len(self.term.postings))
        score = _bm25(boost, self.text_index, [self.term])
        return {posting >> DOCUMENT_SHIFT: score[posting & PAYLOAD_MASK] for posting in self.term.postings}


class Phrase(NamedTuple):
    """Terms side by side, at least two places. A place with several terms is the end of a phrase prefix."""

    field: str
    text_index: TextIndex
    places: Sequence[Sequence[Term]]
    slop: int
    budget: Budget

    def _frequencies(self) -> dict[int, float]:
        sequence = self.text_index.sequence
        self.budget.spend_on_postings(sum(len(term.postings) for place in self.places for term in place))
        candidates = reduce(and_, (_holders(place) for place in self.places))
        places = ["".join(term.symbol for term in place) for place in self.places]
        counter: PhraseCounter = ExactPhrase(places, self.budget)
        if self.slop:
            counter = SloppyPhrase(places, self.slop, self.budget)
        frequency = counter.frequency
        return {document: found for document in candidates if (found := frequency(sequence(document)))}

    def documents(self) -> Set[int]:
        return self._frequencies().keys()

    def scores(self, boost: float) -> Scores:
        frequencies = self._frequencies()
        # Many documents share both frequency and length.
        score = cache(_bm25(boost, self.text_index, (term for place in self.places for term in place)).score)
        lengths = self.places[0][0].encoded_lengths()
        return {document: score(frequency, lengths[document]) for document, frequency in frequencies.items()}


def _rounded(sums: Scores) -> Scores:
    return dict(zip(sums, singles(sums.values()), strict=True))


def _sum_of_all(parts: Iterable[Scores]) -> Scores | None:
    """What documents in all of the parts score together; None if there is no part."""
    sums: Scores | None = None
    for part in parts:
        sums = part if sums is None else {d: sums[d] + score for d, score in part.items() if d in sums}
    return None if sums is None else _rounded(sums)


def _sum_of_any(parts: Iterable[Scores], at_least: int) -> Scores:
    """What documents in at least so many of the parts score together."""
    sums: Scores = {}
    counts: Counter[int] = Counter()
    for part in parts:
        for document, score in part.items():
            sums[document] = sums.get(document, 0.0) + score
        if at_least > 1:
            counts.update(part.keys())
    return _rounded({d: score for d, score in sums.items() if counts[d] >= at_least} if at_least > 1 else sums)


class Clauses(NamedTuple):
    """Lucene's BooleanQuery. `at_least` of the optional clauses must match; nothing does if there are fewer."""

    must: tuple[Node, ...] = ()
    filter: tuple[Node, ...] = ()
    should: tuple[Node, ...] = ()
    must_not: tuple[Node, ...] = ()
    at_least: int = 0

    def documents(self) -> Set[int]:
        return self.scores(1.0).keys()

    def scores(self, boost: float) -> Scores:
        required = _sum_of_all(node.scores(boost) for node in self.must)
        optional = _sum_of_any((node.scores(boost) for node in self.should), self.at_least)
        matching = self._matching(required, optional)
        if required is None:
            return {document: optional.get(document, 0.0) for document in matching}
        if not optional:
            return {document: required[document] for document in matching}
        return _rounded({document: required[document] + optional.get(document, 0.0) for document in matching})

    def _matching(self, required: Scores | None, optional: Scores) -> Set[int]:
        matching: Set[int] | None = None if required is None else required.keys()
        if self.at_least:
            matching = optional.keys() if matching is None else matching & optional.keys()
        for node in self.filter:
            matching = node.documents() if matching is None else matching & node.documents()
        found: Set[int] = matching or set()
        for node in self.must_not:
            found = found - node.documents()
        return found


def disjunction(nodes: Iterable[Node]) -> Clauses:
    """Nodes of which one must match."""
    return Clauses(should=tuple(flattened(nodes)), at_least=1)


def flattened(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes, with pure disjunctions replaced by their parts, as Lucene does: one sum, rounded once."""
    for node in nodes:
        is_sum = isinstance(node, Clauses) and node.at_least == 1 and not (node.must or node.filter or node.must_not)
        yield from node.should if isinstance(node, Clauses) and is_sum else [node]


class Best(NamedTuple):
    """Lucene's DisjunctionMaxQuery: the best score, and the others' sum times the tie breaker."""

    nodes: tuple[Node, ...]
    tie_breaker: float

    def documents(self) -> Set[int]:
        return set().union(*(node.documents() for node in self.nodes))

    def scores(self, boost: float) -> Scores:
        best: Scores = {}
        others: Scores = {}
        for node in self.nodes:
            for document, score in node.scores(boost).items():
                top = best.get(document)
                if top is None:
                    best[document] = score
                else:
                    others[document] = others.get(document, 0.0) + min(score, top)
                    best[document] = max(score, top)
        if self.tie_breaker:
            for document, rest in others.items():
                best[document] = single(best[document] + rest * self.tie_breaker)
        return best
