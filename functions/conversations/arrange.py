"""Arranging a history for the model: pure, and valid for Bedrock's Converse API whatever was stored.

Converse wants a list that starts with the user, alternates, and ends with the message to be answered; every tool result
in it must follow its tool use, and every tool use must be followed by its result. Of each block it is sent what it
knows (``conversations.converse``): all that follows sees those parts alone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from conversations import attachments, tokens
from conversations.content import GUARDED, MEDIA_KINDS, REASONING, TEXT, TOOL_RESULT, TOOL_USE, is_blank, is_blank_text
from conversations.converse import sendable
from conversations.errors import CurrentMessageNotFoundError, EmptyMessageError, OrphanToolResultError
from conversations.model import ASKING_ROLES, Block, Message, Prompt, ToolCall

Side = Literal["user", "assistant"]
_NOT_OF = {
    "user": frozenset((TOOL_USE, REASONING)),
    "assistant": frozenset((TOOL_RESULT, GUARDED, *MEDIA_KINDS)),
}
_IN_TURN_ONLY = frozenset((TOOL_USE, TOOL_RESULT, REASONING))


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a history is sent: at most so many messages and tokens, but always the whole turn in progress."""

    max_messages: int | None = None
    max_tokens: int | None = None


WHOLE = Window()


@dataclass(slots=True)
class _Entry:
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


def arrange(
    messages: Iterable[Message],
    current_id: str,
    *,
    system_prompt: str = "",
    system_messages: Sequence[Message] = (),
    window: Window = WHOLE,
    spent: int = 0,
    more_before: bool = False,
    recalled: Block | None = None,
) -> Prompt:
    """The history as the model is sent it.

    ``messages`` are those of the chain in their order, none missing between the first and the current one; answers to
    them may follow the current one. ``system_messages`` come from before them. ``more_before`` says that the chain has
    more. ``spent`` are tokens that count beside all that is arranged here. ``recalled`` is put in front of what the
    turn in progress begins with.

    Raises:
        CurrentMessageNotFoundError: the current message is not among them, or is none that can be answered.
        OrphanToolResultError: it holds a tool result whose tool use is nowhere.
        EmptyMessageError: nothing of it can be sent.
    """
    ordered = list(messages)
    end = next((place for place in reversed(range(len(ordered))) if ordered[place].id == current_id), None)
    if end is None or ordered[end].role not in ASKING_ROLES:
        raise CurrentMessageNotFoundError("There is no such message to be answered in this conversation.")
    entries = _valid(_paired(ordered, end), recalled)
    system = _system(system_prompt, [*system_messages, *(one for one in ordered[:end] if one.role == "system")])
    spent += tokens.of_blocks(system)
    kept = _within(entries, window, spent=spent)
    return Prompt(
        system=system,
        messages=[{"role": entry.side, "content": entry.blocks} for entry in kept],
        tokens=spent + sum(entry.tokens for entry in kept),
        truncated=more_before or len(kept) < len(entries),
        first_position=kept[0].position,
    )


def can_be_answered(message: Message) -> bool:
    """Whether the message asks, with something that can be sent. What stands in an object of its own has been read."""
    return message.role in ASKING_ROLES and bool(_sent(message.content, "user"))


def _system(prompt: str, messages: Iterable[Message]) -> list[Block]:
    blocks: list[Block] = [{"text": prompt}] if prompt.strip() else []
    texts = (block for message in messages for block in message.content if isinstance(block.get("text"), str))
    return blocks + [{"text": block["text"]} for block in texts if not is_blank_text(block)]


# Who says what, in which order


def _paired(messages: Sequence[Message], end: int) -> list[_Entry]:
    """Questions in the order of the chain up to the current one, which stands at ``end``, each with its answer right
    behind it.
    """
    current = messages[end]
    answers = {m.associated_user_message_id: m for m in messages if m.role == "assistant" and not is_blank(m.content)}
    answered = _answered(messages, {*answers, current.id})
    said: list[_Entry] = []
    for message in messages[:end]:
        if message.role in ASKING_ROLES:
            if message.id in answered:
                said.append(_Entry("user", _spoken(message), message.position))
                if answer := answers.get(message.id):
                    said += _told(answer)
        elif message.role == "assistant" and message.associated_user_message_id is None:
            said.append(_Entry("assistant", _sent(message.content, "assistant"), message.position))
    if not can_be_answered(current):
        raise EmptyMessageError("The current message holds nothing that can be sent to a model.")
    return [*said, _Entry("user", _spoken(current), current.position)]


def _told(answer: Message) -> list[_Entry]:
    """An answer as the model gave it: what it said before each round of tools that were called, what they came to, and
    what it said at the end.
    """
    if not answer.tool_calls:
        return [_Entry("assistant", _sent(answer.content, "assistant"))]
    told: list[_Entry] = []
    begun = 0
    for _, of_round in groupby(answer.tool_calls, key=itemgetter("round")):
        calls = list(of_round)
        end = calls[0]["contentIndex"]
        said = [*answer.content[begun:end], *map(_use_of, calls)]
        told.append(_Entry("assistant", _sent(said, "assistant"), messages=0))
        told.append(_Entry("user", _sent(map(_result_of, calls), "user"), messages=0))
        begun = end
    told[0].messages = 1
    return [*told, _Entry("assistant", _sent(answer.content[begun:], "assistant"), messages=0)]


def _use_of(call: ToolCall) -> Block:
    return {TOOL_USE: {member: call[member] for member in ("toolUseId", "name", "input")}}


def _result_of(call: ToolCall) -> Block:
    return {TOOL_RESULT: {member: call[member] for member in ("toolUseId", "status", "content")}}


def _answered(messages: Sequence[Message], answers: Set[str | None]) -> set[str]:
    """The ids of the questions that count. Results of several tools may be told one message each: they share the
    answer.
    """
    counted: set[str] = set()
    following: Message | None = None
    for message in reversed([m for m in messages if m.role != "system" and not m.associated_user_message_id]):
        if message.id in answers or _shares(message, following, counted):
            counted.add(message.id)
        following = message
    return counted


def _shares(message: Message, following: Message | None, counted: Set[str]) -> bool:
    return following is not None and following.id in counted and _is_results(message) and _is_results(following)


def _is_results(message: Message) -> bool:
    return message.role in ASKING_ROLES and bool(message.content) and all(TOOL_RESULT in b for b in message.content)


def _spoken(message: Message) -> list[Block]:
    """What a user says, followed once by what the application says of the situation (``aiContext``)."""
    blocks = _sent(message.content, "user")
    context = message.ai_context
    if context in (None, "", {}, []) or (isinstance(context, str) and not context.strip()):
        return blocks
    text = context if isinstance(context, str) else json.dumps(context, ensure_ascii=False, separators=(",", ":"))
    return [*blocks, {"text": text}]


# What Converse accepts


def _sent(blocks: Iterable[Block], side: Side) -> list[Block]:
    """What Converse takes of the blocks on that side (``ContentBlock``, ``Message``)."""
    others = _NOT_OF[side]
    kept: list[Block] = []
    for block in blocks:
        sent = sendable(block)
        if sent is not None and others.isdisjoint(sent):
            kept.append(sent)
    return kept


def _valid(said: Sequence[_Entry], recalled: Block | None) -> list[_Entry]:
    """A list that Converse accepts, of what was said; the last is the current message."""
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


def _with_matched_tools(said: Sequence[_Entry], boundary: int) -> list[_Entry]:
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


def _merged(entries: Iterable[_Entry]) -> list[_Entry]:
    merged: list[_Entry] = []
    for entry in entries:
        if not entry.blocks:
            continue
        if merged and merged[-1].side == entry.side:
            merged[-1].blocks = [*merged[-1].blocks, *entry.blocks]
            merged[-1].messages += entry.messages
        else:
            merged.append(entry)
    return merged


def _from_first_user(entries: Sequence[_Entry]) -> list[_Entry]:
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


def _matched(turn: Sequence[_Entry]) -> list[_Entry]:
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


def _tool_ids(entry: _Entry, kind: str) -> set[str]:
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


# How much of it


def _within(entries: Sequence[_Entry], window: Window, *, spent: int) -> list[_Entry]:
    """The longest end of the list that fits the window and begins a turn; the last turn is always whole."""
    begun, messages, size = 0, sum(entry.messages for entry in entries), spent + sum(entry.tokens for entry in entries)
    for place, entry in enumerate(entries):
        if entry.begins_turn:
            begun = place
            too_many = window.max_messages is not None and messages > window.max_messages
            too_large = window.max_tokens is not None and size > window.max_tokens
            if not (too_many or too_large):
                break
        messages -= entry.messages
        size -= entry.tokens
    return list(entries[begun:])
