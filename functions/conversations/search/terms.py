"""The dictionary of a field's terms, with the documents that hold each: the inverted index.

A posting is one number: the document's number in the high bits, then the encoded length of its field, then how often
it holds the term. So a posting list is a flat array in document order, and all that scores one posting is in its low
32 bits.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from sys import getsizeof
from typing import Protocol

from conversations.search.single_precision import FREQUENCY_BITS

__all__ = ["DOCUMENT_SHIFT", "GAP", "MAX_TERMS", "PAYLOAD_MASK", "Pattern", "Term", "TermDictionary"]

DOCUMENT_SHIFT = 32
PAYLOAD_MASK = (1 << DOCUMENT_SHIFT) - 1
_MAX_FREQUENCY = (1 << FREQUENCY_BITS) - 1
MAX_TERMS = 0x10FFFF
"""Different terms that a field may have: so many characters there are to stand for them."""
GAP = "\0"
"""The character that stands for no term."""
_ONCE = 1 << FREQUENCY_BITS | 1
"""The payload where neither frequency nor length counts."""

_TERM_BYTES = 56 + 32 + 8 + 80 + 64 + 32
"""A `Term`, its number, its empty array and that array's spare room, and its places in the dictionary."""
_POSTING_BYTES = 8.5


class Pattern(Protocol):
    """What a wildcard is to the dictionary."""

    @property
    def prefix(self) -> str: ...

    def matches(self, text: str) -> bool: ...


class Term:
    """A term and its postings. Its symbol is one character that stands for it in sequences of terms."""

    __slots__ = ("_number", "postings", "text")

    def __init__(self, text: str, number: int) -> None:
        self.text = text
        self._number = number
        self.postings = array("Q")

    @property
    def symbol(self) -> str:
        """The character."""
        return chr(self._number)

    def documents(self) -> Iterator[int]:
        """The numbers of the documents that hold the term, ascending."""
        return (posting >> DOCUMENT_SHIFT for posting in self.postings)

    def encoded_lengths(self) -> dict[int, int]:
        """The encoded length of the field in each document that holds the term."""
        return {posting >> DOCUMENT_SHIFT: (posting & PAYLOAD_MASK) >> FREQUENCY_BITS for posting in self.postings}


class TermDictionary:
    """The terms of one field. Documents are added in ascending order of their numbers."""

    def __init__(self) -> None:
        self._terms: dict[str, Term] = {}
        self._by_number: list[Term | None] = [None]
        self._free: list[int] = []
        self._ordered: list[str] | None = []
        self._unordered: list[str] = []
        self._text_bytes = 0
        self._postings = 0

    @property
    def memory_bytes(self) -> int:
        """What the dictionary takes, estimated from its counts."""
        ordered = 8 * len(self._ordered or ()) + 8 * len(self._unordered)
        return int(len(self._terms) * _TERM_BYTES + self._text_bytes + self._postings * _POSTING_BYTES + ordered)

    def get(self, text: str) -> Term | None:
        """The term, if any document holds it."""
        return self._terms.get(text)

    def of_symbols(self, symbols: Iterable[str]) -> set[Term]:
        """The terms of these characters."""
        return {term for symbol in symbols if (term := self._by_number[ord(symbol)])}

    def has_room_for(self, texts: int) -> bool:
        """Whether so many new terms would still get a symbol each."""
        return len(self._terms) + texts <= MAX_TERMS

    def intern(self, texts: list[str]) -> list[Term]:
        """The terms of these texts, made where they are new. What gets no posting must be discarded."""
        terms, found = self._terms, []
        for text in texts:
            term = terms.get(text)
            found.append(self._new(text) if term is None else term)
        return found

    def _new(self, text: str) -> Term:
        if self._free:
            number = self._free.pop()
        else:
            number = len(self._by_number)
            self._by_number.append(None)
        term = self._terms[text] = self._by_number[number] = Term(text, number)
        self._unordered.append(text)
        self._text_bytes += getsizeof(text)
        return term

    def add(self, document: int, frequencies: dict[Term, int], encoded_length: int) -> None:
        """Enter a document with how often it holds each term."""
        base = document << DOCUMENT_SHIFT | encoded_length << FREQUENCY_BITS
        self._postings += len(frequencies)
        for term, frequency in frequencies.items():
            term.postings.append(base | frequency if frequency < _MAX_FREQUENCY else base | _MAX_FREQUENCY)

    def add_once(self, document: int, texts: list[str]) -> tuple[Term, ...]:
        """Enter a document with terms of which only the presence counts."""
        held = tuple(dict.fromkeys(self.intern(texts)))
        self._postings += len(held)
        for term in held:
            term.postings.append(document << DOCUMENT_SHIFT | _ONCE)
        return held

    def remove(self, document: int, held: set[Term]) -> None:
        """Take a document out of the terms that it holds."""
        first = document << DOCUMENT_SHIFT
        self._postings -= len(held)
        for term in held:
            del term.postings[bisect_left(term.postings, first)]
            if not term.postings:
                del self._terms[term.text]
                number = ord(term.symbol)
                self._by_number[number] = None
                self._free.append(number)
                self._text_bytes -= getsizeof(term.text)
                self._ordered = None

    def starting_with(self, prefix: str) -> Iterator[Term]:
        """The terms with this prefix, in order."""
        return map(self._terms.__getitem__, self._texts_with(prefix))

    def matching(self, pattern: Pattern) -> Iterator[Term]:
        """The terms that fit a pattern, in order."""
        return map(self._terms.__getitem__, filter(pattern.matches, self._texts_with(pattern.prefix)))

    def _texts_with(self, prefix: str) -> list[str]:
        ordered = self._in_order()
        start = bisect_left(ordered, prefix)
        return ordered[start : bisect_right(ordered, prefix, start, key=lambda text: text[: len(prefix)])]

    def from_text(self, text: str) -> Iterator[Term]:
        """The terms from a text on, in order of code points, which is that of UTF-8."""
        ordered = self._in_order()
        for position in range(bisect_left(ordered, text), len(ordered)):
            yield self._terms[ordered[position]]

    def _in_order(self) -> list[str]:
        """All terms sorted. New ones are sorted in (cheap, as most is in order); a lost one means sorting anew."""
        if self._ordered is None:
            self._ordered = sorted(self._terms)
            self._unordered = []
        elif self._unordered:
            self._ordered += self._unordered
            self._ordered.sort()
            self._unordered = []
        return self._ordered
