"""Searches in OpenSearch's memory API, through to the last document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any
from urllib.parse import quote

from conversation_memory.moving.found import SourceError

ROOT = "/_plugins/_ml/memory"
Post = Callable[[str, Mapping[str, Any]], Any]
"""Posts JSON to a path and returns the JSON of the answer."""

_TRACE = {"exists": {"field": "trace_number"}}
MESSAGES: Mapping[str, Any] = {"bool": {"must_not": [_TRACE]}}
TRACES: Mapping[str, Any] = _TRACE
ALL: Mapping[str, Any] = {"match_all": {}}


def path_of(memory_id: str) -> str:
    """Where a memory is."""
    return f"{ROOT}/{quote(memory_id, safe='')}"


def found(post: Post, path: str, query: Mapping[str, Any], page_size: int) -> Iterator[dict[str, Any]]:
    """What a search finds, by the time of its creation. The order is of milliseconds there, and exact here."""
    for _, of_one_time in groupby(_pages(post, path, query, page_size), key=lambda hit: hit["sort"][0]):
        yield from sorted(of_one_time, key=lambda hit: (_instant(hit["_source"]), hit["_id"]))


def _pages(post: Post, path: str, query: Mapping[str, Any], page_size: int) -> Iterator[dict[str, Any]]:
    """All that a search finds. Each page begins at the time at which the one before ended: no search goes beyond ten
    thousand, and what is written meanwhile moves nothing.
    """
    since: int | None = None
    to_skip = 0
    while True:
        after = [] if since is None else [{"range": {"create_time": {"gte": since}}}]
        body = {
            "query": {"bool": {"filter": [query, *after]}},
            "sort": [{"create_time": {"order": "asc"}}],
            "from": to_skip,
            "size": page_size,
        }
        hits = _hits(post(f"{path}/_search", body))
        yield from hits
        if len(hits) < page_size:
            return
        last = hits[-1]["sort"][0]
        of_last = sum(hit["sort"][0] == last for hit in hits)
        to_skip = to_skip + of_last if last == since else of_last
        since = last


def _hits(answer: Any) -> list[dict[str, Any]]:
    """The hits, each with an id, a source and the time that it is sorted by."""
    try:
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        for hit in hits:
            hit["_id"], hit["_source"]["create_time"], hit["sort"][0]
    except (LookupError, TypeError) as error:
        raise SourceError("a search is not answered as OpenSearch does") from error
    return hits


def _instant(stored: Mapping[str, Any]) -> str:
    """A time whose text order is that of time: zeros at the end are not shown."""
    return str(stored.get("create_time", "")).removesuffix("Z").ljust(29, "0")
