"""What a request wants marked: `highlight`, as far as the plain highlighter goes.

OpenSearch's default highlighter is `unified`, which cuts fragments at sentences. This engine has the plain one only:
it is also what a request gets that names none; the others are refused by name.
"""

from typing import NamedTuple

from conversations.search.errors import illegal_argument, parsing_error
from conversations.search.json_values import Json, Members

__all__ = ["FieldOptions", "Highlight", "parse_highlight"]

MAX_FIELDS = 100
_UNKNOWN = "[{owner}] unknown field [{name}]"


class FieldOptions(NamedTuple):
    """How the fragments of a field are made; sizes in UTF-16 units."""

    pre_tag: str = "<em>"
    post_tag: str = "</em>"
    fragment_size: int = 100
    number_of_fragments: int = 5
    no_match_size: int = 0
    by_score: bool = False
    html: bool = False
    require_field_match: bool = True
    spans: bool = True
    analyzed: int | None = None
    """How much of a text is looked at (`max_analyzer_offset`); without it a text that is too long is an error."""


class Highlight(NamedTuple):
    """The fields (patterns) to mark, in the order of the request."""

    fields: tuple[tuple[str, FieldOptions], ...]


def parse_highlight(value: Json) -> Highlight | None:
    """Reads `highlight`. Raises `QueryError`."""
    if value is None:
        return None
    members = Members("highlight", value, unknown=_UNKNOWN)
    fields = members.take("fields", {})
    common = _options(members, FieldOptions())
    members.finish()
    entries = [entry for each in (fields if isinstance(fields, list) else [fields]) for entry in _entries(each)]
    if len(entries) > MAX_FIELDS:
        raise illegal_argument(f"[highlight] has more than {MAX_FIELDS} fields")
    return Highlight(tuple((name, _field_options(options, common)) for name, options in entries))


def _entries(value: Json) -> list[tuple[str, Json]]:
    if not isinstance(value, dict):
        raise parsing_error("[highlight] failed to parse field [fields]: it must be an object or an array of objects")
    return list(value.items())


def _field_options(value: Json, common: FieldOptions) -> FieldOptions:
    members = Members("highlight_field", value, unknown=_UNKNOWN)
    options = _options(members, common)
    members.finish()
    return options


def _options(members: Members, base: FieldOptions) -> FieldOptions:
    members.choice("type", ("plain",), "plain")
    return FieldOptions(
        _tag(members, "pre_tags", base.pre_tag),
        _tag(members, "post_tags", base.post_tag),
        _size(members, "fragment_size", base.fragment_size),
        _size(members, "number_of_fragments", base.number_of_fragments),
        _size(members, "no_match_size", base.no_match_size),
        members.choice("order", ("score", "none"), "score" if base.by_score else "none") == "score",
        members.choice("encoder", ("html", "default"), "html" if base.html else "default") == "html",
        members.flag("require_field_match", default=base.require_field_match),
        members.choice("fragmenter", ("span", "simple"), "span" if base.spans else "simple") == "span",
        _analyzed(members, base.analyzed),
    )


def _analyzed(members: Members, default: int | None) -> int | None:
    if not members.has("max_analyzer_offset"):
        return default
    most = members.integer("max_analyzer_offset", 0)
    if most <= 0:
        raise illegal_argument(f"[max_analyzer_offset] must be a positive integer, but was [{most}]")
    return most


def _tag(members: Members, name: str, default: str) -> str:
    """The plain highlighter has use for the first tag only."""
    value = members.take(name, default)
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, str):
        raise parsing_error(f"[highlight] [{name}] must be strings")
    return first


def _size(members: Members, name: str, default: int) -> int:
    size = members.integer(name, default)
    if size < 0:
        raise illegal_argument(f"[highlight] [{name}] must not be negative, but was [{size}]")
    return size
