"""JSON bodies, read strictly: what could not be stored and given back as it was is refused by name."""

import json
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from conversations.errors import InvalidRequestError, TooLargeError

LARGEST_ESCAPED_BYTES = 5 * 1024 * 1024
"""Lambda takes events of 6 MB, in which the body stands as an escaped JSON string."""
DEEPEST = 100
LONGEST_FIELD = 64
"""How many characters of a path an error shows: names are the sender's choice."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_NUMBER = 10**308
_as_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps makes one for each call

Step = str | int
"""The name of a member, or its place in a list."""


def read_object(event: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in a request's body; none at all counts as an empty one.

    Raises:
        TooLargeError: the body is larger than what can be taken.
        InvalidRequestError: it is no JSON object, or something in it could not be kept as it is.
    """
    text = read_text(event)
    document = read_value(text) if text.strip() else {}
    if not isinstance(document, dict):
        raise InvalidRequestError("body must be a JSON object.", field="body")
    return document


def read_value(text: str, *, parse_float: Callable[[str], float] = float) -> Any:
    """The JSON value in a text; ``parse_float`` makes what it likes of numbers with a fraction or an exponent.

    Raises:
        InvalidRequestError: it is no JSON, or something in it could not be kept as it is.
    """
    try:
        document = json.loads(text, object_pairs_hook=_distinct, parse_float=parse_float)
    except RecursionError as error:
        raise InvalidRequestError(f"body is nested deeper than {DEEPEST} levels.", field="body") from error
    except ValueError as error:
        raise InvalidRequestError(f"body is not JSON: {error}.", field="body") from error
    if isinstance(document, dict | list):
        _check(document)
    elif complaint := _complaint(document):
        raise InvalidRequestError(f"body {complaint}.", field="body")
    return document


def escaped_size(text: str) -> int:
    """The bytes of a text as a JSON string, which is how it travels in an event or an answer of Lambda."""
    return len(_as_json(text).encode(errors="surrogatepass"))


def read_text(event: Mapping[str, Any]) -> str:
    """A request's body as text, empty if there is none.

    Raises:
        TooLargeError: it is larger than what can be taken.
        InvalidRequestError: it is not UTF-8.
    """
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
        field = _shown([_first_repeated(name for name, _ in pairs)])
        raise InvalidRequestError(f"{field!r} is given twice.", field=field)
    return document


def _first_repeated(names: Iterable[str]) -> str:
    met: set[str] = set()
    for name in names:
        if name in met:
            break
        met.add(name)
    return name


def _check(document: dict[str, Any] | list[Any]) -> None:
    """Walks without recursion, since the depth is the sender's choice.

    Only the way to the place in hand is kept, and it is put into words only for a complaint: a small body can hold
    millions of values, and their paths would take a thousand times its size.
    """
    way: list[Step] = []
    unread = [_members(document, way)]
    while unread:
        for step, value in unread[-1]:
            if isinstance(value, dict | list):
                way.append(step)
                if len(unread) == DEEPEST:
                    _refuse(way, f"is nested deeper than {DEEPEST} levels")
                unread.append(_members(value, way))
                break
            if complaint := _complaint(value):
                _refuse([*way, step], complaint)
        else:
            unread.pop()
            del way[-1:]


def _members(value: dict[str, Any] | list[Any], way: Sequence[Step]) -> Iterator[tuple[Step, Any]]:
    """The members of an object or a list, by name or place."""
    if isinstance(value, list):
        return enumerate(value)
    for name in value:
        if complaint := _complaint(name):
            _refuse([*way, name], complaint)
    return iter(value.items())


def _complaint(value: object) -> str | None:
    """What is wrong with a value that is no object and no list."""
    if isinstance(value, str):
        return "holds half of a surrogate pair, which is no text" if _LONE_SURROGATE.search(value) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else "is not a finite number within double precision"
    is_large = isinstance(value, int) and not -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER
    return "is larger than a number of double precision" if is_large else None


def _refuse(way: Sequence[Step], complaint: str) -> NoReturn:
    field = _shown(way)
    raise InvalidRequestError(f"{field} {complaint}.", field=field)


def _shown(way: Iterable[Step]) -> str:
    """The beginning of a path as an error may show it."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_FIELD]}" for step in way)
    return "".join(steps).removeprefix(".")[:LONGEST_FIELD].encode("utf-8", "replace").decode()
