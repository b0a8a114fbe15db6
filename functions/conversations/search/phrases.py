"""How often a phrase occurs in a document: Lucene's `ExactPhraseMatcher` and `SloppyPhraseMatcher`.

A phrase is a sequence of places, each with the terms that may stand there (one, but for the last place of a phrase
prefix).
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from conversations.search.errors import illegal_argument
from conversations.search.single_precision import single
from conversations.search.terms import Term

__all__ = ["Budget", "SloppyPhrase", "exact_frequency"]

_SHORT = 8
"""Phrases up to this length are compared place by place; longer ones with a table, so that the time stays
proportional."""


class Budget:
    """The steps that a request may spend on sloppy phrases: some hundred times what an honest one needs."""

    def __init__(self, steps: int = 1_000_000) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Refuse to go on when nothing is left."""
        self._left -= steps
        if self._left < 0:
            raise illegal_argument("the phrase with [slop] takes too many steps on these documents")


def positions_of(term: Term, sequence: Sequence[Term]) -> list[int]:
    """The positions of a term in a document."""
    found, position = [], -1
    try:
        while True:
            position = sequence.index(term, position + 1)
            found.append(position)
    except ValueError:
        return found


def _merged(alternatives: Sequence[Term], sequence: Sequence[Term]) -> list[int]:
    if len(alternatives) == 1:
        return positions_of(alternatives[0], sequence)
    wanted = set(alternatives)
    return [position for position, term in enumerate(sequence) if term in wanted]


def exact_frequency(places: Sequence[Sequence[Term]], sequence: tuple[Term, ...]) -> int:
    """The number of occurrences in a document, overlapping ones included."""
    if any(len(place) > 1 for place in places):
        return _frequency_of_alternatives([set(place) for place in places], _merged(places[0], sequence), sequence)
    phrase = tuple(place[0] for place in places)
    if len(phrase) > _SHORT:
        return _knuth_morris_pratt(phrase, sequence)
    size, second = len(phrase), phrase[1]
    return sum(
        1
        for start in positions_of(phrase[0], sequence)
        if sequence[start + 1 : start + 2] == (second,) and sequence[start : start + size] == phrase
    )


def _frequency_of_alternatives(places: list[set[Term]], starts: list[int], sequence: tuple[Term, ...]) -> int:
    windows = (sequence[start : start + len(places)] for start in starts)
    return sum(1 for window in windows if len(window) == len(places) and all(map(_holds, places, window)))


def _holds(place: set[Term], term: Term) -> bool:
    return term in place


def _knuth_morris_pratt(phrase: tuple[Term, ...], sequence: tuple[Term, ...]) -> int:
    borders, length = [0] * len(phrase), 0
    for index in range(1, len(phrase)):
        while length and phrase[index] is not phrase[length]:
            length = borders[length - 1]
        length += phrase[index] is phrase[length]
        borders[index] = length
    matched = found = 0
    for term in sequence:
        while matched and (matched == len(phrase) or term is not phrase[matched]):
            matched = borders[matched - 1]
        matched += term is phrase[matched]
        found += matched == len(phrase)
    return found


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


class SloppyPhrase:
    """A phrase whose places may be moved by `slop` positions in all."""

    def __init__(self, places: Sequence[Sequence[Term]], slop: int, budget: Budget) -> None:
        self._places, self._slop, self._budget = places, slop, budget
        self._groups = _repeats(places)

    def frequency(self, sequence: tuple[Term, ...]) -> float:
        """The sum of 1 / (1 + distance) over the matches in a document; 0 if there is none."""
        found = [_merged(place, sequence) for place in self._places]
        if not all(found):
            return 0.0
        cursors = [_Cursor(offset, positions) for offset, positions in enumerate(found)]
        for group in self._groups:
            for offset in group:
                cursors[offset].group = [cursors[other] for other in group]
        if not _part_repeats(cursors, self._budget):
            return 0.0
        frequency = 0.0
        for distance in _distances(cursors, self._slop, self._budget):
            frequency = single(frequency + single(1 / single(1.0 + distance)))
        return frequency


def _repeats(places: Sequence[Sequence[Term]]) -> list[list[int]]:
    """The places that share a term, directly or by way of others: they must never stand on one position."""
    holders: dict[Term, list[int]] = {}
    for offset, place in enumerate(places):
        for term in place:
            holders.setdefault(term, []).append(offset)
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


def _distances(cursors: list[_Cursor], slop: int, budget: Budget) -> Iterator[int]:
    """The distance of each match within the slop: the spread of the places' positions, made as small as may be."""
    end = max(cursor.position for cursor in cursors)
    queue = _queue(cursors)
    least = heappop(queue)[1]
    distance, next_position = end - least.position, queue[0][1].position
    while True:
        budget.spend(1 + len(least.group))
        if not least.advance():
            break
        end = max(end, least.position)
        if least.group:
            end_after = _resolve(least, end, budget)
            if end_after is None:
                break
            end, queue = end_after, _queue([cursor for cursor in cursors if cursor is not least])
        if least.position > next_position:
            heappush(queue, (least.key, least))
            if distance <= slop:
                yield distance
            least = heappop(queue)[1]
            next_position = queue[0][1].position
            distance = end - least.position
        else:
            distance = min(distance, end - least.position)
    if distance <= slop:
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
