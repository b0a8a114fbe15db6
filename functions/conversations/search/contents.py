"""The documents of an index and what is kept of each field, changed together or not at all."""

from collections.abc import Collection
from sys import getsizeof
from typing import NamedTuple

from conversations.search.fields import FieldIndex, index_of
from conversations.search.json_values import Json, JsonObject
from conversations.search.mapping import Mapping, values_at

__all__ = ["Contents", "Document"]

_DOCUMENT_BYTES = 2 * 64 + 64 + 32


class Document(NamedTuple):
    """A document as it was given."""

    id: str
    source: JsonObject
    bytes: int


class Contents:
    """Documents by number. A changed document is a new one, as in Lucene, and takes the place of the latest."""

    def __init__(self, mapping: Mapping) -> None:
        self.fields: dict[str, FieldIndex] = {name: index_of(field) for name, field in mapping.fields.items()}
        self._mapping = mapping
        self._documents: dict[int, Document] = {}
        self._numbers: dict[str, int] = {}
        self._next = 0
        self._source_bytes = 0

    @property
    def memory_bytes(self) -> int:
        """What documents and fields take, estimated."""
        documents = self._source_bytes + len(self._documents) * _DOCUMENT_BYTES
        return documents + sum(field.memory_bytes for field in self.fields.values())

    @property
    def documents(self) -> Collection[int]:
        """The numbers of all documents, ascending."""
        return self._documents.keys()

    def document(self, number: int) -> Document:
        """A document by number."""
        return self._documents[number]

    def number(self, id_: str) -> int | None:
        """The number of a document, if it is there."""
        return self._numbers.get(id_)

    def add(self, id_: str, source: JsonObject, without: Collection[str] = ()) -> None:
        """Enter a document, or enter it anew, but for some fields. Raises `DocumentError` and then changes nothing."""
        prepared = []
        for name, field in self._mapping.fields.items():
            values = values_at(source, name) if name not in without else []
            if values:
                index = self.fields[name]
                prepared.append((index, index.prepare(field, values)))
        self.remove(id_)
        number, self._next = self._next, self._next + 1
        for index, values_of_field in prepared:
            index.add(number, values_of_field)  # type: ignore[arg-type]  # what this very index prepared
        document = Document(id_, source, _size_of(source) + getsizeof(id_))
        self._documents[number], self._numbers[id_] = document, number
        self._source_bytes += document.bytes

    def remove(self, id_: str) -> bool:
        """Take a document out; False if it is not there."""
        number = self._numbers.pop(id_, None)
        if number is None:
            return False
        for field in self.fields.values():
            field.remove(number)
        self._source_bytes -= self._documents.pop(number).bytes
        return True


def _size_of(value: Json) -> int:
    """The bytes that a JSON value takes in memory, keys left out, as documents share them."""
    total, stack = 0, [value]
    while stack:
        current = stack.pop()
        total += getsizeof(current) if current is not None else 0
        if isinstance(current, dict):
            stack.extend(current.values())
        elif isinstance(current, list):
            stack.extend(current)
    return total
