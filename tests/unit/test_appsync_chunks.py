"""What an answer costs on its way to AppSync's clients: requests and bytes, whatever the model's pieces are."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from turn.appsync.chunks import Chunks, Pace

PIECE = 20
MILLISECOND = 1_000_000


def _played(size: int, every_ms: int) -> list[Mapping[str, Any]]:
    """The chunks of an answer of this size that comes in pieces of 20 characters, one each so many milliseconds."""
    chunks, pace = Chunks("C", "M"), Pace(sent_ns=0)
    sent: list[Mapping[str, Any]] = []
    for count in range(1, size // PIECE + 1):
        length, now_ns = count * PIECE, count * every_ms * MILLISECOND
        if pace.is_due(length, now_ns):
            sent += chunks.grown([{"text": "x" * length}])
            pace.is_sent(length, now_ns)
    return [*sent, *chunks.finished([{"text": "x" * size}], "end_turn")]


def _bytes(chunks: list[Mapping[str, Any]]) -> int:
    return sum(len(json.dumps(chunk)) for chunk in chunks)


@pytest.mark.parametrize(
    ("every_ms", "most_requests", "most_of_size"),
    [(5, 25, 11), (50, 45, 22), (250, 70, 26), (5_000, 90, 26)],
    ids=["1,000 tokens a second", "100 tokens a second", "20 tokens a second", "1 token a second"],
)
def test_requests_hardly_grow_and_bytes_grow_with_the_answer(
    every_ms: int, most_requests: int, most_of_size: int
) -> None:
    """Amplify's handler sends 1,003 requests and 10.4 MB for 20 KB: a chunk a token, each with all before it."""
    sizes = [2_000, 4_000, 20_000, 40_000]
    played = [_played(size, every_ms) for size in sizes]

    assert [len(chunks) for chunks in played] == sorted(len(chunks) for chunks in played)
    assert len(played[2]) <= most_requests
    for size, chunks in zip(sizes, played, strict=True):
        assert _bytes(chunks) <= most_of_size * size + 400 * len(chunks)
    text = "".join(chunk.get("contentBlockText", "") for chunk in played[-1])
    assert text == "x" * sizes[-1]


def test_a_fast_model_s_pieces_come_together() -> None:
    assert len(_played(20_000, 0)) == 4  # the first piece, the rest, that the block is done, and that the turn is


def test_a_reader_never_waits_long_for_the_next_words_of_a_common_answer() -> None:
    """2,000 characters at 20 tokens a second: the first words at once, and then something new every two seconds."""
    chunks = [chunk for chunk in _played(2_000, 250) if "contentBlockText" in chunk]

    pieces = [len(chunk["contentBlockText"]) / PIECE * 0.25 for chunk in chunks]
    assert pieces[0] <= 0.25
    assert max(pieces) <= 2.25
