"""Arranging a history for the model: pure, and valid for Bedrock's Converse API whatever was stored.

Who says what is told here, and how much of it is sent; what Converse accepts of that, in ``conversations.entries``. Of
each block it is sent what it knows (``conversations.converse``): all that follows sees those parts alone.
"""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from conversations import tokens
from conversations.content import GUARDED, MEDIA_KINDS, REASONING, TOOL_RESULT, TOOL_USE, is_blank, is_blank_text
from conversations.converse import sendable
from conversations.entries import Entry, Side, valid
from conversations.errors import CurrentMessageNotFoundError, EmptyMessageError
from conversations.model import ASKING_ROLES, Block, Message, Prompt, ToolCall

_NOT_OF = {
    "user": frozenset((TOOL_USE, REASONING)),
    "assistant": frozenset((TOOL_RESULT, GUARDED, *MEDIA_KINDS)),
}


@dataclass(frozen=True, slots=True)
class Window:
    """How much of a history is sent: at most so many messages and tokens, but always the whole turn in progress."""

    max_messages: int | None = None
    max_tokens: int | None = None


WHOLE = Window()


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
    end = next((place for place, message in enumerate(ordered) if message.id == current_id), None)
    if end is None or ordered[end].role not in ASKING_ROLES:
        raise CurrentMessageNotFoundError("There is no such message to be answered in this conversation.")
    entries = valid(_paired(ordered, end), recalled)
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


def _paired(messages: Sequence[Message], end: int) -> list[Entry]:
    """Questions in the order of the chain up to the current one, which stands at ``end``, each with its answer right
    behind it.
    """
    current = messages[end]
    answers = {m.associated_user_message_id: m for m in messages if m.role == "assistant" and not is_blank(m.content)}
    answered = _answered(messages, {*answers, current.id})
    said: list[Entry] = []
    for message in messages[:end]:
        if message.role in ASKING_ROLES:
            if message.id in answered:
                said.append(Entry("user", _spoken(message), message.position))
                if answer := answers.get(message.id):
                    said += _told(answer)
        elif message.role == "assistant" and message.associated_user_message_id is None:
            said.append(Entry("assistant", _sent(message.content, "assistant"), message.position))
    if not can_be_answered(current):
        raise EmptyMessageError("The current message holds nothing that can be sent to a model.")
    return [*said, Entry("user", _spoken(current), current.position)]


def _told(answer: Message) -> list[Entry]:
    """An answer as the model gave it: what it said before each round of tools that were called, what they came to, and
    what it said at the end.
    """
    if not answer.tool_calls:
        return [Entry("assistant", _sent(answer.content, "assistant"))]
    told: list[Entry] = []
    begun = 0
    for _, of_round in groupby(answer.tool_calls, key=itemgetter("round")):
        calls = list(of_round)
        end = calls[0]["contentIndex"]
        said = [*answer.content[begun:end], *map(_use_of, calls)]
        told.append(Entry("assistant", _sent(said, "assistant"), messages=0))
        told.append(Entry("user", _sent(map(_result_of, calls), "user"), messages=0))
        begun = end
    told[0].messages = 1
    return [*told, Entry("assistant", _sent(answer.content[begun:], "assistant"), messages=0)]


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
    if context is None or context in ("", {}, []) or (isinstance(context, str) and context.isspace()):
        return blocks
    text = context if isinstance(context, str) else json.dumps(context, ensure_ascii=False, separators=(",", ":"))
    return [*blocks, {"text": text}]


def _sent(blocks: Iterable[Block], side: Side) -> list[Block]:
    """What Converse takes of the blocks on that side (``ContentBlock``, ``Message``)."""
    others = _NOT_OF[side]
    kept: list[Block] = []
    for block in blocks:
        sent = sendable(block)
        if sent is not None and others.isdisjoint(sent):
            kept.append(sent)
    return kept


# How much of it


def _within(entries: Sequence[Entry], window: Window, *, spent: int) -> list[Entry]:
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
