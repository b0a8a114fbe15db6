"""Queries for terms as they are: term, terms, ids, exists, range, prefix, wildcard.

They score a constant (but a term of an analyzed field, which BM25 scores): so does a keyword in OpenSearch since 3.1.
"""

import math
from collections.abc import Iterable
from itertools import takewhile

from conversations.search.dates import DateReader, parse_zone
from conversations.search.errors import ShardError, illegal_argument, shard_error
from conversations.search.fields import FlatObjectIndex, KeywordIndex, NumberIndex, TextIndex
from conversations.search.json_values import Json, text_of
from conversations.search.mapping import LONG_MAX, LONG_MIN, Field, FieldType, long_value
from conversations.search.nodes import AnyTerm, Fixed, Node, ScoredTerm
from conversations.search.queries import Exists, Prefix, Range, Terms, Wildcard
from conversations.search.queries import Term as TermQuery
from conversations.search.scope import Scope
from conversations.search.terms import Pattern, Term, TermDictionary
from conversations.search.wildcards import Wildcard as WildcardPattern

__all__ = ["existing", "pattern", "prefix", "span", "term", "term_node", "terms", "with_ids"]

ID = "_id"


def with_ids(ids: Iterable[str], scope: Scope) -> Node:
    """Documents by id."""
    numbers = {number for id_ in ids if (number := scope.contents.number(id_)) is not None}
    return Fixed(lambda: numbers, scope.budget)


def term(query: TermQuery, scope: Scope) -> Node:
    """Documents with a term."""
    if query.field == ID:
        return with_ids([text_of(query.value)], scope)
    field = scope.mapping.find(query.field)
    return term_node(field, query.value, scope) if field else Fixed()


def term_node(field: Field, value: Json, scope: Scope) -> Node:
    """Documents that have a value in a field, of whatever type."""
    index = scope.contents.fields[field.name]
    if isinstance(index, TextIndex):
        found = index.dictionary.get(text_of(value))
        return ScoredTerm(field.name, index, found, scope.budget) if found else Fixed()
    if isinstance(index, NumberIndex):
        return _within(index, _number_range(Range(field.name, value, value), field, scope), scope)
    dictionary, path = _dictionary(index, field)
    found = dictionary.get(path + text_of(value))
    return AnyTerm(field.name, lambda: [found] if found else [], scope.budget)


def terms(query: Terms, scope: Scope) -> Node:
    """Documents with any of several terms; none of them is scored."""
    if query.field == ID:
        return with_ids(map(text_of, query.values), scope)
    field = scope.mapping.find(query.field)
    if not field:
        return Fixed()
    index = scope.contents.fields[field.name]
    if isinstance(index, NumberIndex):
        return _with_any_number(index, query.values, field, scope)
    dictionary, path = _dictionary(index, field)
    found = [term for value in query.values if (term := dictionary.get(path + text_of(value)))]
    return AnyTerm(field.name, lambda: found, scope.budget)


def existing(query: Exists, scope: Scope) -> Node:
    """Documents that have a field, or one below an object's name, or one that a pattern names."""
    if query.field == ID:
        return scope.everything()
    fields = [*scope.mapping.matching(query.field), *scope.mapping.matching(f"{query.field}.*")]
    return Fixed(lambda: set().union(*(_holders(field, scope) for field in fields)), scope.budget)


def _holders(field: Field, scope: Scope) -> Iterable[int]:
    index = scope.contents.fields[field.name]
    if isinstance(index, FlatObjectIndex) and field.leaf is not None:
        return (document for term in index.paths.starting_with(f"{field.full_name}=") for document in term.documents())
    return index.documents


def prefix(query: Prefix, scope: Scope) -> Node:
    """Documents with a term that begins so. The prefix is not analyzed, not even put in lower case."""
    field = scope.mapping.find(query.field)
    if not field:
        return Fixed()
    dictionary, path = _textual(field, "prefix", scope)
    return AnyTerm(field.name, lambda: dictionary.starting_with(path + query.value), scope.budget)


def pattern(query: Wildcard, scope: Scope) -> Node:
    """Documents with a term that fits a pattern, which is not analyzed either."""
    field = scope.mapping.find(query.field)
    if not field:
        return Fixed()
    dictionary, path = _textual(field, "wildcard", scope)
    wildcard = WildcardPattern(query.value)
    pattern = _Below(path, wildcard) if path else wildcard
    return AnyTerm(field.name, lambda: dictionary.matching(pattern), scope.budget)


class _Below:
    """A pattern for the values at a path of a flat object."""

    def __init__(self, path: str, pattern: Pattern) -> None:
        self._path, self._pattern = path, pattern
        self.prefix = path + pattern.prefix

    def matches(self, text: str) -> bool:
        return self._pattern.matches(text[len(self._path) :])


def _dictionary(index: TextIndex | KeywordIndex | FlatObjectIndex, field: Field) -> tuple[TermDictionary, str]:
    """The terms of a field, and what stands before a value in them."""
    if not isinstance(index, FlatObjectIndex):
        return index.dictionary, ""
    return (index.values, "") if field.leaf is None else (index.paths, f"{field.full_name}=")


def _textual(field: Field, query: str, scope: Scope) -> tuple[TermDictionary, str]:
    index = scope.contents.fields[field.name]
    if isinstance(index, NumberIndex):
        raise ShardError(
            "query_shard_exception",
            f"Can only use {query} queries on keyword and text fields - "
            f"not on [{field.name}] which is of type [{field.type}]",
        )
    return _dictionary(index, field)


def span(query: Range, scope: Scope) -> Node:
    """Documents with a value between two bounds."""
    field = scope.mapping.find(query.field)
    if not field:
        return Fixed()
    index = scope.contents.fields[field.name]
    if isinstance(index, NumberIndex):
        return _within(index, _number_range(query, field, scope), scope)
    if query.format or query.time_zone:
        raise shard_error(
            f"Field [{field.full_name}] of type [{field.type}] does not support custom formats or time zones"
        )
    dictionary, path = _dictionary(index, field)
    return AnyTerm(field.name, lambda: _terms_between(dictionary, path, query), scope.budget)


def _terms_between(dictionary: TermDictionary, path: str, query: Range) -> Iterable[Term]:
    """Terms between the bounds, in the order of their bytes."""
    lower = path + ("" if query.lower is None else text_of(query.lower))
    upper = None if query.upper is None else path + text_of(query.upper)
    found: Iterable[Term] = dictionary.from_text(lower)
    if path:
        found = takewhile(lambda term: term.text.startswith(path), found)
    if upper is not None:
        found = takewhile(lambda term: term.text < upper or (query.include_upper and term.text == upper), found)
    return (term for term in found if query.include_lower or query.lower is None or term.text != lower)


def _number_range(query: Range, field: Field, scope: Scope) -> tuple[int, int]:
    """The least and the greatest number of a range, both included."""
    if field.type is FieldType.DATE:
        return _date_range(query, field, scope)
    if query.format or query.time_zone:
        raise shard_error(f"Field [{field.name}] of type [{field.type}] does not support custom formats or time zones")
    try:
        lower = LONG_MIN if query.lower is None else _least(query.lower, included=query.include_lower)
        upper = LONG_MAX if query.upper is None else -_least(query.upper, included=query.include_upper, sign=-1)
    except ValueError as error:
        raise shard_error(str(error)) from None
    return lower, upper


def _least(value: Json, *, included: bool, sign: int = 1) -> int:
    """The least whole number that a lower bound allows; with `sign` -1 the same for the mirrored bound."""
    number = long_value(value) * sign
    return math.ceil(number) if included else math.floor(number) + 1


def _date_range(query: Range, field: Field, scope: Scope) -> tuple[int, int]:
    """Milliseconds. Rounding goes up where the bound itself is to be passed over or taken in whole."""
    try:
        reader = DateReader(scope.now_ms, query.format or field.format, parse_zone(query.time_zone or "Z"))
    except ValueError:
        raise illegal_argument(f"[range] time_zone must be an offset, but was [{str(query.time_zone)[:100]}]") from None
    lower, upper = LONG_MIN, LONG_MAX
    if query.lower is not None:
        lower = reader.read(query.lower, round_up=not query.include_lower) + (not query.include_lower)
    if query.upper is not None:
        upper = reader.read(query.upper, round_up=query.include_upper) - (not query.include_upper)
    return lower, upper


def _within(index: NumberIndex, bounds: tuple[int, int], scope: Scope) -> Node:
    lower, upper = bounds
    return Fixed(lambda: {d for d, values in index.items() if any(lower <= v <= upper for v in values)}, scope.budget)


def _with_any_number(index: NumberIndex, wanted: Iterable[Json], field: Field, scope: Scope) -> Node:
    """Documents with one of some numbers; a rounded date stands for a range of them."""
    numbers: set[int] = set()
    ranges: list[tuple[int, int]] = []
    for value in wanted:
        lower, upper = _number_range(Range(field.name, value, value), field, scope)
        numbers.update([lower] if lower == upper else [])
        ranges.extend([(lower, upper)] if lower < upper else [])
    scope.count(len(ranges))

    def is_wanted(value: int) -> bool:
        return value in numbers or any(lower <= value <= upper for lower, upper in ranges)

    return Fixed(lambda: {d for d, values in index.items() if any(map(is_wanted, values))}, scope.budget)
