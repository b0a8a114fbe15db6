"""Merging a part of a document into the whole."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conversations.merging import merged

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
NAMES = st.sampled_from("abc")
DOCUMENTS = st.dictionaries(
    NAMES, st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8), max_size=3
)


def test_objects_merge_and_all_else_is_replaced() -> None:
    whole = {"a": {"b": {"c": 1}, "l": [1, 2]}, "s": "x", "kept": None}
    part = {"a": {"b": {"d": 2}, "l": [3]}, "s": {"now": {}}, "n": None}

    assert merged(whole, part) == {
        "a": {"b": {"c": 1, "d": 2}, "l": [3]},
        "s": {"now": {}},
        "kept": None,
        "n": None,
    }
    assert whole["a"] == {"b": {"c": 1}, "l": [1, 2]}


def _leaves(document: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, value in document.items():
        here = (*path, name)
        found |= _leaves(value, here) if isinstance(value, dict) and value else {here: value}
    return found


@given(whole=DOCUMENTS, part=DOCUMENTS)
def test_all_of_the_part_is_there_and_what_it_does_not_touch_stays(whole: dict[str, Any], part: dict[str, Any]) -> None:
    result = merged(whole, part)
    leaves, given_leaves = _leaves(result), _leaves(part)

    for path, value in given_leaves.items():
        assert value == {} or leaves[path] == value
    for path, value in _leaves(whole).items():
        is_touched = any(path[: len(other)] == other or other[: len(path)] == path for other in given_leaves)
        assert is_touched or leaves[path] == value
    assert merged(result, part) == result
    assert merged(whole, {}) == whole
    assert merged({}, part) == part
