"""The order of hits: `sort` and `search_after`.

Without a sort the best score comes first. Equal hits stand in the order in which they were indexed.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from conversations.search.dates import DateReader
from conversations.search.errors import ShardError, illegal_argument
from conversations.search.fields import KeywordIndex, NumberIndex
from conversations.search.json_values import Json, Members, shown, text_of
from conversations.search.mapping import LONG_MAX, LONG_MIN, Field, FieldType, long_value
from conversations.search.scope import Scope
from conversations.search.single_precision import shortest, single

__all__ = ["Ranking", "SortKey", "SortValue", "parse_sort"]

SortValue = int | float | str | None

MAX_KEYS = 100
_NUMBER_TYPES = ("long", "integer", "short", "byte", "date")
_NO_FIELDDATA = (
    "Text fields are not optimised for operations that require per-document field data like aggregations and "
    "sorting, so these operations are disabled by default. Please use a keyword field instead. Alternatively, set "
    "fielddata=true on [{}] in order to load field data by uninverting the inverted index. Note that this can use "
    "significant memory."
)
_SCORE, _DOC, _ID = "_score", "_doc", "_id"


class SortKey(NamedTuple):
    """One key of a sort as the request has it."""

    field: str
    descending: bool = False
    missing: Json = "_last"
    unmapped_type: str | None = None
    mode: str = ""


def parse_sort(value: Json) -> tuple[SortKey, ...]:
    """Reads `sort`: a name, an object, or a list of them."""
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_KEYS:
        raise illegal_argument(f"[sort] has more than {MAX_KEYS} keys")
    keys = tuple(key for entry in entries for key in _parse_entry(entry))
    only_by_score = len(keys) == 1 and keys[0].field == _SCORE and keys[0].descending
    return () if only_by_score else keys


def _parse_entry(entry: Json) -> list[SortKey]:
    if isinstance(entry, str):
        return [SortKey(entry, descending=entry == _SCORE)]
    if not isinstance(entry, dict):
        raise illegal_argument(
            "malformed sort format, within the sort array, an object, or an actual string are allowed"
        )
    return [_parse_key(name, options) for name, options in entry.items()]


def _parse_key(name: str, options: Json) -> SortKey:
    if isinstance(options, str):
        options = {"order": options}
    members = Members("field_sort", options, unknown="[{owner}] unknown field [{name}]")
    key = SortKey(
        name,
        members.choice("order", ("asc", "desc"), "desc" if name == _SCORE else "asc") == "desc",
        _missing(members.take("missing")),
        members.text("unmapped_type") if members.has("unmapped_type") else None,
        members.choice("mode", ("min", "max", ""), ""),
    )
    members.finish()
    return key


def _missing(value: Json) -> Json:
    if isinstance(value, list | dict):
        raise illegal_argument(f"[missing] must be a value, but was {shown(value)}")
    return "_last" if value is None else value


_Place = tuple[bool, Any]
"""A value of one column that sorts with the missing ones where they belong; all values of a column have one type."""


class _Column(NamedTuple):
    """A key bound to the index: a document's value, or `None` if it is missing."""

    value: Callable[[int], SortValue]
    parse: Callable[[Json], SortValue]
    descending: bool
    missing_first: bool = False
    show: Callable[[SortValue], SortValue] = lambda value: value

    def place(self, value: SortValue) -> _Place:
        """Where a value stands; to be reversed if the column is descending."""
        missing_is_high = self.missing_first == self.descending
        return (value is None) == missing_is_high, 0 if value is None else value

    def place_of(self, document: int) -> _Place:
        """Where a document stands."""
        return self.place(self.value(document))


class Ranking:
    """The sort of a request, bound to an index and the scores of its matches."""

    def __init__(self, keys: Sequence[SortKey], scope: Scope, scores: dict[int, float]) -> None:
        self._columns = [_column(key, scope, scores) for key in keys]

    def values(self, document: int) -> list[SortValue]:
        """What a hit shows as `sort`."""
        return [column.show(column.value(document)) for column in self._columns]

    def ordered(self, documents: Iterable[int]) -> list[int]:
        """The documents in order; the last key first, as sorting is stable."""
        ordered = sorted(documents)
        for column in reversed(self._columns):
            ordered.sort(key=column.place_of, reverse=column.descending)
        return ordered

    def after(self, documents: Iterable[int], values: Sequence[Json]) -> list[int]:
        """The documents that stand strictly behind some sort values."""
        if not self._columns:
            raise illegal_argument("Sort must contain at least one field.")
        if len(values) != len(self._columns):
            raise illegal_argument(f"search_after has {len(values)} value(s) but sort has {len(self._columns)}.")
        limits = [
            column.place(None if value is None else column.parse(value))
            for column, value in zip(self._columns, values, strict=True)
        ]
        return [document for document in documents if self._is_behind(document, limits)]

    def _is_behind(self, document: int, limits: Sequence[_Place]) -> bool:
        for column, limit in zip(self._columns, limits, strict=True):
            place = column.place_of(document)
            if place != limit:
                return bool((place < limit) if column.descending else (place > limit))
        return False


def _column(key: SortKey, scope: Scope, scores: dict[int, float]) -> _Column:
    if key.field == _SCORE:
        return _Column(scores.__getitem__, _parse_score, key.descending, show=_show_score)
    if key.field == _DOC:
        return _Column(lambda document: document, _parse_long, key.descending)
    if key.field == _ID:
        return _Column(lambda document: scope.contents.document(document).id, text_of, key.descending)
    field = scope.mapping.find(key.field)
    if field is not None:
        return _field_column(field, key, scope)
    if key.unmapped_type is None:
        raise ShardError("query_shard_exception", f"No mapping found for [{key.field[:200]}] in order to sort on")
    if key.unmapped_type in _NUMBER_TYPES:
        return _number_column(Field(key.field, FieldType.LONG), NumberIndex(), key, scope)
    return _keyword_column(KeywordIndex(), key)


def _field_column(field: Field, key: SortKey, scope: Scope) -> _Column:
    index = scope.contents.fields[field.name]
    if isinstance(index, NumberIndex):
        return _number_column(field, index, key, scope)
    if isinstance(index, KeywordIndex):
        return _keyword_column(index, key)
    if field.type is FieldType.TEXT:
        raise ShardError("illegal_argument_exception", _NO_FIELDDATA.format(field.name))
    raise ShardError("illegal_argument_exception", f"can't sort on [{field.full_name}] of type [{field.type}]")


def _number_column(field: Field, index: NumberIndex, key: SortKey, scope: Scope) -> _Column:
    """A missing number counts, and shows, as the greatest or least there is."""
    pick, parse = _pick(key), partial(_parse_number, field, scope)
    if key.missing in ("_first", "_last"):
        missing = LONG_MAX if (key.missing == "_last") != key.descending else LONG_MIN
    else:
        missing = parse(key.missing)
    return _Column(lambda document: pick(index.values(document) or [missing]), parse, key.descending)


def _keyword_column(index: KeywordIndex, key: SortKey) -> _Column:
    pick, given = _pick(key), None if key.missing in ("_first", "_last") else text_of(key.missing)

    def value(document: int) -> str | None:
        values = index.values(document)
        return pick(values) if values else given

    return _Column(value, text_of, key.descending, key.missing == "_first")


def _pick(key: SortKey) -> Callable[[list[Any]], Any]:
    """Which of several values counts: the least, or the greatest if the order is descending."""
    return {"min": min, "max": max, "": max if key.descending else min}[key.mode]


def _show_score(value: SortValue) -> SortValue:
    return shortest(value) if isinstance(value, float) else value


def _parse_score(value: Json) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        return single(float(value))
    except (ValueError, OverflowError):
        raise illegal_argument(f"Failed to parse search_after value for field [{_SCORE}].") from None


def _parse_long(value: Json) -> int:
    try:
        return int(long_value(value))
    except ValueError as error:
        raise illegal_argument(str(error)) from None


def _parse_number(field: Field, scope: Scope, value: Json) -> int:
    """A number as it is shown; a date may be written as one as well."""
    if field.type is FieldType.DATE and isinstance(value, str):
        return DateReader(scope.now_ms, field.format).read(value, round_up=False)
    return _parse_long(value)
