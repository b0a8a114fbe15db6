"""Shapes of JSON: each takes what it knows of a value, and says of the rest what is wrong with it.

One table of shapes (``conversations.converse``) so serves both ends: what is stored is refused by its complaints, and
what was stored long ago, or elsewhere, is sent without what they are about.
"""

import binascii
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

Complaints = list[tuple[str, str]]
"""Fields, and what is wrong with each."""

Shape = Callable[[object, str, Complaints], Any]
"""Takes a value, its field and the complaints so far; returns what can be used of it, ``None`` for nothing."""

DEEPEST_JSON = 100
_LARGEST_NUMBER = 10**308
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def text(value: object, field: str, complaints: Complaints) -> str | None:
    """Any text."""
    if isinstance(value, str):
        return value
    complaints.append((field, "must be a string"))
    return None


def visible_text(value: object, field: str, complaints: Complaints) -> str | None:
    """Text; what is blank is no mistake, but it is not used."""
    known = text(value, field, complaints)
    return known if known and not known.isspace() else None


def text_like(pattern: str, described: str) -> Shape:
    """Text that is wholly of a pattern."""
    expression = re.compile(pattern)

    def shape(value: object, field: str, complaints: Complaints) -> str | None:
        if isinstance(value, str) and expression.fullmatch(value):
            return value
        complaints.append((field, f"must be {described}"))
        return None

    return shape


def one_of(*words: str) -> Shape:
    """One of these words."""
    return text_like("|".join(map(re.escape, words)), f"one of {', '.join(words)}")


def truth(value: object, field: str, complaints: Complaints) -> bool | None:
    """``true`` or ``false``."""
    if isinstance(value, bool):
        return value
    complaints.append((field, "must be true or false"))
    return None


def base64(value: object, field: str, complaints: Complaints) -> str | None:
    """Base64 text of one byte or more."""
    problem = "must be base64 text that is not empty"
    try:
        if isinstance(value, str) and binascii.a2b_base64(value, strict_mode=True):
            return value
    except ValueError as error:
        problem = f"is not base64: {error}"
    complaints.append((field, problem))
    return None


def json_object(value: object, field: str, complaints: Complaints) -> Mapping[str, Any] | None:
    """A JSON object."""
    if isinstance(value, dict) and is_json(value):
        return value
    complaints.append((field, "must be an object"))
    return None


def json_value(value: object, field: str, complaints: Complaints) -> Any:
    """Any JSON."""
    if is_json(value):
        return value
    complaints.append((field, "must be JSON"))
    return None


def list_of(shape: Shape) -> Shape:
    """A list, of which the usable members are used."""

    def of_list(value: object, field: str, complaints: Complaints) -> list[Any] | None:
        if not isinstance(value, list):
            complaints.append((field, "must be a list"))
            return None
        taken = (shape(member, f"{field}[{place}]", complaints) for place, member in enumerate(value))
        return [member for member in taken if member is not None]

    return of_list


def object_of(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object: nothing of it is used if a required member cannot be, and members it does not know never are."""
    may_have = optional or {}

    def shape(value: object, field: str, complaints: Complaints) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            complaints.append((field, "must be an object"))
            return None
        taken = {name: of(value.get(name), f"{field}.{name}", complaints) for name, of in required.items()}
        is_usable = None not in taken.values()
        for name, of in may_have.items():
            if value.get(name) is not None:
                taken[name] = of(value[name], f"{field}.{name}", complaints)
        return {name: member for name, member in taken.items() if member is not None} if is_usable else None

    return shape


def kind_of(kinds: Mapping[str, Shape], *, misplaced: Collection[str] = (), is_open: bool = False) -> Shape:
    """An object of which one member tells the kind, and is all that is used.

    ``is_open``: it may be of a kind that is not known, which is no mistake and not used, unless it is ``misplaced``.
    """

    def shape(value: object, field: str, complaints: Complaints) -> dict[str, Any] | None:
        if not isinstance(value, dict) or not value:
            complaints.append((field, "must be an object with a member that tells its kind"))
            return None
        known = [name for name in value if name in kinds]
        complaints.extend((f"{field}.{name}", "cannot stand here") for name in value if name in misplaced)
        if len(known) > 1:
            complaints.append((field, f"holds {known[0]} and {known[1]}: one kind a block"))
            known = [name for name in known if value[name] is not None]  # AppSync writes the others as nulls
        elif not known and not is_open:
            complaints.append((field, f"must hold one of {', '.join(kinds)}"))
        if len(known) != 1:
            return None
        taken = kinds[known[0]](value[known[0]], f"{field}.{known[0]}", complaints)
        return None if taken is None else {known[0]: taken}

    return shape


def is_json(value: object) -> bool:
    """Whether every JSON parser reads a value as it is. What Python reads goes further: NaN, numbers without bounds,
    halves of surrogate pairs.

    Walks without recursion, since the depth is the sender's choice.
    """
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        member, depth = pending.pop()
        if depth > DEEPEST_JSON:
            return False
        if isinstance(member, dict):
            pending.extend((part, depth + 1) for pair in member.items() for part in pair)
        elif isinstance(member, list):
            pending.extend((part, depth + 1) for part in member)
        elif not _is_scalar(member):
            return False
    return True


def repaired(text: str) -> str:
    """The text with halves that belong together as one character, and U+FFFD for every other half."""
    if not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return _LONE_SURROGATE.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) <= _LARGEST_NUMBER)
