"""What a read of DynamoDB consumes, by the rules that AWS documents.

The engine says what writes consume, by the same rules, but takes every read for the smallest there is.

- An item's size is that of its attributes' names and values in UTF-8; a list or a map adds 3 bytes, and 1 for each
  element; a number takes about a byte for two digits, and one more.
- A read unit is 4 KB of a consistent read or 8 KB of another. A Query rounds the sum of the items that it went over, a
  GetItem and a BatchGetItem round each item; what is not there costs as much as the smallest. Nothing is cheaper for
  a projection: the item's whole size counts.
"""

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

READS = frozenset({"BatchGetItem", "GetItem", "Query"})
_READ_UNIT_BYTES = 4096
Item = Mapping[str, Mapping[str, Any]]
ByTable = tuple[tuple[str, str], float]  # (table, index or ""), units


def item_bytes(item: Item) -> int:
    """The size of an item in DynamoDB's JSON."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def read_units(operation: str, request: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[ByTable]:
    """The units of a read by table and index. ``whole`` is its answer with all attributes of every item."""
    if operation == "BatchGetItem":
        for table, asked in request["RequestItems"].items():
            found = [item_bytes(item) for item in whole["Responses"].get(table, ())]
            missing = [0] * (len(asked["Keys"]) - len(found))
            yield (table, ""), sum(_units([size], asked) for size in (*found, *missing))
    else:
        items = whole["Items"] if operation == "Query" else [whole.get("Item", {})]
        yield (request["TableName"], request.get("IndexName", "")), _units(map(item_bytes, items), request)


def _units(sizes: Iterable[int], asked: Mapping[str, Any]) -> float:
    return max(1, math.ceil(sum(sizes) / _READ_UNIT_BYTES)) * (1 if asked.get("ConsistentRead") else 0.5)


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, given),) = value.items()
    if kind in ("SS", "NS", "BS"):
        return sum(_value_bytes({kind[0]: element}) for element in given)
    return _SIZES[kind](given)


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": lambda text: len(text.encode()),
    "N": lambda digits: math.ceil(len(digits.strip("-").replace(".", "").strip("0")) / 2) + 1,
    "B": lambda encoded: len(base64.b64decode(encoded)),
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "L": lambda elements: 3 + sum(1 + _value_bytes(element) for element in elements),
    "M": lambda members: 3 + sum(1 + len(name.encode()) + _value_bytes(value) for name, value in members.items()),
}
