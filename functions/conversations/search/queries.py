"""The queries of a request, as values: what `query_parser` reads and `rewriting` turns into what is run."""

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, kw_only=True)
class _Weighted:
    boost: float = 1.0


@dataclass(frozen=True)
class MatchAll(_Weighted):
    """All documents."""


@dataclass(frozen=True)
class MatchNone(_Weighted):
    """No document."""


@dataclass(frozen=True)
class MatchOptions:
    """How the terms of an analyzed text are put together."""

    all_terms: bool = False
    minimum_should_match: str | None = None
    no_terms_match_all: bool = False
    lenient: bool = False


@dataclass(frozen=True)
class Match(_Weighted):
    """Any term of an analyzed text, or all of them."""

    field: str
    text: Json
    options: MatchOptions = MatchOptions()


@dataclass(frozen=True)
class MatchPhrase(_Weighted):
    """The terms of an analyzed text side by side, moved by no more than `slop` positions in all."""

    field: str
    text: Json
    slop: int = 0
    options: MatchOptions = MatchOptions()


@dataclass(frozen=True)
class MatchPhrasePrefix(_Weighted):
    """A phrase whose last term is only a prefix, which stands for the first `max_expansions` terms that begin so."""

    field: str
    text: Json
    slop: int = 0
    max_expansions: int = 50
    options: MatchOptions = MatchOptions()


@dataclass(frozen=True)
class MultiMatch(_Weighted):
    """One text against several fields (patterns with weights): the best field's score, plus a share of the others'."""

    text: Json
    fields: tuple[tuple[str, float], ...]
    type: Literal["best_fields", "most_fields", "phrase", "phrase_prefix"] = "best_fields"
    tie_breaker: float = 0.0
    slop: int = 0
    max_expansions: int = 50
    options: MatchOptions = MatchOptions()


@dataclass(frozen=True)
class Term(_Weighted):
    """One term, not analyzed."""

    field: str
    value: Json


@dataclass(frozen=True)
class Terms(_Weighted):
    """Any of several terms."""

    field: str
    values: tuple[Json, ...]


@dataclass(frozen=True)
class Ids(_Weighted):
    """Documents by id."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Exists(_Weighted):
    """Documents that have a field."""

    field: str


@dataclass(frozen=True)
class Range(_Weighted):
    """Values between two bounds, either of which may be open (`None`)."""

    field: str
    lower: Json = None
    upper: Json = None
    include_lower: bool = True
    include_upper: bool = True
    format: str | None = None
    time_zone: str | None = None


@dataclass(frozen=True)
class Prefix(_Weighted):
    """Terms that begin so."""

    field: str
    value: str


@dataclass(frozen=True)
class Wildcard(_Weighted):
    """Terms that fit a pattern of `*` and `?`."""

    field: str
    value: str


@dataclass(frozen=True)
class Bool(_Weighted):
    """Clauses that must, should or must not match; `filter` ones must, without a score."""

    must: tuple["Query", ...] = ()
    filter: tuple["Query", ...] = ()
    should: tuple["Query", ...] = ()
    must_not: tuple["Query", ...] = ()
    minimum_should_match: str | None = None
    adjust_pure_negative: bool = True


@dataclass(frozen=True)
class ConstantScore(_Weighted):
    """A filter whose every match scores the boost."""

    filter: "Query"


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
