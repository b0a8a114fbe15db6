"""Values of Python as JSON and back."""

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conversation_memory import converse, values
from conversation_memory.errors import UnstorableError

LONG = "a text that is long enough to be written once " * 2
BLOCKS: list[dict[str, Any]] = [{"text": LONG}, {"image": {"source": {"bytes": "QUJD" * 20}}}]

_anything = st.characters(blacklist_categories=())
_texts = st.text(_anything) | st.sampled_from([LONG, f"data:image/png;base64,{'QUJD' * 20}", "$same", "$bytes"])
_keys = _texts | st.integers() | st.none() | st.booleans() | st.tuples(st.integers(), st.text())
_scalars = (
    *(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(allow_nan=False), _texts),
    *(st.binary(), st.just(b"ABC" * 20), st.decimals(allow_nan=False), st.dates(), st.datetimes(), st.uuids()),
)
_values = st.recursive(
    st.one_of(*_scalars),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(_keys, inner)
        | st.frozensets(_keys)
        | st.sets(_keys)
    ),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None)
@given(_values)
@example(datetime(2026, 10, 25, 2, 30, fold=1))
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    wire = json.dumps(values.encode(value, where="value", blocks=BLOCKS), allow_nan=False)
    wire.encode()  # no half of a surrogate pair is left

    found = values.decode(json.loads(wire), BLOCKS)

    assert found == value
    assert type(found) is type(value)
    assert repr(found) == repr(value) or isinstance(value, set | frozenset | dict | list | tuple)  # sets have no order


def test_what_stands_in_the_blocks_is_not_written_twice() -> None:
    value = {"content": LONG, "url": f"data:image/png;base64,{'QUJD' * 20}", "raw": b"ABC" * 20}

    wire = json.dumps(values.encode(value, where="value", blocks=BLOCKS))

    assert LONG not in wire
    assert "QUJD" not in wire
    assert values.decode(json.loads(wire), BLOCKS) == value
    with pytest.raises((LookupError, TypeError)):
        values.decode(json.loads(wire), [{"image": {}}])


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"a": [1, object()]}, r"value\.a\[1\] holds a object"),
        ({"a": bytearray(b"x")}, r"value\.a holds a bytearray"),
        (json.loads("[" * 90 + "]" * 90), "nested deeper than 80"),
    ],
)
def test_what_could_not_come_back_is_named(value: Any, named: str) -> None:
    with pytest.raises(UnstorableError, match=named):
        values.encode(value, where="value")


def test_what_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(UnstorableError, match="nested"):
        values.encode(value, where="value")


@pytest.mark.parametrize("tool_use_id", ["", "call!", "x" * 65, "é", "\ud83d"])
def test_ids_that_no_model_takes_are_replaced_by_the_same_one_each_time(tool_use_id: str) -> None:
    used = converse.tool_use(tool_use_id, "wéather now", {})["toolUse"]
    result = converse.tool_result(tool_use_id, [])["toolResult"]

    assert used["toolUseId"] == result["toolUseId"]
    assert len(used["toolUseId"]) == 64
    assert used["name"] == "w_ather_now"
