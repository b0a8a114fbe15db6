"""What the index keeps of each field, by type, so that documents come and go cheaply.

Each class takes a document's values apart first (`prepare`, which may refuse them), then enters them (`add`), so that
a refused document leaves nothing behind.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain
from sys import getsizeof

from conversations.search import analysis
from conversations.search.errors import DocumentError
from conversations.search.json_values import Json
from conversations.search.mapping import Field, FieldType, Leaf, flat_leaves, number_values, string_values
from conversations.search.single_precision import FREQUENCY_BITS, encoded_length
from conversations.search.terms import GAP, MAX_TERMS, Term, TermDictionary

__all__ = ["FieldIndex", "FlatObjectIndex", "KeywordIndex", "NumberIndex", "TextIndex", "index_of"]

POSITION_GAP = 100
"""Positions between two values of a text field: OpenSearch's `position_increment_gap`."""

MAX_TOKENS = (1 << FREQUENCY_BITS) - 1
"""Tokens that one text field may have, bounded by what a posting can count."""

_ENTRY_BYTES = 64
"""A document's place in a dictionary with its number."""
_SEQUENCE_BYTES = 56


class TextIndex:
    """An analyzed field: terms with frequencies and lengths, and each document's terms in order of position.

    A sequence of terms is a string of their symbols, so that looking for one is looking for a character in a string.
    """

    def __init__(self) -> None:
        self.dictionary = TermDictionary()
        self.documents_with_terms = 0
        self.total_terms = 0
        self._sequences: dict[int, str] = {}
        self._sequence_bytes = 0

    @property
    def memory_bytes(self) -> int:
        """Estimated."""
        return self.dictionary.memory_bytes + len(self._sequences) * _ENTRY_BYTES + self._sequence_bytes

    @property
    def documents(self) -> Collection[int]:
        """The documents that have the field, be it without a term."""
        return self._sequences.keys()

    @property
    def average_length(self) -> float:
        """Terms per document that has any."""
        return self.total_terms / self.documents_with_terms

    def sequence(self, document: int) -> str:
        """The symbols of a document's terms; the index is the position."""
        return self._sequences[document]

    def prepare(self, field: Field, values: list[Json]) -> list[list[str]]:
        """The terms of each value."""
        prepared = [analysis.terms(text) for text in string_values(field, values)]
        length = sum(map(len, prepared))
        if length > MAX_TOKENS or not self._has_room_for(prepared, length):
            raise DocumentError(field.name, field.type, f"more than {MAX_TOKENS} tokens or {MAX_TERMS} different terms")
        return prepared

    def _has_room_for(self, prepared: list[list[str]], length: int) -> bool:
        """Whether all new terms get a symbol. A long text repeats its words: they are told apart only if need be."""
        return self.dictionary.has_room_for(length) or self.dictionary.has_room_for(len(set().union(*prepared)))

    def add(self, document: int, prepared: list[list[str]]) -> None:
        """Enter a document's values."""
        terms = [self.dictionary.intern(texts) for texts in prepared]
        sequence = (GAP * POSITION_GAP).join("".join([term.symbol for term in value]) for value in terms)
        self._sequences[document] = sequence
        self._sequence_bytes += getsizeof(sequence)
        length = sum(map(len, terms))
        if length:
            self.dictionary.add(document, Counter(chain.from_iterable(terms)), encoded_length(length))
            self.documents_with_terms += 1
            self.total_terms += length

    def remove(self, document: int) -> None:
        """Take a document out."""
        sequence = self._sequences.pop(document, None)
        if sequence is None:
            return
        self._sequence_bytes -= getsizeof(sequence)
        if length := _length(sequence):
            self.dictionary.remove(document, self.dictionary.of_symbols(set(sequence)))
            self.documents_with_terms -= 1
            self.total_terms -= length


def _length(sequence: str) -> int:
    return len(sequence) - sequence.count(GAP)


class KeywordIndex:
    """A field of whole strings: terms, and each document's values for sorting."""

    def __init__(self) -> None:
        self.dictionary = TermDictionary()
        self._held: dict[int, tuple[Term, ...]] = {}

    @property
    def memory_bytes(self) -> int:
        """Estimated."""
        return self.dictionary.memory_bytes + len(self._held) * (_ENTRY_BYTES + _SEQUENCE_BYTES)

    @property
    def documents(self) -> Collection[int]:
        """The documents that have a value."""
        return self._held.keys()

    def values(self, document: int) -> list[str]:
        """A document's values, each once."""
        return [term.text for term in self._held.get(document, ())]

    def prepare(self, field: Field, values: list[Json]) -> list[str]:
        """The strings of the values."""
        return string_values(field, values)

    def add(self, document: int, prepared: list[str]) -> None:
        """Enter a document's values."""
        self._held[document] = self.dictionary.add_once(document, prepared)

    def remove(self, document: int) -> None:
        """Take a document out."""
        self.dictionary.remove(document, set(self._held.pop(document, ())))


class NumberIndex:
    """A field of 64-bit numbers (a date is one, of milliseconds): looked through one by one, which is fast enough."""

    def __init__(self) -> None:
        self._values: dict[int, list[int]] = {}

    @property
    def memory_bytes(self) -> int:
        """Estimated."""
        return len(self._values) * (_ENTRY_BYTES + 64 + 40)

    @property
    def documents(self) -> Collection[int]:
        """The documents that have a value."""
        return self._values.keys()

    def values(self, document: int) -> list[int]:
        """A document's values."""
        return self._values.get(document, [])

    def items(self) -> Iterable[tuple[int, list[int]]]:
        """Each document with its values."""
        return self._values.items()

    def prepare(self, field: Field, values: list[Json]) -> list[int]:
        """The numbers of the values."""
        return number_values(field, values)

    def add(self, document: int, prepared: list[int]) -> None:
        """Enter a document's values."""
        self._values[document] = prepared

    def remove(self, document: int) -> None:
        """Take a document out."""
        self._values.pop(document, None)


class FlatObjectIndex:
    """An object whose leaves are strings: terms of the values, and terms of the form `field.path=value`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.values = TermDictionary()
        self.paths = TermDictionary()
        self._held: dict[int, tuple[tuple[Term, ...], tuple[Term, ...]]] = {}

    @property
    def memory_bytes(self) -> int:
        """Estimated."""
        entries = len(self._held) * (_ENTRY_BYTES + 3 * _SEQUENCE_BYTES)
        return self.values.memory_bytes + self.paths.memory_bytes + entries

    @property
    def documents(self) -> Collection[int]:
        """The documents that have a leaf."""
        return self._held.keys()

    def prepare(self, field: Field, values: list[Json]) -> list[Leaf]:
        """The leaves of the values."""
        return list(flat_leaves(field, values))

    def add(self, document: int, prepared: list[Leaf]) -> None:
        """Enter a document's leaves."""
        if prepared:
            values = self.values.add_once(document, [leaf.text for leaf in prepared])
            paths = self.paths.add_once(document, [f"{self._name}.{leaf.path}={leaf.text}" for leaf in prepared])
            self._held[document] = values, paths

    def remove(self, document: int) -> None:
        """Take a document out."""
        values, paths = self._held.pop(document, ((), ()))
        self.values.remove(document, set(values))
        self.paths.remove(document, set(paths))


FieldIndex = TextIndex | KeywordIndex | NumberIndex | FlatObjectIndex


def index_of(field: Field) -> FieldIndex:
    """An empty index for a field."""
    match field.type:
        case FieldType.TEXT:
            return TextIndex()
        case FieldType.KEYWORD:
            return KeywordIndex()
        case FieldType.FLAT_OBJECT:
            return FlatObjectIndex(field.name)
        case _:
            return NumberIndex()
