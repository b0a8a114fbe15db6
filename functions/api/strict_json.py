"""JSON bodies, read strictly: what could not be stored and given back as it was is refused by name."""

import json
import math
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from conversations.errors import InvalidRequestError, TooLargeError

LARGEST_ESCAPED_BYTES = 5 * 1024 * 1024
"""Lambda takes events of 6 MB, in which the body stands as an escaped JSON string."""
DEEPEST = 100
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_NUMBER = 10**308


def read_object(event: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in a request's body; none at all counts as an empty one.

    Raises:
        TooLargeError: the body is larger than what can be taken.
        InvalidRequestError: it is no JSON object, or something in it could not be kept as it is.
    """
    text = _text(event)
    try:
        document = json.loads(text, object_pairs_hook=_distinct) if text.strip() else {}
    except RecursionError as error:
        raise InvalidRequestError(f"body is nested deeper than {DEEPEST} levels.", field="body") from error
    except ValueError as error:
        raise InvalidRequestError(f"body is not JSON: {error}.", field="body") from error
    if not isinstance(document, dict):
        raise InvalidRequestError("body must be a JSON object.", field="body")
    _check(document)
    return document


def escaped_size(text: str) -> int:
    """The bytes of a text as a JSON string, which is how it travels in an event or an answer of Lambda."""
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))


def _text(event: Mapping[str, Any]) -> str:
    body = event.get("body") or ""
    if escaped_size(body) > LARGEST_ESCAPED_BYTES:
        raise TooLargeError(
            f"body is larger than {LARGEST_ESCAPED_BYTES} bytes as an escaped JSON string.", field="body"
        )
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return b64decode(body).decode()
    except ValueError as error:
        raise InvalidRequestError("body is not UTF-8.", field="body") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequestError(f"{twice[:64]!r} is given twice.", field=twice[:64])
    return document


def _check(document: dict[str, Any]) -> None:
    """Walks without recursion, since the depth is the sender's choice."""
    pending: list[tuple[Any, str, int]] = [(document, "", 0)]
    while pending:
        value, path, depth = pending.pop()
        if depth > DEEPEST:
            raise InvalidRequestError(f"{path[:64]} is nested deeper than {DEEPEST} levels.", field=path[:64])
        if isinstance(value, dict):
            for name, member in value.items():
                where = f"{path}.{name}" if path else name
                _check_scalar(name, where)
                pending.append((member, where, depth + 1))
        elif isinstance(value, list):
            pending.extend((member, f"{path}[{place}]", depth + 1) for place, member in enumerate(value))
        else:
            _check_scalar(value, path)


def _check_scalar(value: object, path: str) -> None:
    if isinstance(value, str):
        if _LONE_SURROGATE.search(value):
            safe = path.encode("ascii", "replace").decode()
            raise InvalidRequestError(f"{safe} holds half of a surrogate pair, which is no text.", field=safe)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequestError(f"{path} is not a finite number within double precision.", field=path)
    elif isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        raise InvalidRequestError(f"{path} is larger than a number of double precision.", field=path)
