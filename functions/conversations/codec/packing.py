"""What all items share: DynamoDB's own JSON, and texts that are compressed where that saves a write unit."""

import json
import zlib
from base64 import b64decode
from collections.abc import Mapping
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
    return sum(len(name) + len(next(iter(value.values()))) for name, value in item.items())


def packed(text: str, *, others: int) -> dict[str, str | bytes]:
    """The text as an attribute: compressed if that saves a write unit, given the bytes of all that is beside it."""
    encoded = text.encode()
    size = others + len(encoded)
    if size <= WRITE_UNIT_BYTES:
        return {"S": text}
    compressed = zlib.compress(encoded)
    saved = write_units(size) - write_units(others + len(compressed))
    return {"B": compressed} if saved > 0 else {"S": text}


def unpacked(attribute: Mapping[str, Any]) -> str:
    """The text of an attribute. What is binary is bytes as botocore parses it, and base64 as DynamoDB sends it.

    Raises:
        ValueError, zlib.error: it is neither text nor what was compressed.
    """
    text: str | None = attribute.get("S")
    if text is not None:
        return text
    compressed = attribute["B"]
    return zlib.decompress(b64decode(compressed) if isinstance(compressed, str) else compressed).decode()


def write_units(size: int) -> int:
    return -(-size // WRITE_UNIT_BYTES)


def text_in(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def number_in(item: Item, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None
