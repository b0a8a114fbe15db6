"""Items of the tables to values of the domain and back: the only place that knows both.

A message's item has few attributes, since reading costs by the attribute: what every message has as eight words, a text
that is alone as it is, and all the rest in one JSON document, since JSON keeps numbers, nulls and emoji as they were.
Texts and documents are compressed where that saves a write unit, and above 32 KB the bulky part stands in an object of
its own (``large``), which costs a hundredth of the write units.
"""

from conversations.codec.bulk import LARGEST_BODY_BYTES
from conversations.codec.conversations import (
    ACTIVITY_ATTRIBUTES,
    SHORT_ABOUT_BYTES,
    about_from_json,
    about_item,
    about_of_item,
    about_to_json,
    activity_from_item,
    conversation_from_item,
    conversation_to_item,
    empty_about_item,
)
from conversations.codec.messages import (
    bulk_of,
    message_from_item,
    message_to_item,
    receipt_from_item,
    receipt_item,
    with_bulk,
)
from conversations.codec.outcomes import OUTCOME_KEPT_S, outcome_from_item, outcome_to_item
from conversations.codec.packing import WRITE_UNIT_BYTES, Item, size_of, to_json
from conversations.codec.tombstones import is_tombstone
from conversations.codec.traces import bulk_of_trace, trace_from_item, trace_keys_of, trace_to_item, trace_with_bulk
from conversations.codec.turns import LARGEST_PARTIAL_BYTES, TURN_KEPT_S, turn_from_item, turn_to_item

__all__ = [
    "ACTIVITY_ATTRIBUTES",
    "LARGEST_BODY_BYTES",
    "LARGEST_PARTIAL_BYTES",
    "OUTCOME_KEPT_S",
    "SHORT_ABOUT_BYTES",
    "TURN_KEPT_S",
    "WRITE_UNIT_BYTES",
    "Item",
    "about_from_json",
    "about_item",
    "about_of_item",
    "about_to_json",
    "activity_from_item",
    "bulk_of",
    "bulk_of_trace",
    "conversation_from_item",
    "conversation_to_item",
    "empty_about_item",
    "is_tombstone",
    "message_from_item",
    "message_to_item",
    "outcome_from_item",
    "outcome_to_item",
    "receipt_from_item",
    "receipt_item",
    "size_of",
    "to_json",
    "trace_from_item",
    "trace_keys_of",
    "trace_to_item",
    "trace_with_bulk",
    "turn_from_item",
    "turn_to_item",
    "with_bulk",
]
