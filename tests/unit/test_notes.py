"""What the head of a chain notes: counts, the places of the last changes, and what the indexes may not have yet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.codec.notes import notes_from_text, notes_to_text
from conversations.ids import is_response, trace_id, trace_ordinal
from conversations.notes import MOST_NAMED, SETTLED_AFTER_S, Mark, Notes

EVENTS = st.lists(st.tuples(st.integers(0, 100), st.integers(-5, 50)), max_size=60)  # seconds after the last, place


def _noted(events: list[tuple[int, int]]) -> tuple[Notes, list[tuple[int, int]]]:
    """The notes after some changes (places from zero on) and traces (below), and when each was."""
    notes, now_s, happened = Notes(), 1_800_000_000, []
    for pause, place in events:
        now_s += pause
        notes = notes.with_changes([place], now_s) if place >= 0 else notes.with_trace(now_s)
        happened.append((now_s, place))
    return notes, happened


@given(events=EVENTS, later=st.integers(0, 150))
def test_whatever_is_younger_than_a_minute_is_not_settled(events: list[tuple[int, int]], later: int) -> None:
    notes, happened = _noted(events)
    now_s = (happened[-1][0] if happened else 1_800_000_000) + later

    settled = notes.settled(now_s)

    changed = [(at_s, place) for at_s, place in happened if place >= 0]
    traced = [at_s for at_s, place in happened if place < 0]
    assert (notes.changes, notes.traces) == (len(changed), len(traced))
    assert all(now_s - at_s >= SETTLED_AFTER_S for at_s, _ in changed[: settled.changes])
    assert all(now_s - at_s >= SETTLED_AFTER_S for at_s in traced[: settled.traces])
    if later >= SETTLED_AFTER_S:
        assert (settled.changes, settled.traces) == (len(changed), len(traced))
    named = notes.changed_since(settled.changes)
    places = [place for _, place in changed[settled.changes :]]
    assert named == (tuple(places) if len(places) <= MOST_NAMED else None)
    assert notes_from_text(notes_to_text(notes)) == notes


def test_changes_are_named_as_long_as_there_is_room() -> None:
    notes = Notes().with_changes(range(1, MOST_NAMED + 2), 500)

    assert notes.changed_since(1) == tuple(range(2, MOST_NAMED + 2))
    assert notes.changed_since(MOST_NAMED + 1) == ()
    assert notes.changed_since(0) is None
    assert notes.changed_since(MOST_NAMED + 2) is None  # of another chain: nothing explains it
    assert notes.newer == Mark(500, 0, 0)


@pytest.mark.parametrize(
    ("candidate", "ordinal"),
    [
        (trace_id("c" * 20, 7), 7),
        (trace_id("c" * 20 + "~2", 10), 10),
        ("c.trace", None),
        ("c.trace.response", None),
        ("c.trace.0", None),
        ("c.trace.7.response", None),
        ("c.x.trace.7", None),
    ],
)
def test_the_id_of_a_trace_tells_its_number(candidate: str, ordinal: int | None) -> None:
    assert trace_ordinal(candidate) == ordinal
    assert is_response(candidate) == candidate.endswith(".response")
