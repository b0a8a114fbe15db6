"""The history of a turn: which messages are read for it, and what of it the model is sent.

The index is asked newest first. A current message that it has not got yet is read by id, consistently; so is whatever
else the chain says is missing. When the current message lies deeper than the first page, reading starts at its own
time, and answers that were written later are read by their ids.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conversations import ids, tokens
from conversations.arrange import Window, arrange, can_be_answered
from conversations.chain import Place, Walk, end_of, just_before, walk_back
from conversations.errors import CurrentMessageNotFoundError
from conversations.history_query import HistoryQuery, Plan, begins_turn, plan_of
from conversations.model import ASKING_ROLES, Block, Conversation, Message, Prompt
from conversations.recall import Recall, Recalled, as_block, chosen, question_of, room_for
from conversations.store import Store
from conversations.turn_options import TurnOptions
from conversations.windows import Learned

MOST_SYSTEM_MESSAGES = 50
"""How many of those outside the window are read, one after the other."""
_LEAST_PAGE, _PAGE, _LARGEST_PAGE = 20, 100, 500
_NOT_SENT = 4  # of what is read for a window: the answer to the current message, one that shows there is more, and such
_LOADED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class History:
    """What the model is sent, the tools and options of the turn in progress, and the reads that made up for the index.

    ``learned`` is what the tokens of the prompt were corrected by, ``recalled`` what it holds from outside the window.
    """

    prompt: Prompt
    current_message_id: str
    tool_configuration: Mapping[str, Any] | None
    repairs: int
    options: TurnOptions = field(default_factory=TurnOptions)
    learned: Learned = field(default_factory=Learned)
    recalled: Sequence[Recalled] = ()

    @property
    def estimated(self) -> int:
        """The tokens of the prompt without the correction."""
        return round(self.prompt.tokens / self.learned.ratio)


def read_history(store: Store, head: Conversation, query: HistoryQuery, recall: Recall | None = None) -> History:
    """The history of a conversation as the model is sent it. Without ``recall`` nothing is looked for.

    Raises:
        CurrentMessageNotFoundError: the message is not there, was cleared, or is none that can be answered.
        OrphanToolResultError, EmptyMessageError: no valid list for the model ends with it.
    """
    reader = _Reader(store, head, query)
    current, later = reader.find_current()
    collected, more = reader.collect(current)
    plan = reader.plan(collected)
    answers = later or reader.later_answers(collected)
    system_messages = reader.system_messages_before(collected[-1])

    def arranged(spent: int, recalled: Block | None = None) -> Prompt:
        return arrange(
            [*reversed(collected), *answers],
            current.id,
            system_prompt=query.system_prompt,
            system_messages=system_messages,
            window=plan.window,
            spent=plan.spent + spent,
            more_before=more,
            recalled=recalled,
        )

    prompt = arranged(0)
    recalled: Sequence[Recalled] = ()
    if recall is not None and plan.recall and prompt.truncated:
        prompt, recalled = _with_recalled(arranged, recall, store, head, plan, collected)
    corrected = replace(prompt, tokens=round(prompt.tokens * plan.learned.ratio))
    return History(corrected, current.id, plan.tool_configuration, reader.repairs, plan.options, plan.learned, recalled)


def _with_recalled(
    arranged: Callable[..., Prompt],
    recall: Recall,
    store: Store,
    head: Conversation,
    plan: Plan,
    collected: Sequence[Message],
) -> tuple[Prompt, list[Recalled]]:
    """The prompt whose window leaves room for what is recalled, and what that is."""
    room = room_for(plan.window.max_tokens)
    smaller = arranged(room)
    question = plan.question
    inside = {message.id for message in collected if message.position >= smaller.first_position}
    found = (
        recall.find(
            store,
            head,
            question_of(question),
            but_for=inside | {question.id},
            before=question.created_at,
            most=plan.recall,
        )
        if question_of(question).strip()
        else ()
    )
    recalled = chosen(found, plan.recall, room)
    if not recalled:
        return arranged(0), []
    block = as_block(recalled)
    left = room - tokens.of_blocks([block])
    with_them = arranged(left, block)
    return replace(with_them, tokens=with_them.tokens - left), recalled


@dataclass(slots=True)
class _Budget:
    """What of the query is used up while messages are collected, newest first. The window is known once the turn in
    progress has been read.
    """

    list_limit: int
    current_id: str
    read: int = 0
    tokens: int = 0
    sent: int = 0
    answered: set[str | None] = field(default_factory=set)
    has_turn: bool = False
    window: Window | None = None

    def is_used_up(self) -> bool:
        window = self.window
        return window is not None and (
            self.read >= self.list_limit
            or (window.max_messages is not None and self.sent > window.max_messages)
            or (window.max_tokens is not None and self.tokens > window.max_tokens)
        )

    def due(self) -> int:
        """About how many more messages there is room for, if they are as those before: what is read is paid for, and so
        is every call.
        """
        window = self.window
        if window is None:
            return _PAGE
        rooms = [self.list_limit - self.read, _LARGEST_PAGE]
        if window.max_messages is not None:
            rooms.append(window.max_messages - self.sent + 1)
        if window.max_tokens is not None and self.tokens:
            rooms.append((window.max_tokens - self.tokens) * self.read // self.tokens + 1)
        return max(_LEAST_PAGE, min(rooms))

    def take(self, message: Message) -> None:
        self.read += 1
        self.tokens += message.tokens
        if message.role == "assistant":
            self.answered.add(message.associated_user_message_id)
            self.sent += 1
        elif message.id in self.answered or message.id == self.current_id:
            self.sent += 1
            self.has_turn = self.has_turn or begins_turn(message)


class _Reader:
    """Reads the chain from its end, or from the current message, and counts what the index lacked."""

    def __init__(self, store: Store, head: Conversation, query: HistoryQuery) -> None:
        self._store = store
        self._head = head
        self._query = query
        self._first = self._walk(end_of(head), min(_first_page(query.window), query.list_limit))
        self._planned: Plan | None = None
        self.repairs = self._first.repairs

    def find_current(self) -> tuple[Message, list[Message]]:
        """The current message and, when it is in the first page, the answers that follow it (oldest first)."""
        wanted = self._query.current_message_id
        for place, message in enumerate(self._first.messages):
            if message.id == wanted or (wanted is None and self._can_be_answered(message)):
                later = [m for m in self._first.messages[:place] if m.associated_user_message_id]
                return message, self._store.load(later[::-1])
        found = self._newest_question() if wanted is None else self._by_id(wanted)
        if found is None:
            raise CurrentMessageNotFoundError("There is no such message to be answered in this conversation.")
        return found, []

    def collect(self, current: Message) -> tuple[list[Message], bool]:
        """The messages from the current one back, newest first, and whether the chain has more before them."""
        budget = _Budget(self._query.list_limit, current.id)
        collected: list[Message] = []
        for message in self._from(current, budget.due):
            if budget.window is None and budget.has_turn:
                budget.window = self.plan(collected).window
            if budget.is_used_up():
                return collected, True
            budget.take(message)
            collected.append(message)
        return collected, False

    def plan(self, collected: Sequence[Message]) -> Plan:
        """What the turn in progress, which has been collected, is answered with."""
        if self._planned is not None:
            return self._planned
        in_first = self._place_in_first(collected[0])
        before = collected if in_first is None else self._first.messages[in_first:]
        start = next((place for place, message in enumerate(collected) if begins_turn(message)), len(collected))
        plan = plan_of(self._query, collected[: start + 1], before)
        if in_first is not None and start < len(collected):  # what is collected from now on changes nothing
            self._planned = plan
        return plan

    def later_answers(self, collected: Sequence[Message]) -> list[Message]:
        """Answers to collected questions that stand after the current message, which were not read on the way to it."""
        if self._place_in_first(collected[0]) is not None:
            return []
        answered = {message.associated_user_message_id for message in collected}
        open_ids = [m.id for m in collected[1:] if m.role in ASKING_ROLES and m.id not in answered]
        found = self._store.messages(map(ids.response_id, open_ids)) if open_ids else {}
        return self._store.load(sorted(found.values(), key=lambda message: message.position))

    def system_messages_before(self, oldest: Message) -> list[Message]:
        """The conversation's last system messages before the oldest one read, which each name the one before."""
        found: list[Message] = []
        wanted = oldest.system_message_id
        while (
            wanted is not None
            and len(found) < MOST_SYSTEM_MESSAGES
            and (message := self._store.message(wanted)) is not None
        ):
            found.append(message)
            wanted = message.system_message_id
        return self._store.load(found[::-1])

    def _newest_question(self) -> Message | None:
        """The newest message that can be answered, when it lies deeper than the first page."""
        if not self._first.messages:
            return None
        deeper = self._after(self._first, self._first.messages[-1])
        return next(filter(can_be_answered, deeper), None)

    def _can_be_answered(self, message: Message) -> bool:
        return message.role in ASKING_ROLES and can_be_answered(self._store.load([message])[0])

    def _by_id(self, message_id: str) -> Message | None:
        if not ids.belongs_to(message_id, self._head.chain_id):
            return None
        return self._store.message(message_id)

    def _place_in_first(self, wanted: Message) -> int | None:
        return next((place for place, message in enumerate(self._first.messages) if message.id == wanted.id), None)

    def _from(self, current: Message, due: Callable[[], int]) -> Iterator[Message]:
        in_first = self._place_in_first(current)
        if in_first is None:
            walk = self._walk(Place(current.id, current.created_at, current.position), _PAGE)
            self.repairs += walk.repairs
            unread = walk.messages
        else:
            walk = self._first
            unread = walk.messages[in_first:]
        yield from self._loaded(unread)
        yield from self._after(walk, unread[-1], due)

    def _after(self, walk: Walk, last: Message, due: Callable[[], int] = lambda: _PAGE) -> Iterator[Message]:
        """What stands before the last message of a walk, page by page; about ``due`` will be taken."""
        while walk.following is not None:
            walk = self._walk(Place(walk.following, just_before(last.created_at), last.position - 1), due())
            self.repairs += walk.repairs
            if not walk.messages:
                return
            yield from self._loaded(walk.messages)
            last = walk.messages[-1]

    def _walk(self, start: Place, limit: int) -> Walk:
        return walk_back(self._store, self._head, start, limit)

    def _loaded(self, messages: Sequence[Message]) -> Iterator[Message]:
        """The messages with what stands in objects, which is read a few at a time: a window may end before the rest."""
        if not any(message.large_key for message in messages):
            yield from messages
            return
        for first in range(0, len(messages), _LOADED_AT_ONCE):
            yield from self._store.load(messages[first : first + _LOADED_AT_ONCE])


def _first_page(window: Window) -> int:
    """How much is read before it is known whether it is enough: of a window a little more than it asks for."""
    return _PAGE if window.max_messages is None else min(_PAGE, max(_LEAST_PAGE, window.max_messages + _NOT_SENT))
