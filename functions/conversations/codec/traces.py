"""Items of traces. They lack the keys of the index of messages and carry those of an index of their own."""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conversations import ids, schema
from conversations.codec.bulk import bulk_of_document, document_of_bulk
from conversations.codec.packing import Item, packed, to_json, unpacked
from conversations.model import Trace

_LOWEST = -(2**31)
_TRACE_KEY = re.compile(r"(?P<parent>.*)#(?P<number>\d{1,10})#\d{1,10}", re.ASCII)

# Attribute of Trace -> member of the document. What is bulky moves to an object of its own together.
_BULKY = {
    "input": "input",
    "response": "response",
    "prompt_template": "promptTemplate",
    "origin": "origin",
    "additional_info": "additionalInfo",
}
_SMALL = {
    "parent_id": "parent",
    "number": "number",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "nonce": "nonce",
    "change_id": "changeId",
    "large_key": "large",
}
_MEMBERS = {member: attribute for attribute, member in (_SMALL | _BULKY).items()}


def trace_key(parent_id: str, number: int, ordinal: int) -> str:
    """The sort key in the index: text order is the order of the numbers (32 bits, with a sign), then of writing."""
    return f"{trace_keys_of(parent_id)}{number - _LOWEST:010d}#{ordinal:010d}"


def trace_keys_of(parent_id: str) -> str:
    """What the sort keys of all traces of a message begin with."""
    return f"{parent_id}#"


def trace_to_item(trace: Trace) -> Item:
    """The item of a trace; what is in an object of its own is left out."""
    document = _members(trace, _SMALL)
    if trace.large_key is None:
        document |= _members(trace, _BULKY)
    item: Item = {
        schema.ID: {"S": trace.id},
        schema.TRACE_CONVERSATION_ID: {"S": trace.chain_id},
        schema.TRACE_KEY: {"S": trace_key(trace.parent_id, trace.number, trace.ordinal)},
        schema.REV: {"N": str(trace.version)},
    }
    return packed(schema.BODY, to_json(document), beside=item)


def trace_from_item(item: Item) -> Trace | None:
    """The trace in an item, or ``None`` if the item is something else.

    One that cannot be read keeps its place, which its key tells, and is not ``readable``.
    """
    ordinal = ids.trace_ordinal(item[schema.ID]["S"])
    key = _TRACE_KEY.fullmatch(item[schema.TRACE_KEY]["S"]) if schema.TRACE_KEY in item else None
    if ordinal is None or key is None:
        return None
    place: dict[str, Any] = {
        "id": item[schema.ID]["S"],
        "chain_id": item[schema.TRACE_CONVERSATION_ID]["S"],
        "ordinal": ordinal,
        "parent_id": key["parent"],
        "number": int(key["number"]) + _LOWEST,
        "version": int(item[schema.REV]["N"]) if schema.REV in item else 1,
    }
    try:
        document = dict(json.loads(unpacked(item[schema.BODY])))
        return Trace(**{_MEMBERS[member]: value for member, value in document.items() if member in _MEMBERS} | place)
    except (KeyError, ValueError, TypeError, zlib.error):
        return Trace(**place, created_at="", readable=False)


def bulk_of_trace(trace: Trace) -> bytes | None:
    """What of a trace must stand in an object of its own, compressed; ``None`` when it fits into an item."""
    return bulk_of_document(_members(trace, _BULKY))


def trace_with_bulk(trace: Trace, bulk: bytes) -> Trace:
    """The trace with what its object holds.

    Raises:
        ValueError, KeyError, zlib.error: the object is none that ``bulk_of_trace`` made.
    """
    return replace(trace, **{_MEMBERS[member]: value for member, value in document_of_bulk(bulk).items()})


def _members(trace: Trace, names: Mapping[str, str]) -> dict[str, Any]:
    found = ((member, getattr(trace, attribute)) for attribute, member in names.items())
    return {member: value for member, value in found if value not in (None, {})}
