"""What the auditor keeps of an item or an object while it sorts them by conversation: ids, places and times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "head", "tombstone", "about", "session", "recent", "message", "turn", "receipt", "trace", "object", "flaw"
]
Table = Literal["messages", "conversations", "objects"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is stored. ``conversation`` is the id of the conversation it belongs to, or its own if to none.

    A ``flaw`` is a thing that is wrong by itself, whatever else there is: it has ``rule`` and ``detail``.
    """

    conversation: str
    kind: Kind
    id: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken invariant, or (``is_broken`` false) something that is merely late, and worth a look.

    ``item`` is the id of the item, or the key of the object, that shows it.
    """

    rule: str
    conversation: str
    item: str
    detail: str
    is_broken: bool = True

    def __str__(self) -> str:
        return f"{'broken ' if self.is_broken else 'warning'}  {self.rule:24}  {self.item}  {self.detail}"
