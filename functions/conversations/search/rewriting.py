"""Binds a query to an index: what OpenSearch's query builders do on the shard."""

from conversations.search.minimum_should_match import required_matches
from conversations.search.nodes import Clauses, Constant, Fixed, Node, flattened
from conversations.search.queries import (
    Bool,
    ConstantScore,
    Exists,
    Ids,
    Match,
    MatchAll,
    MatchNone,
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
from conversations.search.scope import Scope, weighted
from conversations.search.term_queries import existing, pattern, prefix, span, term, terms, with_ids
from conversations.search.text_queries import multi_match, phrase, phrase_prefix, words

__all__ = ["rewrite"]


def rewrite(query: Query, scope: Scope) -> Node:
    """The query as a tree that can be run. Raises `ShardError` for what the mapping cannot answer."""
    scope.count()
    return weighted(_bound(query, scope), query.boost)


def _bound(query: Query, scope: Scope) -> Node:  # noqa: C901, PLR0911, PLR0912  # one line for each kind of query
    match query:
        case MatchAll():
            return scope.everything()
        case MatchNone():
            return Fixed()
        case Match():
            return words(query, scope)
        case MatchPhrase():
            return phrase(query, scope)
        case MatchPhrasePrefix():
            return phrase_prefix(query, scope)
        case MultiMatch():
            return multi_match(query, scope)
        case Term():
            return term(query, scope)
        case Terms():
            return terms(query, scope)
        case Ids():
            return with_ids(query.values, scope)
        case Exists():
            return existing(query, scope)
        case Range():
            return span(query, scope)
        case Prefix():
            return prefix(query, scope)
        case Wildcard():
            return pattern(query, scope)
        case Bool():
            return _clauses(query, scope)
        case ConstantScore():
            return Constant(rewrite(query.filter, scope))


def _clauses(query: Bool, scope: Scope) -> Node:
    must, filter_, should, must_not = (
        tuple(rewrite(clause, scope) for clause in clauses)
        for clauses in (query.must, query.filter, query.should, query.must_not)
    )
    if not (must or filter_ or should):
        if must_not and not query.adjust_pure_negative:
            return Fixed()
        # Nothing but exclusions scores nothing; nothing at all is match_all.
        return Clauses(filter=(scope.everything(),), must_not=must_not) if must_not else scope.everything()
    at_least = required_matches(len(should), query.minimum_should_match) if query.minimum_should_match else 0
    if not (must or filter_):
        at_least = max(1, at_least)
    if at_least <= 1:
        should = tuple(flattened(should))
    return Clauses(must, filter_, should, must_not, at_least)
