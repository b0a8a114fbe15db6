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
HEAD = Conversation("c" * 20, "alice", NOW, NOW)
PLACE = Place("c" * 20 + ".x", NOW, 3)


def test_a_cursor_leads_back_to_its_place() -> None:
    assert cursor.to_messages(cursor.of_messages(HEAD, "desc", PLACE), HEAD, "desc") == PLACE
    line = Listed(NOW, "d" * 20)
    assert cursor.to_conversations(cursor.of_conversations("alice", line), "alice") == line


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
        ["m1", HEAD.id, "desc", HEAD.id + ".x", "yesterday", 3],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, -3],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW, True],
        ["m1", HEAD.id, "desc", HEAD.id + ".x", NOW],
        {"m1": 1},
    ],
)
def test_a_forged_cursor_is_refused(forged: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode()
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(text, HEAD, "desc")


@given(st.text(max_size=60))
def test_junk_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        cursor.to_messages(text, HEAD, "desc")
