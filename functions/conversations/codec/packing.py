"""What all items share: DynamoDB's own JSON, and texts that are compressed where that saves a write unit."""

import json
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

WRITE_UNIT_BYTES = 1024

_decoder = json.JSONDecoder()
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # json.dumps makes one for each call

Item = dict[str, dict[str, Any]]
"""An item in DynamoDB's own JSON: attribute name to ``{type: value}``."""


def to_json(value: object) -> str:
    """Compact JSON that is not ASCII-escaped."""
    return _encode(value)


def from_json(text: str) -> Any:
    """What ``to_json`` made the text of.

    ``json.loads`` looks for white space around it as well, which takes a message of a history half as long again.

    Raises:
        ValueError: it is no JSON, or more than that.
    """
    value, end = _decoder.raw_decode(text)
    if end != len(text):
        raise ValueError("There is more than one JSON document.")
    return value


def size_of(item: Item) -> int:
    """The bytes that DynamoDB counts (developer guide, "DynamoDB item sizes and formats"), but for sets and lists."""
    return sum(len(name.encode()) + _size_of_value(*pair) for name, value in item.items() for pair in value.items())


def _size_of_value(kind: str, value: Any) -> int:
    if kind == "N":
        return 1 + (len(value.lstrip("-").strip("0").replace(".", "")) + 1) // 2
    if isinstance(value, bytes):
        return len(value)
    return len(value.encode() if isinstance(value, str) else str(value))


def packed(name: str, text: str, *, beside: Item) -> Item:
    """The text as an attribute of that name: compressed if that saves a write unit, given what is beside it."""
    plain = beside | {name: {"S": text}}
    return cheaper(plain, lambda: beside | {name: compressed(text)})


def cheaper(plain: Item, shrink: Callable[[], Item]) -> Item:
    """The plain item, unless the one that ``shrink`` makes takes fewer write units."""
    units = write_units(size_of(plain))
    if units == 1:
        return plain
    shrunk = shrink()
    return shrunk if write_units(size_of(shrunk)) < units else plain


def compressed(text: str) -> dict[str, bytes]:
    """The text as a binary value."""
    return {"B": zlib.compress(text.encode())}


def unpacked(attribute: Mapping[str, Any]) -> str:
    """The text of an attribute. What is binary is bytes as botocore parses it, and base64 as DynamoDB sends it.

    Raises:
        ValueError, zlib.error: it is neither text nor what was compressed.
    """
    text: str | None = attribute.get("S")
    if text is not None:
        return text
    binary = attribute["B"]
    return zlib.decompress(b64decode(binary) if isinstance(binary, str) else binary).decode()


def write_units(size: int) -> int:
    return -(-size // WRITE_UNIT_BYTES)


def text_in(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def number_in(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None
