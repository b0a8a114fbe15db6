"""The queries of a request, as values: what `query_parser` reads and `rewriting` turns into what is run."""

from typing import Literal, NamedTuple

from conversations.search.json_values import Json

__all__ = [
    "Bool",
    "ConstantScore",
    "Exists",
    "Ids",
    "Match",
    "MatchAll",
    "MatchNone",
    "MatchOptions",
    "MatchPhrase",
    "MatchPhrasePrefix",
    "MultiMatch",
    "Prefix",
    "Query",
    "Range",
    "Term",
    "Terms",
    "Wildcard",
]


class MatchAll(NamedTuple):
    """All documents."""

    boost: float = 1.0


class MatchNone(NamedTuple):
    """No document."""

    boost: float = 1.0


class MatchOptions(NamedTuple):
    """How the terms of an analyzed text are put together."""

    all_terms: bool = False
    minimum_should_match: str | None = None
    no_terms_match_all: bool = False
    lenient: bool = False


class Match(NamedTuple):
    """Any term of an analyzed text, or all of them."""

    field: str
    text: Json
    options: MatchOptions = MatchOptions()
    boost: float = 1.0


class MatchPhrase(NamedTuple):
    """The terms of an analyzed text side by side, moved by no more than `slop` positions in all."""

    field: str
    text: Json
    slop: int = 0
    options: MatchOptions = MatchOptions()
    boost: float = 1.0


class MatchPhrasePrefix(NamedTuple):
    """A phrase whose last term is only a prefix, which stands for the first `max_expansions` terms that begin so."""

    field: str
    text: Json
    slop: int = 0
    max_expansions: int = 50
    options: MatchOptions = MatchOptions()
    boost: float = 1.0


class MultiMatch(NamedTuple):
    """One text against several fields (patterns with weights): the best field's score, plus a share of the others'."""

    text: Json
    fields: tuple[tuple[str, float], ...]
    type: Literal["best_fields", "most_fields", "phrase", "phrase_prefix"] = "best_fields"
    tie_breaker: float = 0.0
    slop: int = 0
    max_expansions: int = 50
    options: MatchOptions = MatchOptions()
    boost: float = 1.0


class Term(NamedTuple):
    """One term, not analyzed."""

    field: str
    value: Json
    boost: float = 1.0


class Terms(NamedTuple):
    """Any of several terms."""

    field: str
    values: tuple[Json, ...]
    boost: float = 1.0


class Ids(NamedTuple):
    """Documents by id."""

    values: tuple[str, ...]
    boost: float = 1.0


class Exists(NamedTuple):
    """Documents that have a field."""

    field: str
    boost: float = 1.0


class Range(NamedTuple):
    """Values between two bounds, either of which may be open (`None`)."""

    field: str
    lower: Json = None
    upper: Json = None
    include_lower: bool = True
    include_upper: bool = True
    format: str | None = None
    time_zone: str | None = None
    boost: float = 1.0


class Prefix(NamedTuple):
    """Terms that begin so."""

    field: str
    value: str
    boost: float = 1.0


class Wildcard(NamedTuple):
    """Terms that fit a pattern of `*` and `?`."""

    field: str
    value: str
    boost: float = 1.0


class Bool(NamedTuple):
    """Clauses that must, should or must not match; `filter` ones must, without a score."""

    must: tuple["Query", ...] = ()
    filter: tuple["Query", ...] = ()
    should: tuple["Query", ...] = ()
    must_not: tuple["Query", ...] = ()
    minimum_should_match: str | None = None
    adjust_pure_negative: bool = True
    boost: float = 1.0


class ConstantScore(NamedTuple):
    """A filter whose every match scores the boost."""

    filter: "Query"
    boost: float = 1.0


Query = (
    MatchAll
    | MatchNone
    | Match
    | MatchPhrase
    | MatchPhrasePrefix
    | MultiMatch
    | Term
    | Terms
    | Ids
    | Exists
    | Range
    | Prefix
    | Wildcard
    | Bool
    | ConstantScore
)
