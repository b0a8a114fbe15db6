"""Queries for analyzed text: match, multi_match, match_phrase, match_phrase_prefix."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from conversations.search import analysis
from conversations.search.errors import ShardError, shard_error
from conversations.search.fields import TextIndex
from conversations.search.json_values import Json, text_of
from conversations.search.mapping import Field
from conversations.search.minimum_should_match import required_matches
from conversations.search.nodes import Best, Clauses, Fixed, Node, Phrase, Repeated, ScoredTerm, disjunction
from conversations.search.queries import Match, MatchOptions, MatchPhrase, MatchPhrasePrefix, MultiMatch
from conversations.search.scope import Scope, weighted
from conversations.search.term_queries import ID, term_node, with_ids
from conversations.search.terms import Term

__all__ = ["multi_match", "phrase", "phrase_prefix", "words"]


def words(query: Match, scope: Scope) -> Node:
    """Any of the words, or all of them."""
    if query.field == ID:
        return with_ids([text_of(query.text)], scope)
    field = scope.mapping.find(query.field)
    return _words(field, query.text, query.options, scope) if field else Fixed()


def _words(field: Field, text: Json, options: MatchOptions, scope: Scope) -> Node:
    index = scope.contents.fields[field.name]
    if not isinstance(index, TextIndex):
        return _whole_value(field, text, options, scope)
    texts = analysis.terms(text_of(text))
    if not texts:
        return _no_words(options, scope)
    scope.count(len(texts))
    counted = ((index.dictionary.get(text), times) for text, times in _counted(texts, options))
    nodes = tuple(_scored(field, index, term, times, scope) for term, times in counted)
    return nodes[0] if len(nodes) == 1 else _combined(nodes, options)


def _counted(texts: list[str], options: MatchOptions) -> Iterable[tuple[str, int]]:
    """Each word with how often it is asked for; every one by itself where a minimum has to count them."""
    minimum = options.minimum_should_match
    if minimum and not options.all_terms and required_matches(len(texts), minimum) > 1:
        return [(text, 1) for text in texts]
    return Counter(texts).items()


def _scored(field: Field, index: TextIndex, term: Term | None, times: int, scope: Scope) -> Node:
    if not term:
        return Fixed()
    node = ScoredTerm(field.name, index, term, scope.budget)
    return node if times == 1 else Repeated(node, times)


def _combined(nodes: tuple[Node, ...], options: MatchOptions) -> Node:
    minimum = options.minimum_should_match
    if options.all_terms:
        # No clause is optional, so that a minimum can only be met if it asks for none.
        return Clauses(must=nodes, at_least=required_matches(0, minimum) if minimum else 0)
    return Clauses(should=nodes, at_least=max(1, required_matches(len(nodes), minimum) if minimum else 1))


def _whole_value(field: Field, text: Json, options: MatchOptions, scope: Scope) -> Node:
    """A field that is not analyzed takes the text as one value."""
    try:
        return term_node(field, text, scope)
    except ShardError:
        if options.lenient:
            return Fixed()
        raise


def _no_words(options: MatchOptions, scope: Scope) -> Node:
    return scope.everything() if options.no_terms_match_all else Fixed()


def phrase(query: MatchPhrase, scope: Scope) -> Node:
    """The words side by side."""
    if query.field == ID:
        return with_ids([text_of(query.text)], scope)
    field = scope.mapping.find(query.field)
    return _phrase(field, query.text, query.slop, query.options, scope) if field else Fixed()


def _phrase(field: Field, text: Json, slop: int, options: MatchOptions, scope: Scope) -> Node:
    index = scope.contents.fields[field.name]
    if not isinstance(index, TextIndex):
        return _whole_value(field, text, options, scope)
    texts = analysis.terms(text_of(text))
    if len(texts) < 2:
        return _words(field, text, options, scope)
    scope.count(len(texts))
    places = [(term,) for term in map(index.dictionary.get, texts) if term]
    return Phrase(field.name, index, places, slop, scope.budget) if len(places) == len(texts) else Fixed()


def phrase_prefix(query: MatchPhrasePrefix, scope: Scope) -> Node:
    """The words side by side, the last of them begun."""
    field = scope.mapping.find(query.field)
    if not field:
        return Fixed()
    return _phrase_prefix(field, query.text, query.slop, query.max_expansions, query.options, scope)


def _phrase_prefix(
    field: Field, text: Json, slop: int, max_expansions: int, options: MatchOptions, scope: Scope
) -> Node:
    index = scope.contents.fields[field.name]
    if not isinstance(index, TextIndex):
        if options.lenient:
            return Fixed()
        raise shard_error(
            "Can only use phrase prefix queries on text fields - "
            f"not on [{field.full_name}] which is of type [{field.type}]"
        )
    texts = analysis.terms(text_of(text))
    if not texts:
        return _no_words(options, scope)
    *whole, begun = texts
    last = list(islice(index.dictionary.starting_with(begun), max_expansions))
    scope.count(len(texts) + len(last))
    if not whole:
        return Clauses(should=tuple(ScoredTerm(field.name, index, term, scope.budget) for term in last), at_least=1)
    places = [(term,) for term in map(index.dictionary.get, whole) if term]
    complete = last and len(places) == len(whole)
    return Phrase(field.name, index, [*places, tuple(last)], slop, scope.budget) if complete else Fixed()


def multi_match(query: MultiMatch, scope: Scope) -> Node:
    """One text against several fields. Without fields, or with `*` among them, against all, whatever cannot take it
    aside."""
    patterns = dict(query.fields) or {"*": 1.0}
    weights: dict[Field, float] = {}
    for pattern, weight in patterns.items():
        for field in scope.mapping.matching(pattern):
            weights[field] = weights.get(field, 1.0) * weight
    if "*" in patterns:
        query = query._replace(options=query.options._replace(lenient=True))
    nodes = tuple(weighted(_in_field(query, field, scope), weight) for field, weight in weights.items())
    if not nodes:
        return Fixed()
    if len(nodes) == 1:
        return nodes[0]
    # With all that the others score added, the best score is a plain sum: Lucene makes it one.
    return disjunction(nodes) if query.tie_breaker == 1.0 else Best(nodes, query.tie_breaker)


def _in_field(query: MultiMatch, field: Field, scope: Scope) -> Node:
    scope.count()
    match query.type:
        case "phrase":
            return _phrase(field, query.text, query.slop, query.options, scope)
        case "phrase_prefix":
            return _phrase_prefix(field, query.text, query.slop, query.max_expansions, query.options, scope)
        case _:
            return _words(field, query.text, query.options, scope)
