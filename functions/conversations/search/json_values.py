"""JSON as the package sees it, and the taking apart of a request's objects without a guess."""

import math
from collections.abc import Iterator
from typing import TypeAlias

from conversations.search.errors import QueryError, illegal_argument, parsing_error
from conversations.search.single_precision import single

__all__ = ["Json", "JsonObject", "Members", "leaves", "shown", "text_of"]

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject: TypeAlias = dict[str, Json]

_MAX_INT = 2**31 - 1
_MAX_DIGITS = 40


def leaves(value: Json) -> Iterator[Json]:
    """The values of a field: OpenSearch reads an array, however nested, as several values. Nulls are none."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(reversed(current))
        elif current is not None:
            yield current


def text_of(value: Json) -> str:
    """A scalar as OpenSearch turns it into a term."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def shown(value: Json) -> str:
    """A value as an error tells it: a scalar, shortened; of anything else its kind, as it may be nested too deep."""
    return _kind(value) if isinstance(value, list | dict) else str(value)[:100]


def _kind(value: Json) -> str:
    match value:
        case None:
            return "VALUE_NULL"
        case bool():
            return "VALUE_BOOLEAN"
        case int() | float():
            return "VALUE_NUMBER"
        case str():
            return "VALUE_STRING"
        case list():
            return "START_ARRAY"
        case _:
            return "START_OBJECT"


def _number(value: Json) -> float:
    if isinstance(value, str) and len(value) <= _MAX_DIGITS:
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)


class Members:
    """The members of one object of a request, taken one by one; `finish` refuses by name what nobody took."""

    def __init__(self, owner: str, value: Json, *, unknown: str = "[{owner}] query does not support [{name}]") -> None:
        if not isinstance(value, dict):
            raise parsing_error(f"[{owner}] query malformed, no start_object after query name")
        self._owner, self._left, self._unknown = owner, dict(value), unknown

    def take(self, name: str, default: Json = None) -> Json:
        """A member as it is, or the default if it is absent."""
        return self._left.pop(name, default)

    def has(self, name: str) -> bool:
        """Whether a member is there and not yet taken."""
        return name in self._left

    def only(self) -> tuple[str, Json]:
        """The one remaining member of an object such as `{"field": {...}}`."""
        if len(self._left) != 1:
            names = "] and [".join(name[:100] for name in list(self._left)[:2])
            raise parsing_error(
                f"[{self._owner}] query doesn't support multiple fields, found [{names}]"
                if names
                else f"[{self._owner}] query requires a field"
            )
        return self._left.popitem()

    def text(self, name: str) -> str:
        """A required scalar, as text."""
        value = self._left.pop(name, None)
        if value is None or isinstance(value, list | dict):
            raise parsing_error(f"[{self._owner}] requires a value for [{name}], but found {_kind(value)}")
        return text_of(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean; the words count as well."""
        value = self._left.pop(name, default)
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise illegal_argument(f"[{self._owner}] failed to parse [{name}]: only [true] or [false] are allowed")

    def integer(self, name: str, default: int) -> int:
        """A number of 32 bits; a number as text counts as well."""
        value = self._left.pop(name, default)
        try:
            number = _number(value)
        except (ValueError, OverflowError):
            raise self._bad_number(name, value) from None
        if not abs(number) <= _MAX_INT or number != int(number):
            raise self._bad_number(name, value)
        return int(number)

    def single(self, name: str, default: float) -> float:
        """A finite number of single precision."""
        value = self._left.pop(name, default)
        try:
            number = single(_number(value))
        except (ValueError, OverflowError):
            raise self._bad_number(name, value) from None
        if not math.isfinite(number):
            raise self._bad_number(name, value)
        return number

    def boost(self) -> float:
        """The weight of a query, never negative."""
        boost = self.single("boost", 1.0)
        if boost < 0:
            raise illegal_argument(
                f"negative [boost] are not allowed in [{self._owner}], use a value between 0 and 1 to deboost"
            )
        return boost

    def choice(self, name: str, options: tuple[str, ...], default: str) -> str:
        """One of some words, in any case."""
        value = self._left.pop(name, default)
        if not isinstance(value, str) or value.lower() not in options:
            raise illegal_argument(f"[{self._owner}] does not know [{name}] [{shown(value)}], only {list(options)}")
        return value.lower()

    def finish(self) -> None:
        """Refuse what is left."""
        for name in self._left:
            raise parsing_error(self._unknown.format(owner=self._owner, name=name[:200], kind=_kind(self._left[name])))

    def _bad_number(self, name: str, value: Json) -> QueryError:
        return illegal_argument(f"[{self._owner}] failed to parse [{name}]: [{shown(value)}] is no number in range")
