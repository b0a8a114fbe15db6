"""How often a phrase occurs in a document: Lucene's `ExactPhraseMatcher` and `SloppyPhraseMatcher`.

A phrase is a sequence of places, each written as the symbols of the terms that may stand there: one, but for the last
place of a phrase prefix. A document is the string of its terms' symbols.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Protocol

from conversations.search.budget import Budget
from conversations.search.single_precision import single

__all__ = ["ExactPhrase", "PhraseCounter", "SloppyPhrase"]

_SHORT = 8
"""Phrases shorter than this cost no step for each occurrence."""
_CHEAP = 16
"""Positions of different words in a sloppy phrase that cost one step; of repeated words each costs one and more."""
_NEAR = 100
"""Slops up to this are worth a look ahead."""


def _positions(place: str, sequence: str) -> list[int]:
    """Where a document has the term of a place, or any of its terms."""
    if len(place) > 1:
        return [position for position, symbol in enumerate(sequence) if symbol in place]
    found, position = [], sequence.find(place)
    while position >= 0:
        found.append(position)
        position = sequence.find(place, position + 1)
    return found


class PhraseCounter(Protocol):
    """Counts a phrase in a document, given as the symbols of its terms in order of position."""

    def frequency(self, sequence: str) -> float:
        """How often the phrase occurs; 0 if it does not."""


class ExactPhrase:
    """A phrase as it stands, overlapping occurrences included. Only its last place may have several terms."""

    def __init__(self, places: Sequence[str], budget: Budget) -> None:
        *whole, self._last = places
        self._whole, self._budget = "".join(whole), budget
        if len(self._last) == 1:
            self._whole += self._last

    def frequency(self, sequence: str) -> float:
        """The number of occurrences."""
        found, phrase = 0, self._whole
        start = sequence.find(phrase)
        while start >= 0:
            following = sequence[start + len(phrase) : start + len(phrase) + 1]
            found += len(self._last) == 1 or (following != "" and following in self._last)
            self._budget.spend(len(phrase) // _SHORT)
            start = sequence.find(phrase, start + 1)
        return float(found)


class _Cursor:
    """A place of the phrase moving through its positions. `position` is the document's minus the place's offset."""

    __slots__ = ("_next", "_positions", "group", "offset", "position")

    def __init__(self, offset: int, positions: list[int]) -> None:
        self.offset, self._positions, self._next = offset, positions, 1
        self.position = positions[0] - offset
        self.group: list[_Cursor] = []

    @property
    def in_document(self) -> int:
        return self.position + self.offset

    @property
    def key(self) -> tuple[int, int]:
        return self.position, self.offset

    def advance(self) -> bool:
        if self._next == len(self._positions):
            return False
        self.position = self._positions[self._next] - self.offset
        self._next += 1
        return True

    def collision(self) -> "_Cursor | None":
        """Another place with the same term that stands on the same position."""
        here = self.in_document
        return next((other for other in self.group if other is not self and other.in_document == here), None)


def _near(one: str, other: str, slop: int) -> re.Pattern[str]:
    """Two places in a row with no more than the slop between them; the wrong way round costs two positions."""
    one, other = f"[{re.escape(one)}]", f"[{re.escape(other)}]"
    reverse = f"|{other}.{{0,{slop - 2}}}{one}" if slop >= 2 else ""
    return re.compile(f"{one}.{{0,{slop}}}{other}{reverse}", re.DOTALL)


class SloppyPhrase:
    """A phrase whose places may be moved by `slop` positions in all."""

    def __init__(self, places: Sequence[str], slop: int, budget: Budget) -> None:
        self._places, self._slop, self._budget = list(places), slop, budget
        self._groups = _repeats(places)
        self._neighbours = [_near(*pair, slop) for pair in pairwise(places)] if slop <= _NEAR else []

    def frequency(self, sequence: str) -> float:
        """The sum of 1 / (1 + distance) over the matches."""
        if not self._may_match(sequence):
            return 0.0
        positions = {place: _positions(place, sequence) for place in dict.fromkeys(self._places)}
        found = [positions[place] for place in self._places]
        self._budget.spend(sum(map(len, found)) // _CHEAP)
        if self._groups:
            distances = self._distances_apart(found)
        else:
            distances = _distances([_shifted(each, offset) for offset, each in enumerate(found)])
        frequency = 0.0
        for distance in distances:
            if distance <= self._slop:
                frequency = single(frequency + _weight(distance))
        return frequency

    def _may_match(self, sequence: str) -> bool:
        """Whether neighbours of the phrase stand near each other somewhere: cheap to tell, and mostly not so."""
        return all(pattern.search(sequence) for pattern in self._neighbours)

    def _distances_apart(self, found: list[list[int]]) -> Iterator[int]:
        """The distances where places share terms, which must not stand on one position."""
        cursors = [_Cursor(offset, positions) for offset, positions in enumerate(found)]
        for group in self._groups:
            for offset in group:
                cursors[offset].group = [cursors[other] for other in group]
        if _part_repeats(cursors, self._budget):
            yield from _distances_of_cursors(cursors, self._budget)


def _shifted(positions: list[int], offset: int) -> list[int]:
    return [position - offset for position in positions] if offset else positions


@lru_cache(1024)
def _weight(distance: int) -> float:
    return single(1 / single(1.0 + distance))


def _distances(positions: list[list[int]]) -> Iterator[int]:
    """The spread of the places at each of Lucene's stops: the least place goes on until it has passed the next one."""
    heads, steps = [each[0] for each in positions], [0] * len(positions)
    end = max(heads)
    while True:
        least = heads.index(min(heads))
        own, heads[least] = positions[least], end + 1
        step = bisect_right(own, min(heads), steps[least])
        yield end - own[step - 1]
        if step == len(own):
            return
        steps[least], heads[least] = step, own[step]
        end = max(end, own[step])


def _repeats(places: Sequence[str]) -> list[list[int]]:
    """The places that share a term, directly or by way of others: they must never stand on one position."""
    holders: dict[str, list[int]] = {}
    for offset, place in enumerate(places):
        for symbol in place:
            holders.setdefault(symbol, []).append(offset)
    group_of = {offset: {offset} for offset in range(len(places))}
    for offsets in holders.values():
        for offset in offsets[1:]:
            if group_of[offset] is not group_of[offsets[0]]:
                group_of[offset] |= group_of[offsets[0]]
                group_of.update(dict.fromkeys(group_of[offset], group_of[offset]))
    return [sorted(group) for group in {id(group): group for group in group_of.values()}.values() if len(group) > 1]


def _part_repeats(cursors: list[_Cursor], budget: Budget) -> bool:
    """Bring repeated places apart at the start; False if the document has too few occurrences."""
    for cursor in cursors:
        while cursor.group and (other := cursor.collision()):
            budget.spend(len(cursor.group))
            if not min(cursor, other, key=lambda each: each.key).advance():
                return False
    return True


def _distances_of_cursors(cursors: list[_Cursor], budget: Budget) -> Iterator[int]:
    """`_distances` where a place that moves on may push another one further."""
    end = max(cursor.position for cursor in cursors)
    queue = _queue(cursors)
    least = heappop(queue)[1]
    distance, following = end - least.position, queue[0][1].position
    while least.advance():
        budget.spend(1 + len(least.group))
        end = max(end, least.position)
        if least.group:
            end_after = _resolve(least, end, budget)
            if end_after is None:
                break
            end, queue = end_after, _queue([cursor for cursor in cursors if cursor is not least])
        if least.position > following:
            heappush(queue, (least.key, least))
            yield distance
            least = heappop(queue)[1]
            following = queue[0][1].position
            distance = end - least.position
        else:
            distance = min(distance, end - least.position)
    yield distance


def _queue(cursors: list[_Cursor]) -> list[tuple[tuple[int, int], _Cursor]]:
    queue = [(cursor.key, cursor) for cursor in cursors]
    heapify(queue)
    return queue


def _resolve(moved: _Cursor, end: int, budget: Budget) -> int | None:
    """Move on the lesser of two colliding places until none collide; the new end, or None at the document's end."""
    while other := moved.collision():
        budget.spend(len(moved.group))
        moved = min(moved, other, key=lambda cursor: cursor.key)
        if not moved.advance():
            return None
        end = max(end, moved.position)
    return end
