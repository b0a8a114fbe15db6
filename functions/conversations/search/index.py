"""The index of one collection of documents: add, change, remove, search."""

from collections.abc import Collection, Iterable
from collections.abc import Mapping as ReadOnly
from heapq import nsmallest
from typing import NamedTuple, cast

from conversations.search.contents import Contents
from conversations.search.highlight import Highlighter
from conversations.search.json_values import JsonObject
from conversations.search.mapping import Mapping
from conversations.search.nodes import Node
from conversations.search.requests import SearchRequest
from conversations.search.rewriting import rewrite
from conversations.search.scope import Scope
from conversations.search.single_precision import MAX_SCORE, shortest
from conversations.search.sorting import Ranking, SortValue

__all__ = ["Hit", "Index", "Results", "Total"]


JsonLike = ReadOnly[str, object]
"""What `json.loads` makes of an object, however the caller types it."""


class Hit(NamedTuple):
    """A found document. `score` is None if hits were sorted otherwise, `sort` if they were not sorted."""

    id: str
    score: float | None
    source: JsonObject | None
    sort: list[SortValue] | None = None
    highlight: dict[str, list[str]] | None = None


class Total(NamedTuple):
    """How many documents match: exactly (`eq`), or at least so many (`gte`)."""

    value: int
    relation: str


class Results(NamedTuple):
    """A page of hits. `total` is None if the request wanted none; scores print as OpenSearch prints them."""

    total: Total | None
    max_score: float | None
    hits: list[Hit]


class Index:
    """Documents under ids, found by OpenSearch's queries. One thread at a time may use it."""

    def __init__(self, mapping: JsonLike, documents: Iterable[tuple[str, JsonLike]] = ()) -> None:
        """An index with these documents. Raises `ValueError` for a mapping, `DocumentError` for a document."""
        self._mapping = Mapping(cast(JsonObject, mapping))
        self._contents = Contents(self._mapping)
        for id_, source in documents:
            self.add(id_, source)

    def __len__(self) -> int:
        return len(self._contents.documents)

    def __contains__(self, id_: str) -> bool:
        return self._contents.number(id_) is not None

    @property
    def memory_bytes(self) -> int:
        """What the index takes with its documents' sources, in bytes; an estimate, cheap to ask."""
        return self._contents.memory_bytes

    def add(self, id_: str, source: JsonLike, *, without: Collection[str] = ()) -> None:
        """Enter a document; one that is there under this id is replaced. The source is kept, not copied.

        `without` names fields that are shown, but not found. Raises `DocumentError` for a value that its field cannot
        take, and then changes nothing.
        """
        self._contents.add(id_, cast(JsonObject, source), without)

    def remove(self, id_: str) -> bool:
        """Take a document out; False if there was none."""
        return self._contents.remove(id_)

    def search(self, body: JsonLike, *, now_ms: int) -> Results:
        """The hits of an OpenSearch request body; `now_ms` is the present, in milliseconds since 1970.

        Raises `QueryError`, or its subclass `ShardError`, for what is refused.
        """
        request = SearchRequest.parse(cast(JsonObject, body))
        scope = Scope(self._mapping, self._contents, now_ms)
        query = rewrite(request.query, scope)
        return _Search(request, scope, query).results()


class _Search:
    """One run of a request."""

    def __init__(self, request: SearchRequest, scope: Scope, query: Node) -> None:
        self._request, self._scope, self._query = request, scope, query
        self._scores = query.scores(1.0)
        if request.min_score is not None:
            self._scores = {d: score for d, score in self._scores.items() if score >= (request.min_score or 0.0)}
        self._source = request.source.reader()
        self._ranking = Ranking(request.sort, scope, self._scores)

    def results(self) -> Results:
        page = self._page()
        highlight, mapping = self._request.highlight, self._scope.mapping
        highlighter = Highlighter(highlight, self._query, mapping, self._scope.budget) if highlight else None
        hits = [self._hit(document, highlighter) for document in page]
        return Results(self._total(), self._max_score(), hits)

    def _page(self) -> list[int]:
        request, window = self._request, self._request.first + self._request.size
        if not request.sort and request.search_after is None:
            return nsmallest(window, self._scores, key=self._by_score)[request.first :]
        documents: Iterable[int] = self._scores
        if request.search_after is not None:
            documents = self._ranking.after(documents, request.search_after)
        return self._ranking.ordered(documents)[request.first : window]

    def _by_score(self, document: int) -> tuple[float, int]:
        return -self._scores[document], document

    def _total(self) -> Total | None:
        limit, found = self._request.track_total_hits, len(self._scores)
        if limit is None:
            return None
        return Total(found, "eq") if found <= limit else Total(limit, "gte")

    @property
    def _shows_scores(self) -> bool:
        return not self._request.sort or self._request.track_scores

    def _max_score(self) -> float | None:
        if not self._scores or not self._shows_scores or not self._request.size:
            return None
        return _printed(max(self._scores.values()))

    def _hit(self, document: int, highlighter: Highlighter | None) -> Hit:
        found, sort = self._scope.contents.document(document), self._request.sort
        scored = self._shows_scores or any(key.field == "_score" for key in sort)
        return Hit(
            found.id,
            _printed(self._scores[document]) if scored else None,
            self._source.read(found.source),
            self._ranking.values(document) if sort else None,
            (highlighter.fragments(found.source) or None) if highlighter else None,
        )


def _printed(score: float) -> float:
    return shortest(min(score, MAX_SCORE))
