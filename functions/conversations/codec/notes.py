"""The notes of a chain's head as one short attribute, since every append pays for the item that it stands in."""

from conversations.notes import Mark, Notes

_COUNTS = 9


def notes_to_text(notes: Notes) -> str:
    """Numbers with spaces between them: the counts, the marks, and then the places of the last changes."""
    counts = [notes.changes, notes.traces, notes.last_s]
    marks = [number for mark in (notes.older, notes.newer) for number in (mark.at_s, mark.changes, mark.traces)]
    return " ".join(map(str, [*counts, *marks, *notes.changed]))


def notes_from_text(text: str) -> Notes:
    """The inverse of ``notes_to_text``."""
    numbers = [int(number) for number in text.split(" ")]
    changes, traces, last_s, *marks = numbers[:_COUNTS]
    older, newer = Mark(*marks[:3]), Mark(*marks[3:])
    return Notes(changes, traces, tuple(numbers[_COUNTS:]), last_s, older, newer)
