"""Cursors are bound to their query."""

import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import cursor
from conversations.chain import Place
from conversations.errors import InvalidCursorError
from conversations.model import Conversation
from conversations.store import Listed

NOW = "2026-11-30T12:00:00.000000001Z"
LATER = "2026-11-30T12:00:00.000000002Z"
LAST = "c" * 20 + ".z"
HEAD = Conversation("c" * 20, "alice", NOW, NOW, message_count=4, last_message_id=LAST, last_message_at=LATER)
PLACE = Place("c" * 20 + ".x", NOW, 3)
NO_TIMES = [
    *("", "x", "2026", NOW[:13], "yesterday", "\ud800", NOW + "\n", NOW[:-1], "\0"),
    *("0000-01-01T00:00:00.000000000Z", "9999-99-01T00:00:00.000000000Z", "2026-02-30T00:00:00.000000000Z"),
    *("2026-11-30T12:00:60.000000000Z", "2026-11-30T24:00:00.000000000Z", "1969-12-31T23:59:59.999999999Z"),
    "٢٠٢٦-11-30T12:00:00.000000001Z",
]
NO_HOURS = [
    *("", "x", "2026", "2026-11", NOW, "\ud800"),
    *("0000-01-01T00", "2026-13-01T00", "2026-11-30T24", "٢٠٢٦-11-30T12"),
]


def _encoded(parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_cursor_leads_back_to_its_place(order: str) -> None:
    assert cursor.to_messages(cursor.of_messages(HEAD, order, PLACE), HEAD, order) == PLACE
    line = Listed(NOW, "d" * 20)
    assert cursor.to_conversations(cursor.of_conversations("alice", line), "alice") == line
    hour = Listed("2026-11-30T12", "d" * 20)
    assert cursor.to_conversations(cursor.of_conversations("*", hour), "*", by_hour=True) == hour


@pytest.mark.parametrize(
    ("head", "order"),
    [(HEAD, "asc"), (replace(HEAD, id="d" * 20), "desc"), (replace(HEAD, chain=1), "desc")],
    ids=["other order", "other conversation", "cleared since"],
)
def test_a_cursor_of_another_query_is_refused(head: Conversation, order: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(cursor.of_messages(HEAD, "desc", PLACE), head, order)


def test_a_cursor_of_another_owner_is_refused() -> None:
    with pytest.raises(InvalidCursorError):
        cursor.to_conversations(cursor.of_conversations("alice", Listed(NOW, "d" * 20)), "bob")


@pytest.mark.parametrize(
    "forged",
    [
        ["m1", HEAD.id, "desc", "d" * 20 + ".x", NOW, 3],
        *(["m1", HEAD.id, "desc", HEAD.id + ".x", time, 3] for time in NO_TIMES),
        ["m1", HEAD.id, "desc", HEAD.id + ".x", LATER, 3],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", "9999-12-31T23:59:59.999999999Z", 3],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, -3],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, 4],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, 10**300],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, True],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW],
        {"m1": 1},
    ],
)
def test_a_forged_cursor_is_refused(forged: object) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(_encoded(forged), HEAD, "desc")


def test_nothing_is_forged_into_an_empty_conversation() -> None:
    empty = replace(HEAD, message_count=0, last_message_id=None, last_message_at=None)
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(cursor.of_messages(HEAD, "desc", replace(PLACE, position=0)), empty, "desc")


@pytest.mark.parametrize(
    ("by_hour", "sort_key"),
    [*((False, no_time) for no_time in NO_TIMES), *((True, no_hour) for no_hour in NO_HOURS)],
)
def test_a_forged_cursor_of_a_listing_is_refused(by_hour: bool, sort_key: str) -> None:
    line = Listed(sort_key, "d" * 20)
    with pytest.raises(InvalidCursorError):
        cursor.to_conversations(cursor.of_conversations("*", line), "*", by_hour=by_hour)


@given(st.text(max_size=60))
def test_junk_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(text, HEAD, "desc")
