"""What a body may cost before it is refused or taken: no more than its own document, whatever is in it."""

import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from api.strict_json import DEEPEST, LONGEST_FIELD, read_object
from conversations.errors import InvalidRequestError

LONG = "n" * 500_000
BODIES = {
    "many values below a long name": f'{{"{LONG}": [{"0, " * 20_000}0]}}',
    "many values": f'{{"a": [{"0," * 500_000}0]}}',
    "many lists below a long name": f'{{"{LONG}": [{"[]," * 20_000}[]]}}',
    "many objects": f'{{"a": [{{}}{",{}" * 100_000}]}}',
    "names that are given twice": "{" + ",".join(f'"{min(place, 40_000)}": 0' for place in range(40_002)) + "}",
}


def _read(body: str) -> None:
    with suppress(InvalidRequestError):
        read_object({"body": body})


def _peak(call: Callable[[str], Any], body: str) -> int:
    tracemalloc.start()
    try:
        call(body)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _seconds(call: Callable[[str], Any], body: str) -> float:
    started = time.process_time()
    call(body)
    return time.process_time() - started


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_costs_no_more_than_its_own_document(body: str) -> None:
    assert _peak(_read, body) < 5 * _peak(json.loads, body)
    assert _seconds(_read, body) < 0.5 + 50 * _seconds(json.loads, body)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (f'{{"{LONG}": [1e400]}}', LONG),
        (f'{{"{LONG}": ["\\ud800"]}}', LONG),
        (f'{{"{LONG}": 0, "{LONG}": 0}}', LONG),
        (f'{{"a": {{"b": [0, {{"c": {"9" * 400}}}]}}}}', "a.b[1].c"),
        (f'{{"a": [-{"9" * 400}]}}', "a[0]"),
        ('{"a": [{"b": 1}, [1, "\\udfff"], 2]}', "a[1][1]"),
        ('{"a": [[], {}, [[]], NaN]}', "a[3]"),
        ('{"\\ud800": [1]}', "?"),
        ('{"\\ud800": 1, "\\ud800": 2}', "?"),
        (f'{{"a": {"[" * DEEPEST}{"]" * DEEPEST}}}', "a" + "[0]" * (DEEPEST - 1)),
    ],
)
def test_a_complaint_shows_the_beginning_of_the_path(body: str, field: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        read_object({"body": body})

    assert raised.value.field == field[:LONGEST_FIELD]
    assert field[:LONGEST_FIELD] in raised.value.message
    assert len(raised.value.message) < 200
    raised.value.message.encode()


def test_what_is_as_deep_as_may_be_is_taken() -> None:
    text = f'{{"a": {"[" * (DEEPEST - 1)}1e308, {10**308}, true, null, "\U0001f600"{"]" * (DEEPEST - 1)}}}'

    assert read_object({"body": text}) == json.loads(text)
