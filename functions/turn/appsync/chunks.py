"""What of an answer is sent when: the chunks that clients of AppSync put together by their places.

Clients see text, and uses of tools that they offer. Each such block has an index in the turn, each piece of text one in
its block. Every chunk carries all that is shown up to it (``accumulatedTurnContent``), since that is what AppSync's
resolver stores as the answer; pieces must thus grow with the answer, or the bytes would grow with its square.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conversations.content import TEXT, TOOL_USE
from conversations.model import Block

Chunk = Mapping[str, Any]

_GROWTH = 1.2
_SLOW_GROWTH = 1.05
_LEAST = 80
_LEAST_WHEN_SLOW = 40
FASTEST_NS = 100_000_000
SLOW_NS = 2_000_000_000


@dataclass(slots=True)
class Pace:
    """Decides when a piece of text is sent. Times are in nanoseconds, lengths in characters.

    The lengths sent are at most n, n/1.2, n/1.2², ..., which add up to 6n; where nothing was sent for two seconds 1.05
    is enough, which comes to 21n at most. At 20,000 characters that is some 25 pieces, or 90. The first goes at once.
    """

    sent_ns: int
    sent: int = 0

    def is_due(self, length: int, now_ns: int) -> bool:
        """Whether a text that has come to this length should be sent now."""
        if self.sent == 0:
            return length > 0
        waited_ns = now_ns - self.sent_ns
        if waited_ns < FASTEST_NS:
            return False
        growth, least = (_SLOW_GROWTH, _LEAST_WHEN_SLOW) if waited_ns >= SLOW_NS else (_GROWTH, _LEAST)
        return length >= max(self.sent * growth, self.sent + least)

    def is_sent(self, length: int, now_ns: int) -> None:
        """A piece that ends at this length has been sent."""
        self.sent, self.sent_ns = length, now_ns


class Chunks:
    """Tells what has not been sent yet of a growing answer."""

    def __init__(self, conversation_id: str, message_id: str) -> None:
        self._names = {"conversationId": conversation_id, "associatedUserMessageId": message_id}
        self._block = 0
        self._delta = 0
        self._sent = 0  # characters of the block

    @property
    def have_begun(self) -> bool:
        """Whether the client has been shown anything."""
        return self._block > 0 or self._sent > 0

    def grown(self, shown: Sequence[Block]) -> Iterator[Chunk]:
        """The chunks for what is new; the last block is still growing."""
        return self._chunks(shown, is_whole=False)

    def finished(self, shown: Sequence[Block], stop_reason: str) -> Iterator[Chunk]:
        """The chunks for what is new in the whole answer, and the one that ends it."""
        yield from self._chunks(shown, is_whole=True)
        yield self._chunk(shown, max(0, len(shown) - 1), stopReason=stop_reason)

    def _chunks(self, shown: Sequence[Block], *, is_whole: bool) -> Iterator[Chunk]:
        while self._block < len(shown):
            place, block = self._block, shown[self._block]
            so_far = shown[: place + 1]
            if TOOL_USE in block:
                yield self._chunk(so_far, place, contentBlockToolUse=to_text({TOOL_USE: _known(block[TOOL_USE])}))
            else:
                yield from self._text(so_far, block[TEXT])
                if place == len(shown) - 1 and not is_whole:
                    return
                yield self._chunk(so_far, place, contentBlockDoneAtIndex=max(0, self._delta - 1))
            self._block, self._delta, self._sent = place + 1, 0, 0

    def _text(self, so_far: Sequence[Block], text: str) -> Iterator[Chunk]:
        piece = text[self._sent :]
        if piece:
            chunk = self._chunk(so_far, self._block, contentBlockText=piece, contentBlockDeltaIndex=self._delta)
            self._sent, self._delta = len(text), self._delta + 1
            yield chunk

    def _chunk(self, so_far: Sequence[Block], place: int, **members: Any) -> Chunk:
        accumulated = [as_input(block) for block in so_far]
        return {**self._names, "contentBlockIndex": place, "accumulatedTurnContent": accumulated, **members}


def as_input(block: Block) -> Block:
    """A block as the schema's inputs take it. The input of a tool is ``AWSJSON`` there, which is text."""
    if TOOL_USE not in block:
        return {TEXT: block[TEXT]}
    use = _known(block[TOOL_USE])
    return {TOOL_USE: {**use, "input": to_text(use["input"])}}


def _known(use: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a tool use that the schema knows: it refuses others, and models come to have new ones."""
    return {name: use[name] for name in ("toolUseId", "name", "input")}


def to_text(value: object) -> str:
    """JSON as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
