"""The parts of messages and traces that are too large for an item: where they are written, and how they are read in.

An object is never changed. A change in place writes a new one and then removes the old one, so whoever read the item
before finds its object gone, and reads the item again.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from conversations import codec, ids
from conversations.model import Draft, Message, Trace
from conversations.objects import Objects

Held = TypeVar("Held", Message, Trace)
Anew = Callable[[Sequence[str]], Mapping[str, Held]]
"""A consistent read of items by id."""


class Bulk:
    """Bulky parts in objects of a bucket."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def shelved(self, conversation_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts, the bulky part of each written if it is too large for an item."""
        bulks = [codec.bulk_of(draft) for draft in drafts]
        large = [(draft.local, bulk) for draft, bulk in zip(drafts, bulks, strict=True) if bulk]
        keys = iter(self._objects.put_all(conversation_id, large))
        return [
            replace(draft, large_key=next(keys)) if bulk else draft for draft, bulk in zip(drafts, bulks, strict=True)
        ]

    def shelved_anew(self, held: Held) -> Held:
        """The same for what has been changed: an object that it had before counts no longer."""
        bulk = codec.bulk_of(held) if isinstance(held, Message) else codec.bulk_of_trace(held)
        if bulk is None:
            return replace(held, large_key=None)
        chain, _, local = held.id.partition(".")
        return replace(held, large_key=self._objects.put(ids.conversation_of(chain), local, bulk))

    def loaded(self, items: Sequence[Held], anew: Anew[Held]) -> list[Held]:
        """The same with their bulky parts; what has got another object in the meantime is read as it is then."""
        wanted = [item.large_key for item in items if item.large_key and not _is_loaded(item)]
        if not wanted:
            return list(items)
        bulks = self._objects.get(wanted)
        moved = [item.id for item in items if item.large_key and not _is_loaded(item) and item.large_key not in bulks]
        if not moved:
            return [_with_bulk(item, bulks) for item in items]
        now = anew(moved)
        present = [now.get(item.id, item) for item in items]
        bulks |= self._objects.get([item.large_key for item in present if item.id in moved and item.large_key])
        return [_with_bulk(item, bulks) for item in present]

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects."""
        self._objects.delete(keys)


def _is_loaded(item: Message | Trace) -> bool:
    if isinstance(item, Message):
        return bool(item.content)
    return bool(item.input or item.response or item.prompt_template or item.origin or item.additional_info)


def _with_bulk(item: Held, bulks: Mapping[str, bytes]) -> Held:
    if item.large_key is None or _is_loaded(item):
        return item
    try:
        bulk = bulks[item.large_key]
        if isinstance(item, Message):
            return codec.with_bulk(item, bulk)
        return codec.trace_with_bulk(item, bulk)
    except (KeyError, ValueError, zlib.error):  # the object is gone or damaged, which is no reason to lose the page
        return replace(item, readable=False)
