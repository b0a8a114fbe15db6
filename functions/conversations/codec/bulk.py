"""Bulky parts, which stand in an object of their own when they are too large for an item."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

from conversations.codec.packing import to_json

LARGEST_BODY_BYTES = 32 * 1024
LARGEST_UNPACKED_BYTES = 128 * 1024
"""What may stand in an item before it is compressed: the messages of a page are unpacked together, and 5 MB of one
letter are a few KB in an item.
"""


def bulk_of_document(document: Mapping[str, Any]) -> bytes | None:
    """What stands in the object, compressed; ``None`` when the document fits into an item."""
    encoded = to_json(document).encode()
    if len(encoded) <= LARGEST_BODY_BYTES:
        return None
    compressed = zlib.compress(encoded)
    fits = len(encoded) <= LARGEST_UNPACKED_BYTES and len(compressed) <= LARGEST_BODY_BYTES
    return None if fits else compressed


def document_of_bulk(bulk: bytes) -> dict[str, Any]:
    """The document in an object.

    Raises:
        ValueError, zlib.error: the object is none that ``bulk_of_document`` made.
    """
    document = json.loads(zlib.decompress(bulk))
    if not isinstance(document, dict):
        raise ValueError("The object holds no JSON object.")
    return document
