"""What a query is once its fields are known: a tree that tells its documents, and their scores, as Lucene's scorers do.

Terms score in single precision; a sum is made in double precision and rounded once, as in `ConjunctionScorer`,
`DisjunctionSumScorer` and `ReqOptSumScorer`. A boost is multiplied down to the leaves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import reduce
from operator import and_
from typing import NamedTuple, Protocol

from conversations.search.fields import TextIndex
from conversations.search.phrases import Budget, ExactPhrase, PhraseCounter, SloppyPhrase
from conversations.search.scoring import Bm25, inverse_document_frequency
from conversations.search.single_precision import single, singles
from conversations.search.terms import DOCUMENT_SHIFT, PAYLOAD_MASK, Term

__all__ = [
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
    """Documents found without a score; each scores the boost. `texts` are the terms of `field` that found them."""

    found: Set[int] = frozenset()
    field: str = ""
    texts: frozenset[str] = frozenset()

    def documents(self) -> Set[int]:
        return self.found

    def scores(self, boost: float) -> Scores:
        return dict.fromkeys(self.found, boost)


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


def _bm25(boost: float, index: TextIndex, terms: Iterable[Term]) -> Bm25:
    idfs = (inverse_document_frequency(len(term.postings), index.documents_with_terms) for term in terms)
    return Bm25(boost, idfs, index.average_length)


class ScoredTerm(NamedTuple):
    """A term of an analyzed field."""

    field: str
    text_index: TextIndex
    term: Term

    def documents(self) -> Set[int]:
        return _holders([self.term])

    def scores(self, boost: float) -> Scores:
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
        candidates = reduce(and_, sorted((_holders(place) for place in self.places), key=len))
        places = ["".join(term.symbol for term in place) for place in self.places]
        counter: PhraseCounter = ExactPhrase(places, self.budget)
        if self.slop:
            counter = SloppyPhrase(places, self.slop, self.budget)
        found = ((document, counter.frequency(sequence(document))) for document in candidates)
        return {document: frequency for document, frequency in found if frequency}

    def documents(self) -> Set[int]:
        return self._frequencies().keys()

    def scores(self, boost: float) -> Scores:
        frequencies = self._frequencies()
        score = _bm25(boost, self.text_index, (term for place in self.places for term in place)).score
        length = self.text_index.encoded_length
        return {document: score(frequency, length(document)) for document, frequency in frequencies.items()}


def _holders(terms: Iterable[Term]) -> set[int]:
    return {posting >> DOCUMENT_SHIFT for term in terms for posting in term.postings}


def _summed(parts: Sequence[Scores], documents: Iterable[int]) -> Scores:
    """The sum of what the parts score, in double precision, rounded once."""
    if len(parts) == 1:
        only = parts[0]
        return {document: only[document] for document in documents if document in only}
    sums = dict.fromkeys(documents, 0.0)
    for part in parts:
        for document in part.keys() & sums.keys():
            sums[document] += part[document]
    return dict(zip(sums, singles(sums.values()), strict=True))


class Clauses(NamedTuple):
    """Lucene's BooleanQuery. `at_least` of the optional clauses must match; nothing does if there are fewer."""

    must: tuple[Node, ...] = ()
    filter: tuple[Node, ...] = ()
    should: tuple[Node, ...] = ()
    must_not: tuple[Node, ...] = ()
    at_least: int = 0

    def documents(self) -> Set[int]:
        return self._matching([node.documents() for node in self.must], [node.documents() for node in self.should])

    def scores(self, boost: float) -> Scores:
        required = [node.scores(boost) for node in self.must]
        optional = [node.scores(boost) for node in self.should]
        matching = self._matching([each.keys() for each in required], [each.keys() for each in optional])
        if not required and not self.filter:
            return _summed(optional, matching)
        scores = _summed(required, matching) if required else dict.fromkeys(matching, 0.0)
        if optional:
            extra = _summed(optional, matching & set().union(*optional))
            for document, score in extra.items():
                scores[document] = single(scores[document] + score)
        return scores

    def _matching(self, required: list[Set[int]], optional: list[Set[int]]) -> Set[int]:
        demanded = [*required, *(node.documents() for node in self.filter)]
        if self.at_least == 1:
            demanded.append(set().union(*optional))
        elif self.at_least > 1:
            counts = Counter(document for documents in optional for document in documents)
            demanded.append({document for document, count in counts.items() if count >= self.at_least})
        matching = reduce(and_, sorted(demanded, key=len))
        for node in self.must_not:
            matching = matching - node.documents()
        return matching


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
