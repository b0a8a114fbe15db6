"""The body of a search request, read and checked."""

from typing import NamedTuple

from conversations.search.errors import ShardError, illegal_argument, parsing_error
from conversations.search.highlight_options import Highlight, parse_highlight
from conversations.search.json_values import Json, JsonObject, Members
from conversations.search.queries import MatchAll, Query
from conversations.search.query_parser import parse_query
from conversations.search.sorting import SortKey, parse_sort
from conversations.search.source_filter import SourceFilter, parse_source_filter

__all__ = ["SearchRequest"]

MAX_RESULT_WINDOW = 10_000
"""How deep pages may go: `index.max_result_window`."""
EXACT_TOTAL = 2**31 - 1


class SearchRequest(NamedTuple):
    """What a body asks for. `track_total_hits` is the number up to which hits are counted; none are for `None`."""

    query: Query
    first: int
    size: int
    sort: tuple[SortKey, ...]
    source: SourceFilter
    search_after: tuple[Json, ...] | None
    track_total_hits: int | None
    track_scores: bool
    min_score: float | None
    highlight: Highlight | None

    @classmethod
    def parse(cls, body: JsonObject) -> "SearchRequest":
        """Raises `QueryError` for what is malformed, unknown or out of bounds."""
        members = Members("search", body, unknown="Unknown key for a {kind} in [{name}].")
        query = members.take("query")
        first, size = _window(members)
        request = cls(
            query=MatchAll() if query is None else parse_query(query),
            first=first,
            size=size,
            sort=parse_sort(members.take("sort")),
            source=parse_source_filter(members.take("_source")),
            search_after=_search_after(members.take("search_after"), first),
            track_total_hits=_track_total_hits(members),
            track_scores=members.flag("track_scores", default=False),
            min_score=members.single("min_score", 0.0) if members.has("min_score") else None,
            highlight=parse_highlight(members.take("highlight")),
        )
        for name in ("version", "seq_no_primary_term"):
            # These belong to the store of the documents, and so to the caller.
            members.flag(name, default=False)
        members.finish()
        return request


def _window(members: Members) -> tuple[int, int]:
    first, size = members.integer("from", 0), members.integer("size", 10)
    if first < 0:
        raise illegal_argument(f"[from] parameter cannot be negative, found [{first}]")
    if size < 0:
        raise illegal_argument(f"[size] parameter cannot be negative, found [{size}]")
    if first + size > MAX_RESULT_WINDOW:
        raise ShardError(
            "illegal_argument_exception",
            "Result window is too large, from + size must be less than or equal to: "
            f"[{MAX_RESULT_WINDOW}] but was [{first + size}]. See the scroll api for a more efficient way to request "
            "large data sets. This limit can be set by changing the [index.max_result_window] index level setting.",
        )
    return first, size


def _search_after(value: Json, first: int) -> tuple[Json, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise parsing_error("Unknown key for a value in [search_after], which must be an array")
    if not value:
        raise illegal_argument("Values must contains at least one value.")
    if any(isinstance(each, list | dict) for each in value):
        raise illegal_argument("Can't handle [search_after] field value of an array or object")
    if first > 0:
        raise illegal_argument("`from` parameter must be set to 0 when `search_after` is used.")
    return tuple(value)


def _track_total_hits(members: Members) -> int | None:
    value = members.take("track_total_hits", 10_000)
    if value is True or value == "true":
        return EXACT_TOTAL
    if value is False or value == "false":
        return None
    up_to = Members("search", {"track_total_hits": value}).integer("track_total_hits", 0)
    if up_to < -1:
        raise illegal_argument(f"[track_total_hits] parameter must be positive or equals to -1, got {up_to}")
    return EXACT_TOTAL if up_to == -1 else up_to
