"""DynamoDB's values as Python's: numbers as ``int`` and ``float``, binary as ``bytes``."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Value = Mapping[str, Any]
"""A value on the wire: one member that tells its type (``{"S": "text"}``), with bytes for binary."""


def plain(value: Value) -> Any:
    """The value itself.

    Raises:
        ValueError: it is of no type that is known.
    """
    [(kind, held)] = value.items()
    if kind not in _KINDS:
        raise ValueError(f"DynamoDB type {kind}")
    return _KINDS[kind](held)


def number(digits: str) -> int | float | Decimal:
    """A whole number as ``int``; another as ``float``, unless that would be a different number."""
    exact = Decimal(digits)
    if exact == exact.to_integral_value():
        return int(exact)
    near = float(exact)
    return near if Decimal(repr(near)) == exact else exact


def fingerprint(value: Value) -> bytes:
    """The same bytes for the same value, whatever the order of a map's members."""
    return json.dumps(value, sort_keys=True, default=lambda data: b64encode(bytes(data)).decode()).encode()


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "S": str,
    "N": number,
    "BOOL": bool,
    "NULL": lambda _: None,
    "B": bytes,
    "L": lambda members: [plain(member) for member in members],
    "M": lambda members: {name: plain(member) for name, member in members.items()},
    "SS": set,
    "NS": lambda members: {number(member) for member in members},
    "BS": lambda members: {bytes(member) for member in members},
}
