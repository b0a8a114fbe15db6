"""Amplify's AI kit by its documented calls: worked out, not run.

A conversation route stores a message in one table with an index that repeats it whole. Of a streamed answer each piece
is a mutation of its own, which reads the conversation and writes all of the answer so far; two more say that the text
and the turn are over. Sending also moves the conversation in an index sorted by its last change. All of the history is
listed from the index for each turn, a thousand messages at most and no more than one page of 1 MB.
(@aws-amplify/graphql-conversation-transformer 1.1.16 and @aws-amplify/ai-constructs 1.7.0.)
"""

import math
from collections.abc import Iterator
from typing import Any

from tests.bed.request_units import item_bytes
from tests.bench import turns
from tests.bench.measuring import Count
from tests.bench.metered import CHUNK, Usage

NAME = "Amplify AI kit 1.7.0, streamed in pieces of 20 bytes (worked out, not run)"
_TURNS = (*range(1, 201), 1000)
_PAGE_BYTES, _LISTED = 1024 * 1024, 1000
_ID, _TIME = "12345678-1234-4123-8123-123456789012", "2026-11-30T12:00:00.000Z"


def amplify_turns() -> Iterator[Count]:
    pieces = math.ceil(turns.SIZE / CHUNK)
    writes = _writes(pieces)
    mean = (_stored_bytes("user", turns.SIZE) + _stored_bytes("assistant", turns.SIZE)) / 2
    found = {}
    for turn in _TURNS:
        history = min(min(2 * turn - 1, _LISTED) * mean, _PAGE_BYTES)
        reads = math.ceil(history / 4096) / 2 + (pieces + 2) / 2
        found[turn] = Usage(calls=0, bytes=0, read_units=reads, write_units=writes)
    yield from turns.counts(NAME, found)


def _writes(pieces: int) -> int:
    """The conversation moves in its index (1 and 2); every message is written to the table and to its index."""
    parts = [_stored_bytes("assistant", turns.SIZE * part // pieces) for part in range(1, pieces + 1)]
    whole = _stored_bytes("assistant", turns.SIZE)
    written = [_stored_bytes("user", turns.SIZE), *parts, whole, whole]
    return 3 + sum(2 * math.ceil(size / 1024) for size in written)


def _stored_bytes(role: str, size: int) -> int:
    """An item of its message table."""
    answers: dict[str, Any] = {"associatedUserMessageId": {"S": _ID}} if role == "assistant" else {}
    return item_bytes(
        {
            "__typename": {"S": "ConversationMessageChat"},
            "id": {"S": _ID + ("#response" if answers else "")},
            "conversationId": {"S": _ID},
            "role": {"S": role},
            "content": {"L": [{"M": {"text": {"S": "x" * size}}}]},
            "owner": {"S": f"{_ID}::{_ID}"},
            "createdAt": {"S": _TIME},
            "updatedAt": {"S": _TIME},
            **answers,
        }
    )
