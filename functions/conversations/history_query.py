"""Which history is asked for, and what that comes to once the turn in progress has been read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conversations import tokens
from conversations.arrange import WHOLE, Window
from conversations.content import TOOL_RESULT
from conversations.model import Message
from conversations.turn_options import TurnOptions, read_options
from conversations.windows import Learned, Limits, learned_from, window_for

DEFAULT_LIST_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Which history: up to and with which message (``None``: the newest that can be answered), and how much of it.

    ``list_limit`` bounds the messages read, the window those sent: what it leaves open follows the message and then
    ``limits``. ``most`` bounds the estimate in the place of what was found too much. ``tools`` are the specifications
    of those that do not come with messages; they take room. ``recall``: how many interactions from outside the window
    are looked for, if not what the message says.
    """

    current_message_id: str | None = None
    list_limit: int = DEFAULT_LIST_LIMIT
    window: Window = WHOLE
    system_prompt: str = ""
    limits: Limits = field(default_factory=Limits)
    most: int | None = None
    recall: int = 0
    tools: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent beside the messages, and how many of them. ``spent`` are the estimated tokens of the tools."""

    options: TurnOptions
    tool_configuration: Mapping[str, Any] | None
    learned: Learned
    window: Window
    spent: int
    recall: int
    question: Message


def plan_of(query: HistoryQuery, turn: Sequence[Message], before: Iterable[Message]) -> Plan:
    """``turn`` are the messages of the turn in progress, ``before`` those before the current one, newest first."""
    options = read_options(next((message.options for message in turn if message.options is not None), None))
    tool_configuration = _tool_configuration(turn)
    learned = learned_from(before, query.limits.model_id)
    asked = Window(
        query.window.max_messages or options.window.max_messages,
        query.window.max_tokens or options.window.max_tokens,
    )
    bound = Learned(learned.ratio, query.most or learned.most)
    given = [tool.get("toolSpec") for tool in (tool_configuration or {}).get("tools", ())]
    spent = sum(map(tokens.of_json, (*query.tools, *given)))
    recall = query.recall or options.recall
    window = window_for(asked, query.limits, bound)
    return Plan(options, tool_configuration, learned, window, spent, recall, turn[-1])


def _tool_configuration(collected: Sequence[Message]) -> Mapping[str, Any] | None:
    """The tools given with the current message, or else those given before in the same turn."""
    for message in collected:
        if message.tool_configuration is not None:
            return message.tool_configuration
        if begins_turn(message):
            return None
    return None


def begins_turn(message: Message) -> bool:
    return message.role == "user" and not any(TOOL_RESULT in block for block in message.content)
