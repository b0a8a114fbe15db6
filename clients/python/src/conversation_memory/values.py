"""Values of Python as JSON and back, equal by type: what JSON has no word for is an object with one member that begins
with ``$``.

A long text that stands in a message's content blocks already is not written twice: ``{"$same": [0, "text"]}`` says
where it is.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from conversation_memory.errors import UnstorableError

Path = list[Any]
_DEEPEST = 80
"""The API takes JSON of a hundred levels, and the message around a value needs some of them."""
_LARGEST_INTEGER = 10**308
_SHORTEST_SHARED = 32
_DATA_URL = "data:"


def encode(value: object, *, where: str, blocks: Sequence[Any] = ()) -> Any:
    """The value as JSON; ``where`` is what complaints call it.

    Raises:
        UnstorableError: something in it could not be given back as it is.
    """
    return _Encoder(_texts_of(blocks)).of(value, where, 0)


def decode(value: Any, blocks: Sequence[Any] = ()) -> Any:
    """The value that ``encode`` wrote.

    Raises:
        ValueError, TypeError, LookupError: nobody wrote it like this, or the blocks are others now.
    """
    if isinstance(value, list):
        return [decode(member, blocks) for member in value]
    if not isinstance(value, dict):
        return value
    if "$same" in value:
        return value.get("after", "") + _at(blocks, value["$same"])
    name = next(iter(value), "")
    if not name.startswith("$"):
        return {name: decode(member, blocks) for name, member in value.items()}
    return _TAGS[name](decode(value[name], blocks))


class _Encoder:
    def __init__(self, shared: Mapping[str, Path]) -> None:
        self._shared = shared

    def of(self, value: object, where: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise UnstorableError(f"{where} is nested deeper than {_DEEPEST} levels")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, Mapping):
            return self._mapping(value, where, depth)
        return self._others(value, where, depth)

    def _number(self, value: float) -> Any:
        if isinstance(value, int):
            return int(value) if abs(value) <= _LARGEST_INTEGER else {"$int": hex(value)}
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}

    def _text(self, value: str) -> Any:
        if len(value) >= _SHORTEST_SHARED:
            before, comma, data = value.partition(",") if value.startswith(_DATA_URL) else ("", "", value)
            if data in self._shared:
                same = {"$same": self._shared[data]}
                return {**same, "after": before + comma} if comma else same
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return {"$text": b64encode(value.encode(errors="surrogatepass")).decode()}
        return str(value)

    def _mapping(self, value: Mapping[Any, Any], where: str, depth: int) -> Any:
        if all(isinstance(name, str) and name.isprintable() and not name.startswith("$") for name in value):
            return {str(name): self.of(member, f"{where}.{name}", depth + 1) for name, member in value.items()}
        return {"$dict": [[self.of(part, where, depth + 3) for part in pair] for pair in value.items()]}

    def _others(self, value: object, where: str, depth: int) -> Any:
        if isinstance(value, bytes):
            return {"$bytes": self._text(b64encode(value).decode())}
        if isinstance(value, list | tuple | set | frozenset):
            levels = 1 if isinstance(value, list) else 2
            members = [self.of(member, f"{where}[{place}]", depth + levels) for place, member in enumerate(value)]
            return members if isinstance(value, list) else {f"${type(value).__name__}": members}
        name = f"${type(value).__name__}"
        if isinstance(value, datetime) and value.fold:  # the second of two equal hours, which ISO 8601 cannot tell
            name = "$folded"
        if isinstance(value, datetime | date | Decimal | UUID) and name in _TAGS:
            return {name: value.isoformat() if isinstance(value, date) else str(value)}
        raise UnstorableError(f"{where} holds a {type(value).__name__}, which could not be given back as it is")


_TAGS: Mapping[str, Callable[[Any], Any]] = {
    "$text": lambda data: b64decode(data).decode(errors="surrogatepass"),
    "$int": lambda digits: int(digits, 16),
    "$float": float,
    "$bytes": b64decode,
    "$dict": dict,
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$datetime": datetime.fromisoformat,
    "$folded": lambda text: datetime.fromisoformat(text).replace(fold=1),
    "$date": date.fromisoformat,
    "$Decimal": Decimal,
    "$UUID": UUID,
}


def _texts_of(value: object, path: Sequence[Any] = ()) -> dict[str, Path]:
    """Where long texts stand in content blocks."""
    found: dict[str, Path] = {}
    if isinstance(value, str):
        return {value: list(path)} if len(value) >= _SHORTEST_SHARED else {}
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, Sequence) else ()
    for step, member in members:
        found |= _texts_of(member, [*path, step])
    return found


def _at(blocks: Any, path: Path) -> str:
    for step in path:
        blocks = blocks[step]
    if not isinstance(blocks, str):
        raise TypeError("there is no text")
    return blocks


def as_text(value: Any) -> str:
    """JSON as a text for people and models."""
    return json.dumps(value, ensure_ascii=False)
