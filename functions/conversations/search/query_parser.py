"""Reads OpenSearch's query DSL. What it does not know is refused by name, in OpenSearch's words where it has some."""

from collections.abc import Callable

from conversations.search.errors import illegal_argument, parsing_error
from conversations.search.json_values import Json, Members, shown, text_of
from conversations.search.queries import (
    Bool,
    ConstantScore,
    Exists,
    Ids,
    Match,
    MatchAll,
    MatchNone,
    MatchOptions,
    MatchPhrase,
    MatchPhrasePrefix,
    MultiMatch,
    Prefix,
    Query,
    Range,
    Term,
    Terms,
    Wildcard,
)

__all__ = ["parse_query"]

MAX_DEPTH = 20
"""Queries within queries: `indices.query.bool.max_nested_depth`."""
MAX_TERMS = 65_536
"""Values of one `terms` query: `index.max_terms_count`."""
MAX_CLAUSES = 1024
"""Clauses of one query: `indices.query.bool.max_clause_count`."""

_TYPES = ("best_fields", "most_fields", "phrase", "phrase_prefix")
_BOUNDS = {"gte": ("lower", True), "gt": ("lower", False), "lte": ("upper", True), "lt": ("upper", False)}


def parse_query(value: Json, depth: int = 1) -> Query:
    """The query of `{"name": {...}}`. Raises `QueryError`."""
    if depth > MAX_DEPTH:
        raise illegal_argument(
            "The nested depth of the query exceeds the maximum nested depth for queries set in "
            "[indices.query.bool.max_nested_depth]"
        )
    if not isinstance(value, dict):
        raise parsing_error("[_na] query malformed, must start with start_object")
    if len(value) != 1:
        raise parsing_error(
            "query malformed, empty clause found"
            if not value
            else f"[{next(iter(value))[:200]}] malformed query, expected [END_OBJECT] but found [FIELD_NAME]"
        )
    [(name, body)] = value.items()
    if name in _COMPOUND:
        return _COMPOUND[name](Members(name, body), depth + 1)
    if name not in _LEAVES:
        raise parsing_error(f"unknown query [{name[:200]}]")
    return _LEAVES[name](Members(name, body))


def _match_all(members: Members) -> Query:
    boost = members.boost()
    members.finish()
    return MatchAll(boost=boost)


def _match_none(members: Members) -> Query:
    boost = members.boost()
    members.finish()
    return MatchNone(boost=boost)


def _field_and_options(owner: str, members: Members, short: str) -> tuple[str, Members]:
    """`{"field": {...}}`, or its short form `{"field": value}` for `{"field": {short: value}}`."""
    field, body = members.only()
    return field, Members(owner, body if isinstance(body, dict) else {short: body})


def _minimum_should_match(members: Members) -> str | None:
    value = members.take("minimum_should_match")
    if value is None:
        return None
    if isinstance(value, bool | list | dict | float) or len(str(value)) > 100:
        raise illegal_argument(f"failed to parse [minimum_should_match]: [{shown(value)}]")
    return str(value)


def _options(members: Members) -> MatchOptions:
    return MatchOptions(
        all_terms=members.choice("operator", ("or", "and"), "or") == "and",
        minimum_should_match=_minimum_should_match(members),
        no_terms_match_all=members.choice("zero_terms_query", ("none", "all"), "none") == "all",
        lenient=members.flag("lenient", default=False),
    )


def _match(members: Members) -> Query:
    field, members = _field_and_options("match", members, "query")
    query = Match(field, members.text("query"), _options(members), boost=members.boost())
    members.finish()
    return query


def _slop(members: Members) -> int:
    slop = members.integer("slop", 0)
    if slop < 0:
        raise illegal_argument("No negative slop allowed.")
    return slop


def _max_expansions(members: Members) -> int:
    most = members.integer("max_expansions", 50)
    if most <= 0:
        raise illegal_argument("No negative maxExpansions allowed.")
    return most


def _phrase_options(members: Members) -> MatchOptions:
    matches_all = members.choice("zero_terms_query", ("none", "all"), "none") == "all"
    return MatchOptions(no_terms_match_all=matches_all)


def _match_phrase(members: Members) -> Query:
    field, members = _field_and_options("match_phrase", members, "query")
    text, options = members.text("query"), _phrase_options(members)
    query = MatchPhrase(field, text, _slop(members), options, boost=members.boost())
    members.finish()
    return query


def _match_phrase_prefix(members: Members) -> Query:
    field, members = _field_and_options("match_phrase_prefix", members, "query")
    text, options, most = members.text("query"), _phrase_options(members), _max_expansions(members)
    query = MatchPhrasePrefix(field, text, _slop(members), most, options, boost=members.boost())
    members.finish()
    return query


def _multi_match(members: Members) -> Query:
    type_ = members.choice("type", _TYPES, "best_fields")
    query = MultiMatch(
        members.text("query"),
        _weighted_fields(members.take("fields", [])),
        type_,  # type: ignore[arg-type]  # one of _TYPES
        members.single("tie_breaker", 1.0 if type_ == "most_fields" else 0.0),
        _slop(members),
        _max_expansions(members),
        _options(members),
        boost=members.boost(),
    )
    members.finish()
    return query


def _weighted_fields(value: Json) -> tuple[tuple[str, float], ...]:
    fields = value if isinstance(value, list) else [value]
    if len(fields) > MAX_CLAUSES:
        raise illegal_argument(f"field expansion matches too many fields, limit: {MAX_CLAUSES}, got: {len(fields)}")
    weighted: list[tuple[str, float]] = []
    for field in fields:
        if not isinstance(field, str):
            raise parsing_error("[multi_match] query does not support [fields] that are no strings")
        name, caret, weight = field.partition("^")
        weighted.append((name, Members("multi_match", {"boost": weight if caret else 1.0}).boost()))
    return tuple(weighted)


def _term(members: Members) -> Query:
    field, members = _field_and_options("term", members, "value")
    value, boost = members.take("value"), members.boost()
    members.finish()
    return Term(field, _scalar("term", value), boost=boost)


def _scalar(owner: str, value: Json) -> Json:
    if value is None:
        raise illegal_argument("value cannot be null")
    if isinstance(value, list | dict):
        raise parsing_error(f"[{owner}] query does not support an array or object as a value")
    return value


def _terms(members: Members) -> Query:
    boost = members.boost()
    field, values = members.only()
    if not isinstance(values, list):
        raise parsing_error(f"[terms] query requires an array of values, found none for [{field[:200]}]")
    if len(values) > MAX_TERMS:
        raise illegal_argument(
            f"The number of terms [{len(values)}] used in the Terms Query request has exceeded the allowed maximum of "
            f"[{MAX_TERMS}]. This maximum can be set by changing the [index.max_terms_count] index level setting."
        )
    return Terms(field, tuple(_scalar("terms", value) for value in values), boost=boost)


def _ids(members: Members) -> Query:
    values, boost = members.take("values", []), members.boost()
    members.finish()
    if not isinstance(values, list):
        values = [values]
    if len(values) > MAX_TERMS:
        raise illegal_argument(f"The number of ids [{len(values)}] has exceeded the allowed maximum of [{MAX_TERMS}]")
    return Ids(tuple(text_of(_scalar("ids", value)) for value in values), boost=boost)


def _exists(members: Members) -> Query:
    if not members.has("field"):
        raise parsing_error("[exists] must be provided with a [field]")
    query = Exists(members.text("field"), boost=members.boost())
    members.finish()
    return query


def _range(members: Members) -> Query:
    field, body = members.only()
    members = Members("range", body)
    bounds: dict[str, Json] = {"lower": members.take("from"), "upper": members.take("to")}
    inclusive = {side: members.flag(f"include_{side}", default=True) for side in bounds}
    for name, (side, included) in _BOUNDS.items():
        if members.has(name):
            value = members.take(name)
            bounds[side], inclusive[side] = value, included
    for value in bounds.values():
        _scalar("range", value if value is not None else 0)
    texts = {name: members.text(name) if members.has(name) else None for name in ("format", "time_zone")}
    query = Range(
        field,
        bounds["lower"],
        bounds["upper"],
        inclusive["lower"],
        inclusive["upper"],
        texts["format"],
        texts["time_zone"],
        boost=members.boost(),
    )
    members.finish()
    return query


def _prefix(members: Members) -> Query:
    field, members = _field_and_options("prefix", members, "value")
    query = Prefix(field, members.text("value"), boost=members.boost())
    members.finish()
    return query


def _wildcard(members: Members) -> Query:
    field, members = _field_and_options("wildcard", members, "value")
    value = members.text("wildcard" if members.has("wildcard") else "value")
    query = Wildcard(field, value, boost=members.boost())
    members.finish()
    return query


def _bool(members: Members, depth: int) -> Query:
    clauses = {name: _clauses(name, members.take(name, []), depth) for name in ("must", "filter", "should", "must_not")}
    query = Bool(
        **clauses,
        minimum_should_match=_minimum_should_match(members),
        adjust_pure_negative=members.flag("adjust_pure_negative", default=True),
        boost=members.boost(),
    )
    members.finish()
    return query


def _clauses(name: str, value: Json, depth: int) -> tuple[Query, ...]:
    clauses = value if isinstance(value, list) else [value]
    if len(clauses) > MAX_CLAUSES:
        raise illegal_argument(f"maxClauseCount is set to {MAX_CLAUSES}, but [{name}] has {len(clauses)}")
    return tuple(parse_query(clause, depth) for clause in clauses)


def _constant_score(members: Members, depth: int) -> Query:
    if not members.has("filter"):
        raise parsing_error("[constant_score] requires a 'filter' element")
    query = ConstantScore(parse_query(members.take("filter"), depth), boost=members.boost())
    members.finish()
    return query


_LEAVES: dict[str, Callable[[Members], Query]] = {
    "match_all": _match_all,
    "match_none": _match_none,
    "match": _match,
    "match_phrase": _match_phrase,
    "match_phrase_prefix": _match_phrase_prefix,
    "multi_match": _multi_match,
    "term": _term,
    "terms": _terms,
    "ids": _ids,
    "exists": _exists,
    "range": _range,
    "prefix": _prefix,
    "wildcard": _wildcard,
}

_COMPOUND: dict[str, Callable[[Members, int], Query]] = {"bool": _bool, "constant_score": _constant_score}
