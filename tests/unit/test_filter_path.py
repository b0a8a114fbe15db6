"""``filter_path``: which members of an answer are shown."""

from typing import Any

import pytest

from api.opensearch.filter_path import filtered

PAGE = {
    "memories": [
        {"memory_id": "1", "name": "a", "additional_info": {"k.1": 1, "deep": {"x": 1, "y": [{"x": 2}, 3]}}},
        {"memory_id": "2", "name": "b"},
    ],
    "next_token": 2,
    "none": [],
}


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ("memories.memory_id", {"memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("next_token", {"next_token": 2}),
        (" next_token , none ", {"next_token": 2, "none": []}),
        ("next_token.below", {}),
        ("unknown", {}),
        ("none.x", {}),
        ("memories.additional_info.deep.x", {"memories": [{"additional_info": {"deep": {"x": 1}}}]}),
        ("memories.*.deep.x", {"memories": [{"additional_info": {"deep": {"x": 1}}}]}),
        ("memories.*_id", {"memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("mem*s.m*m*y_*", {"memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("**.x", {"memories": [{"additional_info": {"deep": {"x": 1, "y": [{"x": 2}]}}}]}),
        ("memories.**.x", {"memories": [{"additional_info": {"deep": {"x": 1, "y": [{"x": 2}]}}}]}),
        ("**.next_token", {}),
        ("**", PAGE),
        ("*", PAGE),
        (r"memories.additional_info.k\.1", {"memories": [{"additional_info": {"k.1": 1}}]}),
        ("memories.additional_info.k.1", {}),
        ("-memories", {"next_token": 2, "none": []}),
        ("-memories.name,-memories.additional_info", PAGE | {"memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("-**.name,-**.additional_info", PAGE | {"none": None, "memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("memories,-memories.additional_info,-*.name", {"memories": [{"memory_id": "1"}, {"memory_id": "2"}]}),
        ("-memories.*", {"next_token": 2, "none": []}),
        ("-none.x", PAGE | {"none": None}),
        ("", PAGE),
        (",,", PAGE),
    ],
)
def test_paths(paths: str, shown: dict[str, Any]) -> None:
    expected = {name: value for name, value in shown.items() if value is not None}
    assert filtered(PAGE, paths) == expected


def test_what_is_hostile_takes_no_time() -> None:
    """Without bounds, either would take longer than the test may."""
    names: dict[str, Any] = {"a" * 5_000: {"b" * 5_000: 1}}
    assert filtered(names, f"{'a*' * 2_000}c") == {}
    deep: dict[str, Any] = {"x": 1}
    for _ in range(90):
        deep = {"a": deep}
    assert filtered(deep, ",".join(["**." * steps + "y" for steps in range(1, 60)])) == {}
