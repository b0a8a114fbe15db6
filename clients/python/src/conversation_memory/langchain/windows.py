"""The newest messages that fit a window. Nothing is removed from what is stored.

A window begins with the conversation's own system messages, and holds tool calls and their results together: it has no
result without its call, and no call without all of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from conversation_memory import operations
from conversation_memory.langchain.reading import shown
from conversation_memory.steps import Steps
from conversation_memory.types import Message

TokenCounter = Callable[[list[BaseMessage]], int]
_FIRST_PAGE = 20
_LARGEST_PAGE = 1000
_SYSTEM_PAGE = 10


@dataclass(frozen=True)
class _Counted:
    message: BaseMessage
    tokens: int
    position: int


@dataclass(frozen=True)
class Window:
    """At most so many messages and tokens, without the system messages that stand at the beginning; their tokens count.

    ``count`` counts tokens; without it they are what the service estimates.
    """

    max_messages: int | None = None
    max_tokens: int | None = None
    count: TokenCounter | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is wanted."""
        return self.max_messages is not None and self.max_messages <= 0

    def read(self, conversation_id: str) -> Steps[list[BaseMessage]]:
        """The messages of the conversation that fit, oldest first."""
        newest: list[_Counted] = []  # newest first
        cursor: str | None = None
        while True:
            page = yield from operations.message_page(
                conversation_id, order="desc", limit=self._page_size(len(newest)), cursor=cursor
            )
            newest += [counted for row in page["messages"] for counted in reversed(self._counted(row))]
            cursor = page["nextCursor"]
            is_whole = cursor is None
            system = _leading_system(newest[::-1]) if is_whole else []
            rest = _paired(newest[::-1][len(system) :])
            if is_whole or self._overflows(rest):
                break
        if not is_whole:
            system = yield from self._system(conversation_id)
            rest = [counted for counted in rest if not system or counted.position > system[-1].position]
        return [counted.message for counted in [*system, *self._fitting(rest, system)]]

    def _page_size(self, read: int) -> int:
        wanted = self.max_messages + _FIRST_PAGE if self.max_messages is not None and not read else 0
        return min(_LARGEST_PAGE, max(wanted, _FIRST_PAGE, 2 * read))

    def _counted(self, row: Message) -> list[_Counted]:
        messages, position = shown(row), row["position"]
        if self.count is not None:
            return [_Counted(message, self.count([message]), position) for message in messages]
        return [_Counted(message, 0 if place else row["tokens"], position) for place, message in enumerate(messages)]

    def _overflows(self, counted: Sequence[_Counted]) -> bool:
        too_many = self.max_messages is not None and len(counted) > self.max_messages
        return too_many or (self.max_tokens is not None and _tokens(counted) > self.max_tokens)

    def _system(self, conversation_id: str) -> Steps[list[_Counted]]:
        """The system messages at the beginning of a conversation that is longer than the window."""
        page = yield from operations.message_page(conversation_id, limit=_SYSTEM_PAGE)
        return _leading_system([counted for row in page["messages"] for counted in self._counted(row)])

    def _fitting(self, rest: Sequence[_Counted], system: Sequence[_Counted]) -> list[_Counted]:
        begin = 0 if self.max_messages is None else max(0, len(rest) - self.max_messages)
        if self.max_tokens is not None:
            left = self.max_tokens - _tokens(system) - _tokens(rest[begin:])
            while begin < len(rest) and left < 0:
                left += rest[begin].tokens
                begin += 1
        return _paired(rest[begin:])


def _tokens(counted: Iterable[_Counted]) -> int:
    return sum(one.tokens for one in counted)


def _leading_system(counted: Sequence[_Counted]) -> list[_Counted]:
    end = 0
    while end < len(counted) and isinstance(counted[end].message, SystemMessage):
        end += 1
    return list(counted[:end])


def _paired(counted: Sequence[_Counted]) -> list[_Counted]:
    """Without calls that lack a result directly behind them, and without results that lack their call."""
    kept: list[_Counted] = []
    place = 0
    while place < len(counted):
        end = place + 1
        message = counted[place].message
        if isinstance(message, ToolMessage):
            place = end
            continue
        while end < len(counted) and isinstance(counted[end].message, ToolMessage):
            end += 1
        kept += _answered(counted[place], counted[place + 1 : end])
        place = end
    return kept


def _answered(said: _Counted, results: Sequence[_Counted]) -> list[_Counted]:
    """A message and the results behind it, as far as they belong together."""
    message = said.message
    if not isinstance(message, AIMessage):
        return [said]
    calls = {call["id"] for call in message.tool_calls}
    may = calls | {call["id"] for call in message.invalid_tool_calls}
    of_calls = [result for result in results if result.message.tool_call_id in may]
    answered = {result.message.tool_call_id for result in of_calls}
    return [said, *of_calls] if calls <= answered else []
