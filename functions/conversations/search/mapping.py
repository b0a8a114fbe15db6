"""Which fields documents have, and what a document's values are in them.

A mapping is written as in OpenSearch: `{"properties": {"name": {"type": "text"}, ...}}`. Fields that it does not
declare are kept in the source and not indexed. Types: text, keyword, date, long, flat_object.
"""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import NamedTuple

from conversations.search.dates import DEFAULT_FORMAT, DateReader, date_text, parse_date
from conversations.search.errors import DocumentError
from conversations.search.json_values import Json, JsonObject, leaves, shown, text_of
from conversations.search.wildcards import Wildcard

__all__ = ["Field", "FieldType", "Leaf", "Mapping", "flat_leaves", "long_value", "values_at"]

MAX_TERM_BYTES = 32766
MOST_PATHS = 4_000_000
"""Every leaf of a flat object repeats the names above it: a small document could take more memory than there is."""
"""Lucene's limit for one term, in bytes of UTF-8; only a keyword can reach it."""

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


class FieldType(StrEnum):
    """The types of OpenSearch that this engine knows."""

    TEXT = "text"
    KEYWORD = "keyword"
    DATE = "date"
    LONG = "long"
    FLAT_OBJECT = "flat_object"


class Field(NamedTuple):
    """A field by the name a query gives it. `leaf` is the path below a flat object, if the name goes that far."""

    name: str
    type: FieldType
    format: str = DEFAULT_FORMAT
    leaf: str | None = None

    @property
    def full_name(self) -> str:
        """The name as the query wrote it."""
        return self.name if self.leaf is None else f"{self.name}.{self.leaf}"

    @property
    def is_textual(self) -> bool:
        """Whether the field holds strings, be they analyzed or not."""
        return self.type in (FieldType.TEXT, FieldType.KEYWORD, FieldType.FLAT_OBJECT)

    @property
    def is_number(self) -> bool:
        """Whether the field holds numbers (a date is one of milliseconds)."""
        return self.type in (FieldType.DATE, FieldType.LONG)


class Mapping:
    """The declared fields by name."""

    def __init__(self, definition: JsonObject) -> None:
        """Raises `ValueError` for a type or parameter that is not known here: a mapping is code, not input."""
        self.fields: dict[str, Field] = {}
        for name, field in _declared("", definition):
            self.fields[name] = field

    def find(self, name: str) -> Field | None:
        """The field of a name; below a flat object every name is one."""
        if field := self.fields.get(name):
            return field
        parts = name.split(".")
        for size in range(1, min(len(parts), 20)):
            owner = self.fields.get(".".join(parts[:size]))
            if owner and owner.type is FieldType.FLAT_OBJECT:
                return Field(owner.name, owner.type, leaf=".".join(parts[size:]))
        return None

    def matching(self, pattern: str) -> Iterator[Field]:
        """The fields whose names match a pattern with `*`, or the one of that name."""
        if "*" not in pattern:
            field = self.find(pattern)
            yield from [field] if field else []
            return
        names = Wildcard(pattern, any_one="", escape="")
        yield from (field for name, field in sorted(self.fields.items()) if names.matches(name))


def _declared(prefix: str, definition: JsonObject) -> Iterator[tuple[str, Field]]:
    properties = definition.get("properties")
    if not isinstance(properties, dict) or definition.keys() - {"properties", "type"}:
        raise ValueError(f"a mapping has [properties] and nothing else, found {sorted(definition)}")
    for name, options in properties.items():
        if not isinstance(options, dict):
            raise ValueError(f"no object for the field [{prefix}{name}]")
        if "properties" in options:
            yield from _declared(f"{prefix}{name}.", options)
        else:
            yield f"{prefix}{name}", _field(f"{prefix}{name}", options)


def _field(name: str, options: JsonObject) -> Field:
    type_ = FieldType(str(options.get("type")))
    format_ = options.get("format", DEFAULT_FORMAT)
    unknown = options.keys() - {"type"} - ({"format"} if type_ is FieldType.DATE else set())
    if unknown or not isinstance(format_, str):
        raise ValueError(f"unknown parameter {sorted(unknown)} on field [{name}] of type [{type_}]")
    DateReader(0, format_)
    return Field(name, type_, format_)


def values_at(document: JsonObject, path: str) -> list[Json]:
    """What a document holds under a dotted path, through objects and arrays, nulls left out."""
    found = list(leaves(document.get(path)))
    head, dot, rest = path.partition(".")
    if dot:
        for inner in leaves(document.get(head)):
            if isinstance(inner, dict):
                found.extend(values_at(inner, rest))
    return found


def string_values(field: Field, values: list[Json]) -> list[str]:
    """The strings of a text or keyword field. Raises `DocumentError` for an object, or a keyword that is too long."""
    strings: list[str] = []
    for value in values:
        if isinstance(value, dict):
            raise DocumentError(field.name, field.type, "Can't get text on a START_OBJECT")
        text = text_of(value)
        if field.type is FieldType.KEYWORD:
            check_term(field, text)
        strings.append(text)
    return strings


def check_term(field: Field, text: str) -> None:
    """Refuse a term that Lucene could not store."""
    if len(text) * 4 > MAX_TERM_BYTES and len(text.encode(errors="surrogatepass")) > MAX_TERM_BYTES:
        raise DocumentError(field.name, field.type, f"immense term, longer than {MAX_TERM_BYTES} bytes")


def number_values(field: Field, values: list[Json]) -> list[int]:
    """The numbers of a long or date field. Raises `DocumentError`."""
    try:
        if field.type is FieldType.DATE:
            return [parse_date(_date_value(value), field.format) for value in values]
        return [int(long_value(value)) for value in values]
    except ValueError as error:
        raise DocumentError(field.name, field.type, str(error)) from None


def _date_value(value: Json) -> str:
    if isinstance(value, dict | bool):
        raise ValueError("no date")
    return date_text(value)


def long_value(value: Json) -> Decimal:
    """A number for a `long`, its fraction kept. Raises `ValueError` with OpenSearch's text."""
    if isinstance(value, bool | dict | list) or value is None:
        raise ValueError(f'For input string: "{shown(value)}"')
    try:
        number = Decimal(value) if isinstance(value, int) else Decimal(str(value)[:1000].strip())
    except InvalidOperation:
        raise ValueError(f'For input string: "{shown(value)}"') from None
    if not number.is_finite():
        raise ValueError(f'For input string: "{shown(value)}"')
    if not LONG_MIN <= number <= LONG_MAX:
        raise ValueError(f"Value [{shown(value)}] is out of range for a long")
    return number


class Leaf(NamedTuple):
    """A value inside a flat object: its path below the object, and its text."""

    path: str
    text: str


def flat_leaves(field: Field, values: list[Json]) -> Iterator[Leaf]:
    """The leaves of a flat object, at any depth. Raises `DocumentError` if there is no object, or if paths are long."""
    stack: list[tuple[str, str, Json]] = [("", "", value) for value in reversed(values)]
    left = MOST_PATHS
    while stack:
        above, name, value = stack.pop()
        if isinstance(value, list):
            stack.extend((above, name, inner) for inner in reversed(value))
        elif value is not None:
            path = f"{above}.{name}" if above else name
            if isinstance(value, dict):
                above = path[: MAX_TERM_BYTES + 1]  # no leaf below a longer one is taken anyway
                stack.extend((above, key, inner) for key, inner in reversed(value.items()))
                continue
            left -= len(path)
            if left < 0:
                raise DocumentError(field.name, field.type, f"paths are longer than {MOST_PATHS} characters together")
            if not path:
                raise DocumentError(field.name, field.type, "unexpected token in flat_object field value")
            leaf = Leaf(path, text_of(value))
            check_term(field, f"{field.name}.{leaf.path}={leaf.text}")
            yield leaf
