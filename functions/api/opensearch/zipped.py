"""Bodies that a client has compressed, as those of OpenSearch do with ``http_compress``."""

import zlib
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from api.strict_json import LARGEST_ESCAPED_BYTES
from conversations.errors import InvalidRequestError, TooLargeError

_GZIP = 16 + zlib.MAX_WBITS


def unzipped(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event with the body as it was before it was compressed. No more of it is unpacked than may be taken.

    Raises:
        InvalidRequestError: it is compressed in another way, or damaged.
        TooLargeError: it is larger than what can be taken.
    """
    encoding = (event.get("headers") or {}).get("content-encoding", "").lower()
    if encoding in ("", "identity") or not event.get("body"):
        return event
    if encoding != "gzip":
        raise InvalidRequestError(f"Content-Encoding [{encoding[:100]}] is not supported", field="content-encoding")
    body = event["body"]
    try:
        text = _unpacked(b64decode(body) if event.get("isBase64Encoded") else body.encode("latin-1")).decode()
    except (ValueError, zlib.error) as error:
        raise InvalidRequestError("body is no gzip of UTF-8 any more: send it uncompressed", field="body") from error
    return {**event, "body": text, "isBase64Encoded": False}


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj(_GZIP)
    body = unpacking.decompress(packed, LARGEST_ESCAPED_BYTES + 1)
    if len(body) > LARGEST_ESCAPED_BYTES:
        raise TooLargeError(f"body is larger than {LARGEST_ESCAPED_BYTES} bytes when it is unpacked.", field="body")
    if not unpacking.eof:
        raise ValueError("The end is missing.")
    return body
