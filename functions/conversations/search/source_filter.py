"""Which members of a document's source a hit shows: `_source`, as OpenSearch's `XContentMapValues.filter` does it.

A pattern names a path; it takes in all that stands below it, and `*` stands for any text, dots included.
"""

from collections.abc import Iterator
from typing import NamedTuple

from conversations.search.errors import illegal_argument, parsing_error
from conversations.search.json_values import Json, JsonObject, Members
from conversations.search.wildcards import Wildcard

__all__ = ["SourceFilter", "SourceReader", "parse_source_filter"]

MAX_PATTERNS = 1024
_REMEMBERED_PATHS, _LONGEST_REMEMBERED = 10_000, 256
_MAX_DEPTH = 100
"""What is nested deeper is shown or left out whole."""


class SourceFilter(NamedTuple):
    """Patterns to include (all, if there is none) and to exclude, or nothing at all."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    fetch: bool = True

    def reader(self) -> "SourceReader":
        """What applies the filter to many sources."""
        return SourceReader(self)


class SourceReader:
    """Shows sources through a filter. Whether a path fits is found out once, as documents are much alike."""

    def __init__(self, patterns: SourceFilter) -> None:
        self._fetch = patterns.fetch
        self._has_patterns = bool(patterns.includes or patterns.excludes)
        self._whole = not patterns.includes
        self._includes = [Wildcard(pattern, any_one="", escape="") for pattern in patterns.includes]
        self._excludes = [Wildcard(pattern, any_one="", escape="") for pattern in patterns.excludes]
        self._known: dict[str, tuple[bool, bool]] = {}

    def read(self, source: JsonObject) -> JsonObject | None:
        """The source as the hit shows it; None if it shows none. What is not filtered is not copied."""
        if not self._fetch:
            return None
        return dict(self._members("", source, self._whole)) if self._has_patterns else source

    def _fits(self, path: str) -> tuple[bool, bool]:
        """Whether a path is excluded, and whether it is included."""
        known = self._known.get(path)
        if known is None:
            known = _any(self._excludes, path), _any(self._includes, path)
            if len(self._known) < _REMEMBERED_PATHS and len(path) <= _LONGEST_REMEMBERED:
                self._known[path] = known
        return known

    def _members(self, path: str, value: JsonObject, whole: bool, depth: int = 0) -> Iterator[tuple[str, Json]]:
        for name, inner in value.items():
            inner_path = f"{path}.{name}" if path else name
            excluded, included = self._fits(inner_path)
            if excluded:
                continue
            included = included or whole
            filtered = self._filtered(inner_path, inner, included, depth + 1)
            if included or filtered:
                yield name, filtered

    def _filtered(self, path: str, value: Json, included: bool, depth: int) -> Json:
        """A value without what is left out; nothing (null or empty) where nothing of it is included."""
        if not any(pattern.may_match_below(path) for pattern in (self._excludes if included else self._includes)):
            return value if included else None
        if depth < _MAX_DEPTH and isinstance(value, dict):
            return dict(self._members(path, value, included, depth))
        if depth < _MAX_DEPTH and isinstance(value, list):
            items = (self._filtered(path, item, included, depth + 1) for item in value)
            return [item for item in items if included or item]
        return value if included else None


def _any(patterns: list[Wildcard], path: str) -> bool:
    return any(pattern.matches(path) for pattern in patterns)


def parse_source_filter(value: Json) -> SourceFilter:
    """Reads `_source`: true, false, a pattern, patterns, or includes and excludes."""
    match value:
        case None:
            return SourceFilter()
        case bool():
            return SourceFilter(fetch=value)
        case str() | list():
            return SourceFilter(_patterns(value))
        case dict():
            members = Members("_source", value, unknown="Unknown key for a {kind} in [{name}].")
            includes = members.take("includes", members.take("include", []))
            excludes = members.take("excludes", members.take("exclude", []))
            members.finish()
            return SourceFilter(_patterns(includes), _patterns(excludes))
        case _:
            raise parsing_error(
                "Expected one of [VALUE_BOOLEAN, START_OBJECT, VALUE_STRING, START_ARRAY] for [_source]"
            )


def _patterns(value: Json) -> tuple[str, ...]:
    patterns = value if isinstance(value, list) else [value]
    if len(patterns) > MAX_PATTERNS:
        raise illegal_argument(f"[_source] has more than {MAX_PATTERNS} patterns")
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise parsing_error("Unknown key in [_source]: patterns must be strings")
    return tuple(str(pattern) for pattern in patterns)
