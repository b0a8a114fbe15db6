"""Schemas of objects that are ours: closed."""

from collections.abc import Mapping
from typing import Any


def closed(properties: Mapping[str, Any], *, optional: tuple[str, ...] = (), description: str = "") -> dict[str, Any]:
    """The schema of an object with these members and no others; all are required but the optional ones."""
    return {
        "type": "object",
        **({"description": description} if description else {}),
        "required": [name for name in properties if name not in optional],
        "properties": dict(properties),
        "additionalProperties": False,
    }


def all_optional(properties: Mapping[str, Any], description: str) -> dict[str, Any]:
    """The schema of an object that has these members or some of them, and no others."""
    return closed(properties, optional=tuple(properties), description=description)
