"""Changing an interaction or a trace in place: one transaction of what is changed and the conversation's head.

Each change raises the ``rev`` that was read, and leaves an id of its own, by which a try whose answer was lost is
recognized. The head counts it and notes its place, since an index may show for a while what was there before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from conversations import ids, tokens
from conversations.appending import moved, placed
from conversations.clock import NANOSECONDS, Clock, to_timestamp
from conversations.content import TEXT, visible
from conversations.errors import (
    AlreadyStoredError,
    BusyError,
    InvalidRequestError,
    LostPinError,
    UnprocessableError,
)
from conversations.interactions import Interaction, loaded, read_one
from conversations.merging import merged
from conversations.model import Block, Conversation, Draft, Message, Trace
from conversations.retrying import until_written
from conversations.sizes import check_size
from conversations.store import Store

Held = TypeVar("Held", Message, Trace)


@dataclass(frozen=True, slots=True)
class InteractionChange:
    """What is to change: ``additional_info`` is merged into what is there, ``response`` replaces it; ``None``: neither.

    Even a change of nothing counts as one.
    """

    additional_info: Mapping[str, Any] | None = None
    response: str | None = None


def change_interaction(
    store: Store, clock: Clock, *, owner: str | None, message_id: str, change: InteractionChange
) -> Interaction | Trace:
    """The interaction or trace after the change. A response that was not there yet is added to the end of the chain.

    Raises:
        NotFoundError: the conversation is not there for this owner; ``ForeignError`` if it is somebody else's, and
            ``MessageNotFoundError`` if there is no such message in it.
        InvalidRequestError: a system message is given a response.
        TooLargeError: it would be larger than an answer may be.
        UnprocessableError: what is stored cannot be read.
        BusyError: too many write the same conversation.
    """
    return _Changing(store, clock, owner, message_id, change).go()


class _Changing:
    """One request, which may be tried several times, and the objects that its tries wrote and replaced."""

    def __init__(
        self, store: Store, clock: Clock, owner: str | None, message_id: str, change: InteractionChange
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._message_id = message_id
        self._change = change
        self._id = ids.new_local()
        self._shelved: dict[tuple[str, int], str | None] = {}  # what a try wrote, by id and rev
        self._replaced: set[str] = set()
        self._answer: Draft | None = None

    def go(self) -> Interaction | Trace:
        try:
            result = until_written(self._once, self._clock)
        except BusyError:
            raise  # it may have been written after all, and then the objects are the messages'
        except Exception:
            self._store.remove_objects(sorted(self._written()))
            raise
        parts = [result] if isinstance(result, Trace) else _messages_of(result)
        self._store.remove_objects(sorted((self._written() | self._replaced) - {part.large_key for part in parts}))
        return result

    def _written(self) -> set[str]:
        keys = {*self._shelved.values(), self._answer.large_key if self._answer else None}
        return {key for key in keys if key is not None}

    def _once(self) -> Interaction | Trace:
        head, found = read_one(self._store, self._clock, self._owner, self._message_id)
        if isinstance(found, Trace):
            [trace] = self._store.load_traces([found])
            return trace if trace.change_id == self._id else self._change_trace(head, trace)
        [interaction] = loaded(self._store, [found])
        for part in _messages_of(interaction):
            _check_readable(part.position > 0)  # else it would be written over with nothing
        is_done = interaction.leading.change_id == self._id
        return interaction if is_done else self._change_interaction(head, interaction)

    def _change_trace(self, head: Conversation, trace: Trace) -> Trace:
        _check_readable(trace.readable)
        changed = replace(
            trace,
            additional_info=merged(trace.additional_info, self._change.additional_info or {}),
            response=trace.response if self._change.response is None else visible(self._change.response),
            version=trace.version + 1,
            updated_at=max(self._now(), trace.updated_at),
            change_id=self._id,
        )
        check_size(changed.input, changed.response, changed.prompt_template, changed.additional_info)
        changed = self._with_object(changed, trace.version, self._store.shelve_trace)
        self._store.change_trace(head, self._noted(head, [-trace.ordinal]), changed)
        return changed

    def _change_interaction(self, head: Conversation, before: Interaction) -> Interaction:
        leading, answer, response = self._changed_leading(before.leading), before.answer, self._change.response
        if response is None or before.leading.role == "assistant":
            self._write(head, leading, before)
        elif before.leading.role == "system":
            raise InvalidRequestError("A system message has no response.", field="response")
        elif answer is not None:
            answer = self._with_text(answer, response)
            self._write(head, leading, before, answer)
        elif visible(response) is not None:
            answer = self._new_answer(head, leading, response)
            self._write(head, leading, before, added=answer)
        else:
            self._write(head, leading, before)
        return Interaction(leading, answer)

    def _changed_leading(self, leading: Message) -> Message:
        info, response = self._change.additional_info, self._change.response
        changed = self._touched(leading)
        if info is not None:
            changed = replace(changed, metadata=merged(leading.metadata or {}, info))
        if response is not None and leading.role == "assistant":
            changed = _saying(changed, response)
        if changed.metadata == leading.metadata and changed.content == leading.content:
            return changed  # an object that it has stays its own
        _check_readable(leading.readable)
        return self._with_object(changed, leading.rev, self._store.shelve_message)

    def _with_text(self, answer: Message, response: str) -> Message:
        _check_readable(answer.readable)
        changed = _saying(self._touched(answer), response)
        return self._with_object(changed, answer.rev, self._store.shelve_message)

    def _new_answer(self, head: Conversation, leading: Message, response: str) -> Message:
        if self._answer is None:
            draft = Draft("response", "assistant", [{TEXT: response}], associated_user_message_id=leading.id)
            [self._answer] = self._store.shelve(head.id, [draft])
        [answer] = placed(head, [self._answer], self._clock.now_ns(), None)
        return answer

    def _write(
        self,
        head: Conversation,
        leading: Message,
        before: Interaction,
        changed_answer: Message | None = None,
        *,
        added: Message | None = None,
    ) -> None:
        answer = changed_answer or added or before.answer
        held = [(part.content, part.metadata, part.prompt_template) for part in (leading, answer) if part]
        check_size(*held)
        changed = [leading] if changed_answer is None else [leading, changed_answer]
        new = [] if added is None else [added]
        noted = self._noted(head, [message.position for message in changed], new)
        try:
            self._store.change(head, noted, changed, new)
        except AlreadyStoredError as signal:
            raise LostPinError from signal  # somebody answered it in the meantime

    def _touched(self, message: Message) -> Message:
        updated_at = max(self._now(), message.updated_at or message.created_at)
        return replace(message, rev=message.rev + 1, updated_at=updated_at, change_id=self._id)

    def _with_object(self, changed: Held, rev: int, shelve: Callable[[Held], Held]) -> Held:
        """What has been changed, with a new object if it needs one, which an earlier try may have written."""
        if changed.large_key is not None:
            self._replaced.add(changed.large_key)
        known = (changed.id, rev)
        if known not in self._shelved:
            self._shelved[known] = shelve(changed).large_key
        return replace(changed, large_key=self._shelved[known])

    def _noted(self, head: Conversation, places: Sequence[int], added: Sequence[Message] = ()) -> Conversation:
        """The head after changes there. Its time of activity stays."""
        now_ns = self._clock.now_ns()
        after = moved(head, added, now_ns, touch=False) if added else replace(head, version=head.version + 1)
        return replace(after, notes=head.notes.with_changes(places, now_ns // NANOSECONDS), cleared_at=None)

    def _now(self) -> str:
        return to_timestamp(self._clock.now_ns())


def _messages_of(interaction: Interaction) -> list[Message]:
    return [interaction.leading] if interaction.answer is None else [interaction.leading, interaction.answer]


def _saying(message: Message, response: str) -> Message:
    """The message with this text in the place of its own, behind what tools were called for; what is no text stays."""
    calls = message.tool_calls or ()
    called = max((call["contentIndex"] for call in calls), default=0)
    places = [place for place, block in enumerate(message.content) if TEXT in block and place >= called]
    first = places[0] if places else len(message.content)
    said: list[Block] = [{TEXT: response}] if visible(response) is not None else []
    content = [*_without_text(message.content[:first]), *said, *_without_text(message.content[first:])]
    shifted = [{**call, "contentIndex": len(_without_text(message.content[: call["contentIndex"]]))} for call in calls]
    return replace(message, content=content, tool_calls=shifted or None, tokens=tokens.of_blocks(content))


def _without_text(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if TEXT not in block]


def _check_readable(is_readable: bool) -> None:
    if not is_readable:
        raise UnprocessableError("What is stored of the message cannot be read, so it cannot be changed.")
