"""How often a phrase occurs in a document: Lucene's `ExactPhraseMatcher` and `SloppyPhraseMatcher`.

A phrase is a sequence of places, each written as the symbols of the terms that may stand there: one, but for the last
place of a phrase prefix. A document is the string of its terms' symbols.
"""

import re
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
_CHEAP = 64
"""Words of documents, times places of a sloppy phrase, that cost one step; a repeated word costs steps at each turn."""
_REMEMBERED_SUMS = 20_000
_PAIR = 2
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

    __slots__ = ("_next", "_positions", "offset", "others", "position")

    def __init__(self, offset: int, positions: list[int]) -> None:
        self.offset, self._positions, self._next = offset, positions, 1
        self.position = positions[0] - offset
        self.others: list[_Cursor] = []

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
        here = self.position + self.offset
        for other in self.others:
            if other.position + other.offset == here:
                return other
        return None


def _near(one: str, other: str, slop: int) -> re.Pattern[str]:
    """Two places in a row with no more than the slop between them; the wrong way round costs two positions."""
    one, other = f"[{re.escape(one)}]", f"[{re.escape(other)}]"
    reverse = f"|{other}.{{0,{slop - 2}}}{one}" if slop >= 2 else ""
    return re.compile(f"{one}.{{0,{slop}}}{other}{reverse}", re.DOTALL)


class SloppyPhrase:
    """A phrase whose places may be moved by `slop` positions in all."""

    def __init__(self, places: Sequence[str], slop: int, budget: Budget) -> None:
        self._places, self._slop, self._budget = list(places), slop, budget
        self._symbols = [place[0] for place in places]
        self._last = re.compile(f"[{re.escape(places[-1])}]") if len(places[-1]) > 1 else None
        self._groups = _repeats(places)
        looks_ahead = slop <= _NEAR and (len(places) > _PAIR or self._groups)
        self._neighbours = [_near(*pair, slop) for pair in pairwise(places)] if looks_ahead else []
        self._sums = _Sums()

    def frequency(self, sequence: str) -> float:
        """The sum of 1 / (1 + distance) over the matches, each addition rounded."""
        self._budget.spend(len(sequence) * len(self._places) // _CHEAP)
        frequency = 0.0
        if not self._neighbours or self._may_match(sequence):
            for distance in self._distances(sequence):
                frequency = self._sums[frequency, distance]
        return frequency

    def _may_match(self, sequence: str) -> bool:
        """Whether neighbours of the phrase stand near each other somewhere: cheap to tell, and mostly not so."""
        return all(pattern.search(sequence) for pattern in self._neighbours)

    def _distances(self, sequence: str) -> Iterator[int]:
        """The distances of the matches, none above the slop."""
        if self._groups:
            return self._distances_apart(sequence)
        if self._last:
            # Any of several terms may stand there: in this document they are one.
            sequence = self._last.sub(self._symbols[-1], sequence)
        if len(self._symbols) == _PAIR:
            return _distances_of_two(self._symbols, sequence, self._slop)
        return _distances_of_many(self._symbols, sequence, self._slop)

    def _distances_apart(self, sequence: str) -> Iterator[int]:
        """The distances where places share terms, which must not stand on one position."""
        positions = {place: _positions(place, sequence) for place in dict.fromkeys(self._places)}
        cursors = [_Cursor(offset, positions[place]) for offset, place in enumerate(self._places)]
        for group in self._groups:
            for offset in group:
                cursors[offset].others = [cursors[other] for other in group if other != offset]
        if _part_repeats(cursors, self._budget):
            distances = _distances_of_cursors(cursors, self._budget)
            yield from (distance for distance in distances if distance <= self._slop)


@lru_cache(1024)
def _weight(distance: int) -> float:
    return single(1 / single(1.0 + distance))


class _Sums(dict[tuple[float, int], float]):
    """A frequency with one match more, by frequency and distance: the same few sums come up in most documents."""

    def __missing__(self, key: tuple[float, int]) -> float:
        frequency, distance = key
        total = single(frequency + _weight(distance))
        if len(self) < _REMEMBERED_SUMS:
            self[key] = total
        return total


def _distances_of_many(symbols: Sequence[str], sequence: str, slop: int) -> Iterator[int]:
    """The spread of the places at each of Lucene's stops: the least place goes on until it has passed the next one.

    A head is where a place stands in the document, minus its offset in the phrase. Where nothing else is of interest,
    a place goes on by looking for its last symbol up to a limit, and for its first one behind.
    """
    find, rfind = sequence.find, sequence.rfind
    heads = [find(symbol) - offset for offset, symbol in enumerate(symbols)]
    end = max(heads)
    while True:
        start = min(heads)
        least = heads.index(start)
        heads[least] = end
        symbol, limit = symbols[least], min(heads) + least + 1
        distance = end - (rfind(symbol, start + least, limit) - least)
        if distance <= slop:
            yield distance
        following = find(symbol, limit)
        if following < 0:
            return
        heads[least] = following - least
        end = max(end, heads[least])


def _distances_of_two(symbols: Sequence[str], sequence: str, slop: int) -> Iterator[int]:
    """The same for a phrase of two, the most frequent one: its places take turns. Half the time of the above."""
    first, second = symbols
    find, rfind = sequence.find, sequence.rfind
    one, other = find(first), find(second)
    turn_of_other = other < one
    while one >= 0 <= other:
        if turn_of_other:
            distance = one + 1 - rfind(second, other, one + 2)
            other = find(second, one + 2)
        else:
            distance = other - 1 - rfind(first, one, other)
            one = find(first, other)
        if distance <= slop:
            yield distance
        turn_of_other = not turn_of_other


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
        while other := cursor.collision():
            budget.spend(len(cursor.others))
            if not min(cursor, other, key=lambda each: each.key).advance():
                return False
    return True


def _distances_of_cursors(cursors: list[_Cursor], budget: Budget) -> Iterator[int]:
    """The same where a place that moves on may push another one further."""
    end = max(cursor.position for cursor in cursors)
    queue = _queue(cursors)
    least = heappop(queue)[1]
    distance, following = end - least.position, queue[0][1].position
    while least.advance():
        budget.spend(1 + len(least.others))
        end = max(end, least.position)
        if least.collision():
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
        budget.spend(len(moved.others))
        moved = min(moved, other, key=lambda cursor: cursor.key)
        if not moved.advance():
            return None
        end = max(end, moved.position)
    return end
