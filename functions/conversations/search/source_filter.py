"""Which members of a document's source a hit shows: `_source`, as OpenSearch's `XContentMapValues.filter` does it.

A pattern names a path; it takes in all that stands below it, and `*` stands for any text, dots included.
"""

from collections.abc import Iterator
from typing import NamedTuple

from conversations.search.errors import illegal_argument, parsing_error
from conversations.search.json_values import Json, JsonObject, Members
from conversations.search.wildcards import Wildcard

__all__ = ["SourceFilter", "parse_source_filter"]

MAX_PATTERNS = 1024


class SourceFilter(NamedTuple):
    """Patterns to include (all, if there is none) and to exclude, or nothing at all."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    fetch: bool = True

    def apply(self, source: JsonObject) -> JsonObject | None:
        """The source as the hit shows it; None if it shows none. What is not filtered is not copied."""
        if not self.fetch:
            return None
        if not self.includes and not self.excludes:
            return source
        return _Filter(self).members("", source, whole=not self.includes)


class _Filter:
    def __init__(self, patterns: SourceFilter) -> None:
        self._includes = [Wildcard(pattern, any_one="", escape="") for pattern in patterns.includes]
        self._excludes = [Wildcard(pattern, any_one="", escape="") for pattern in patterns.excludes]

    def members(self, path: str, value: JsonObject, *, whole: bool) -> JsonObject:
        return dict(self._kept(path, value, whole))

    def _kept(self, path: str, value: JsonObject, whole: bool) -> Iterator[tuple[str, Json]]:
        for name, inner in value.items():
            inner_path = f"{path}.{name}" if path else name
            if any(pattern.matches(inner_path) for pattern in self._excludes):
                continue
            included = whole or any(pattern.matches(inner_path) for pattern in self._includes)
            filtered = self._filtered(inner_path, inner, included)
            if included or filtered:
                yield name, filtered

    def _filtered(self, path: str, value: Json, included: bool) -> Json:
        """A value without what is left out; nothing (null or empty) where nothing of it is included."""
        if isinstance(value, dict):
            return self.members(path, value, whole=included)
        if isinstance(value, list):
            items = (self._filtered(path, item, included) for item in value)
            return [item for item in items if included or item]
        return value if included else None


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
