"""How many optional clauses must match: OpenSearch's `Queries.calculateMinShouldMatch`."""

import re

from conversations.search.errors import shard_error
from conversations.search.single_precision import single

__all__ = ["required_matches"]

_NUMBER = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_SPACED = re.compile(r"\s*<\s*")


def required_matches(clauses: int, specification: str) -> int:
    """The number for a specification such as `2`, `-1`, `75%`, `-25%` or `2<75% 9<-3`; never negative."""
    specification = specification.strip()
    if "<" not in specification:
        return max(_simple(clauses, specification), 0)
    result = clauses
    for condition in _SPACED.sub("<", specification).split():
        bound, _, rule = condition.partition("<")
        if clauses <= _integer(bound):
            return result
        result = max(_simple(clauses, rule), 0)
    return result


def _simple(clauses: int, specification: str) -> int:
    if specification.endswith("%"):
        share = single(single(clauses * _integer(specification[:-1])) * single(1 / 100))
        return int(share) + (clauses if share < 0 else 0)
    number = _integer(specification)
    return clauses + number if number < 0 else number


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise shard_error(f'For input string: "{text[:100]}"')
    return int(text)
