"""The two ``_search`` routes: memories, and the messages of one memory with their traces.

The body is the engine's (``conversations.search``), which says what of OpenSearch's query language it knows. As
upstream does, a clause for the owner or for the memory is added to the ``must`` of the query, and adds to every score;
what is searched holds nothing else anyway.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from api.identity import ANONYMOUS
from api.opensearch import bodies
from api.opensearch.errors import (
    MEMORY_INDEX,
    MESSAGE_INDEX,
    DialectError,
    failure,
    illegal_argument,
    parse_error,
    parsing_error,
    shards_failed,
)
from api.opensearch.memories import head
from api.opensearch.requests import Action, Request, is_json
from conversations.search import Hit, QueryError, ShardError
from conversations.search.requests import SearchRequest
from conversations.search_kept import DocumentVersion
from conversations.searching import Found

Body = dict[str, Any]
_MILLISECOND_NS = 1_000_000


def memories(request: Request) -> Action:
    body = _body(request)
    return lambda: _memories(request, body)


def messages(request: Request, memory_id: str) -> Action:
    body = _body(request)
    return lambda: _messages(request, memory_id, body)


def _body(request: Request) -> Body:
    """The search, from the body or else from the parameter ``source``.

    Raises:
        DialectError: there is none, or it cannot be read. What only the documents' mapping refuses is left for later.
    """
    body = bodies.search_body(request.body() if request.has_body else _source(request))
    if body.get("_source") is False:
        del body["_source"]  # upstream turns it on again
    try:
        SearchRequest.parse(body)
    except ShardError:
        pass
    except QueryError as error:
        raise _refused(error) from error
    return body


def _source(request: Request) -> str:
    source, content_type = request.parameter("source"), request.parameter("source_content_type")
    if source is None:
        raise parse_error("request body or source parameter is required")
    if content_type is None:
        raise illegal_argument("source and source_content_type parameters are required")
    if not is_json(content_type):
        raise illegal_argument(f"Unknown value for source_content_type [{content_type[:100]}]")
    return source


def _refused(error: QueryError) -> DialectError:
    if error.type == "parsing_exception":
        return parsing_error(error.reason)
    return failure(400, error.type, error.reason)


def _memories(request: Request, body: Body) -> Mapping[str, Any]:
    store, clock, caller = request.memory.store, request.memory.clock, request.caller
    began_ns = clock.now_ns()
    clauses = [{"term": {"user": caller.scope}}] if caller.scope and caller.scope != ANONYMOUS else []
    with _refusals(MEMORY_INDEX):
        search = request.memory.searches.memories.search
        found = search(store, clock, caller.scope, _rewritten(body, clauses), caller=caller.owner)
    return _envelope(MEMORY_INDEX, found, clock.now_ns() - began_ns)


def _messages(request: Request, memory_id: str, body: Body) -> Mapping[str, Any]:
    store, clock = request.memory.store, request.memory.clock
    began_ns = clock.now_ns()
    memory = head(request, memory_id)
    with _refusals(MESSAGE_INDEX):
        rewritten = _rewritten(body, [{"term": {"memory_id": memory_id}}])
        found = request.memory.searches.messages.search(store, memory, rewritten, began_ns // _MILLISECOND_NS)
    shows_all = request.memory.message_updated_time
    return _envelope(MESSAGE_INDEX, found, clock.now_ns() - began_ns, hidden=() if shows_all else ("updated_time",))


def _rewritten(body: Body, clauses: list[Body]) -> Body:
    """The search with these clauses beside its query."""
    if body.get("query") is None:
        raise illegal_argument("inner bool query clause cannot be null")
    return {**body, "query": {"bool": {"must": [body["query"], *clauses]}}}


@contextmanager
def _refusals(index: str) -> Iterator[None]:
    try:
        yield
    except ShardError as error:
        raise shards_failed(index, error.type, error.reason) from error
    except QueryError as error:
        raise _refused(error) from error


def _envelope(index: str, found: Found, took_ns: int, hidden: Sequence[str] = ()) -> Mapping[str, Any]:
    results = found.results
    total = {"total": {"value": results.total.value, "relation": results.total.relation}} if results.total else {}
    return {
        "took": took_ns // _MILLISECOND_NS,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {
            **total,
            "max_score": results.max_score,
            "hits": [_hit(index, hit, found.versions[hit.id], hidden) for hit in results.hits],
        },
    }


def _hit(index: str, hit: Hit, written: DocumentVersion, hidden: Sequence[str]) -> Mapping[str, Any]:
    source = {name: value for name, value in (hit.source or {}).items() if name not in hidden}
    optional = {"highlight": hit.highlight, "sort": hit.sort}
    return {
        "_index": index,
        "_id": hit.id,
        "_version": written.version,
        "_seq_no": written.sequence,
        "_primary_term": 1,
        "_score": hit.score,
        "_source": source,
        **{name: value for name, value in optional.items() if value is not None},
    }
