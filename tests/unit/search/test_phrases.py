"""Sloppy phrases against `SloppyPhraseMatcher` as Lucene's comments describe it, step by step and without a short cut.

Phrases that repeat a word follow further rules there: `test_lucene` has them.
"""

from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from conversations.search.budget import Budget
from conversations.search.phrases import SloppyPhrase
from conversations.search.single_precision import single


def distances(places: list[str], sequence: str) -> Iterator[int]:
    """The place that is least, in order of the phrase, goes on one by one until it has passed the next; the last
    distance before it did is that of a match."""
    positions = [
        [position - offset for position, symbol in enumerate(sequence) if symbol in place]
        for offset, place in enumerate(places)
    ]
    if not all(positions):
        return
    end = max(each[0] for each in positions)
    while True:
        least = min(range(len(places)), key=lambda place: (positions[place][0], place))
        following = min(each[0] for place, each in enumerate(positions) if place != least)
        distance = end - positions[least].pop(0)
        while positions[least] and positions[least][0] <= following:
            distance = end - positions[least].pop(0)
        yield distance
        if not positions[least]:
            return
        end = max(end, positions[least][0])


PLACES = st.permutations("ABC").flatmap(lambda symbols: st.sampled_from([symbols[:2], symbols, [*symbols[:2], "CDE"]]))


@settings(max_examples=1500, deadline=None)
@given(
    PLACES.filter(lambda places: len(set("".join(places))) == len("".join(places))),
    st.text("ABCDEx\0", max_size=30),
    st.sampled_from([1, 2, 3, 8, 100, 1000]),
)
@example(["A", "B"], "ABxB", 100)
@example(["A", "B"], "BABxBA", 2)
@example(["B", "A", "C"], "ABC", 2)
def test_a_sloppy_phrase_is_counted_as_step_by_step(places: list[str], sequence: str, slop: int) -> None:
    expected = 0.0
    if all(set(place) & set(sequence) for place in places):
        for distance in distances(places, sequence):
            if distance <= slop:
                expected = single(expected + single(1 / single(1.0 + distance)))

        assert SloppyPhrase(places, slop, Budget()).frequency(sequence) == expected
