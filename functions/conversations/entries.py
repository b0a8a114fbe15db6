"""What is said in the list for the model, entry by entry, and how that becomes a list that Converse accepts. Pure.

Converse wants a list that starts with the user, alternates, and ends with the message to be answered; every tool result
in it must follow its tool use, and every tool use must be followed by its result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from conversations import attachments, tokens
from conversations.content import REASONING, TEXT, TOOL_RESULT, TOOL_USE
from conversations.errors import OrphanToolResultError
from conversations.model import Block

Side = Literal["user", "assistant"]
_IN_TURN_ONLY = frozenset((TOOL_USE, TOOL_RESULT, REASONING))


@dataclass(slots=True)
class Entry:
    """What one side says in the list for the model. Several messages of one side in a row become one."""

    side: Side
    blocks: list[Block]
    position: int = 0  # of the first of them
    messages: int = 1
    tokens: int = field(init=False, default=0)

    @property
    def begins_turn(self) -> bool:
        """A turn begins with a user message that carries something, and no tool result."""
        return self.side == "user" and bool(self.blocks) and not any(TOOL_RESULT in block for block in self.blocks)


def valid(said: Sequence[Entry], recalled: Block | None) -> list[Entry]:
    """A list that Converse accepts, of what was said: the last is the message to be answered, and ``recalled`` comes
    before what the turn in progress begins with.

    Raises:
        OrphanToolResultError: the message to be answered holds a tool result whose tool use is nowhere.
    """
    boundary = next((place for place in reversed(range(len(said))) if said[place].begins_turn), 0)
    if recalled is not None and said[boundary].begins_turn:
        said[boundary].blocks = [recalled, *said[boundary].blocks]
    if {kind for entry in said for block in entry.blocks for kind in block} == {TEXT}:
        entries = _from_first_user(_merged(said))  # nearly always: all else is about the other kinds
    else:
        entries = _with_matched_tools(said, boundary)
        for entry, blocks in zip(entries, attachments.fitted([entry.blocks for entry in entries]), strict=True):
            entry.blocks = blocks
    for entry in entries:
        entry.tokens = tokens.of_blocks(entry.blocks)
    return entries


def _with_matched_tools(said: Sequence[Entry], boundary: int) -> list[Entry]:
    """The list in which tools are used only by the turn in progress, and every result there has its use."""
    results = _tool_ids(said[-1], TOOL_RESULT)
    for entry in said[:boundary]:
        entry.blocks = [block for block in entry.blocks if _IN_TURN_ONLY.isdisjoint(block)]
    turn = _matched(_merged(said[boundary:]))
    entries = _from_first_user(_merged([*said[:boundary], *turn]))
    orphans = results - (_tool_ids(entries[-1], TOOL_RESULT) if entries else set())
    if orphans:
        raise OrphanToolResultError(f"No tool use stands before the tool result {min(orphans)!r}.")
    return entries


def _merged(entries: Iterable[Entry]) -> list[Entry]:
    merged: list[Entry] = []
    for entry in entries:
        if not entry.blocks:
            continue
        if merged and merged[-1].side == entry.side:
            merged[-1].blocks = [*merged[-1].blocks, *entry.blocks]
            merged[-1].messages += entry.messages
        else:
            merged.append(entry)
    return merged


def _from_first_user(entries: Sequence[Entry]) -> list[Entry]:
    """The list from the first user message that is left once results of tools that are not in it are taken out."""
    left = list(entries)
    while left:
        first = left[0]
        if first.side == "user":
            first.blocks = _distinct_tools(first.blocks, TOOL_RESULT, ())
            if first.blocks:
                break
        del left[0]
    return left


def _matched(turn: Sequence[Entry]) -> list[Entry]:
    """The turn in progress with the tool uses that have a result in the next entry, and the results that have a use."""
    before: Mapping[str, Any] = {}
    for place, entry in enumerate(turn):
        if entry.side == "assistant":
            results = _tool_ids(turn[place + 1], TOOL_RESULT) if place + 1 < len(turn) else set()
            entry.blocks = _ending_in_words(_distinct_tools(entry.blocks, TOOL_USE, results))
            before = dict.fromkeys(_tool_ids(entry, TOOL_USE))
        else:
            entry.blocks = _results_first(_distinct_tools(entry.blocks, TOOL_RESULT, before))
            before = {}
    return list(turn)


def _tool_ids(entry: Entry, kind: str) -> set[str]:
    return {block[kind]["toolUseId"] for block in entry.blocks if kind in block}


def _distinct_tools(blocks: Iterable[Block], kind: str, wanted: Iterable[str]) -> list[Block]:
    """The blocks without those of this kind that are not wanted or come twice."""
    left = set(wanted)
    kept: list[Block] = []
    for block in blocks:
        if kind in block:
            tool_use_id = block[kind]["toolUseId"]
            if tool_use_id not in left:
                continue
            left.discard(tool_use_id)
        kept.append(block)
    return kept


def _ending_in_words(blocks: Sequence[Block]) -> list[Block]:
    """Models want no message that ends with reasoning, as one does whose tool use has no result."""
    end = len(blocks)
    while end and REASONING in blocks[end - 1]:
        end -= 1
    return list(blocks[:end])


def _results_first(blocks: Sequence[Block]) -> list[Block]:
    """Models want tool results before anything else that the user says in the same message."""
    return sorted(blocks, key=lambda block: TOOL_RESULT not in block)
