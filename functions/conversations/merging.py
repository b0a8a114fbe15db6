"""Merging a part of a JSON document into the whole, as an update of OpenSearch does it."""

from collections.abc import Mapping
from typing import Any


def merged(whole: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """The whole with the part merged in: objects merge member by member, all else is replaced, nothing goes."""
    result = dict(whole)
    for name, value in part.items():
        before = result.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[name] = merged(before, value)
        else:
            result[name] = value
    return result
