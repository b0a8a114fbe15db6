"""Interactions: a message and its answer seen as one record, as OpenSearch's memory has them.

A message leads an interaction unless it answers another. A user or tool message leads with ``input``, and its answer
is the ``response``; an assistant's message that answers nothing leads with ``response`` alone; a system message leads
with ``prompt_template``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from conversations import ids
from conversations.access import snapshot_of, standing
from conversations.appending import Appending, append
from conversations.chain import backward, forward
from conversations.clock import Clock, from_timestamp
from conversations.codec import to_json
from conversations.content import TEXT, TOOL_RESULT, visible
from conversations.errors import MessageNotFoundError
from conversations.model import Block, Conversation, Draft, Message, Snapshot, Trace
from conversations.store import Store

_COMPLETED_AT_ONCE = 96  # a batch of reads by id has 100
_LOADED_AT_ONCE = 8  # messages are up to 5 MB each


@dataclass(frozen=True, slots=True)
class Interaction:
    """A message that leads, and its answer if there is one."""

    leading: Message
    answer: Message | None = None

    @property
    def id(self) -> str:
        return self.leading.id

    @property
    def conversation_id(self) -> str:
        return ids.conversation_of(self.leading.conversation_id)

    @property
    def input(self) -> str | None:
        return None if self.leading.role in ("assistant", "system") else visible(text_of(self.leading.content))

    @property
    def response(self) -> str | None:
        said = self.leading if self.leading.role == "assistant" else self.answer
        return visible(text_of(said.content)) if said else None

    @property
    def prompt_template(self) -> str | None:
        of_system = text_of(self.leading.content) if self.leading.role == "system" else None
        return visible(self.leading.prompt_template or of_system)

    @property
    def origin(self) -> str | None:
        """Where the answer comes from: what was said of it, or else the model that gave it."""
        said = self.answer or self.leading
        return visible(self.leading.origin) or said.model_id

    @property
    def additional_info(self) -> Mapping[str, Any]:
        return self.leading.metadata or {}

    @property
    def created_at(self) -> str:
        return self.leading.created_at

    @property
    def updated_at(self) -> str:
        """When either was changed, or the answer given later than the message."""
        times = [self.leading.updated_at or self.leading.created_at]
        if self.answer is not None:
            times.append(self.answer.updated_at or "")
            if not _written_together(self.leading, self.answer):
                times.append(self.answer.created_at)
        return max(times)

    @property
    def version(self) -> int:
        """Counts from 1, and one more with each change."""
        return self.leading.rev

    @property
    def sequence(self) -> int:
        """Grows from interaction to interaction, and with each change."""
        return self.leading.position + self.leading.rev - 2


@dataclass(frozen=True, slots=True)
class NewInteraction:
    """What an interaction is to hold; blank texts count as none."""

    input: str | None = None
    prompt_template: str | None = None
    response: str | None = None
    origin: str | None = None
    additional_info: Mapping[str, Any] | None = None


def add_interaction(store: Store, clock: Clock, *, owner: str | None, conversation_id: str, new: NewInteraction) -> str:
    """The id of the message that leads a new interaction at the end of the chain: one read and one transaction.

    Raises:
        NotFoundError: the conversation is not there for this owner; ``ForeignError`` if it is somebody else's.
        BusyError: too many write the same conversation.
    """
    drafts = _drafts(new)
    request = Appending(owner, conversation_id, drafts, ids.digest("interaction", drafts[0].local))
    return append(store, clock, request).messages[0].id


def read_interaction(
    store: Store, clock: Clock, *, owner: str | None, message_id: str
) -> tuple[Conversation, Interaction | Trace]:
    """A conversation, and an interaction or a trace of it by its id: one consistent read.

    Raises:
        NotFoundError: the conversation is not there for this owner; ``ForeignError`` if it is somebody else's, and
            ``MessageNotFoundError`` if there is no such message in it.
    """
    head, found = read_one(store, clock, owner, message_id)
    if isinstance(found, Trace):
        return head, store.load_traces([found])[0]
    return head, loaded(store, [found])[0]


def read_one(
    store: Store, clock: Clock, owner: str | None, message_id: str
) -> tuple[Conversation, Interaction | Trace]:
    """The same with what stands in objects of its own left there."""
    conversation_id = ids.conversation_of(message_id)
    if not message_id[len(conversation_id) :].startswith((".", "~")) or not ids.is_conversation_id(conversation_id):
        raise MessageNotFoundError("There is no such message.")
    if ids.trace_ordinal(message_id) is not None:
        snapshot = snapshot_of(store, conversation_id, messages=[], trace=message_id)
    else:
        snapshot = snapshot_of(store, conversation_id, messages=[message_id, ids.response_id(message_id)])
    head = standing(snapshot, owner, clock.now_ns())
    found = _found(snapshot, message_id)
    if found is None or ids.chain_of(message_id) != head.chain_id:
        raise MessageNotFoundError("There is no such message.")
    return head, found


def interactions(
    store: Store, head: Conversation, *, offset: int, limit: int, newest_first: bool = False
) -> Iterator[Interaction]:
    """Interactions by the time of their leading messages, read by and by: all together may take more than there is."""
    due = head.message_count if offset + limit >= head.message_count else 2 * (offset + limit)
    messages = (backward if newest_first else forward)(store, head, due=due)
    paired = _paired_newest_first(messages) if newest_first else _paired(messages, offset + limit)
    page = islice(paired, offset, offset + limit)
    while some := list(islice(page, _COMPLETED_AT_ONCE)):
        whole = _with_answers(store, some)
        for first in range(0, len(whole), _LOADED_AT_ONCE):
            yield from loaded(store, whole[first : first + _LOADED_AT_ONCE])


def loaded(store: Store, some: Sequence[Interaction]) -> list[Interaction]:
    """The same with what stands in objects of its own read in."""
    parts = [part for one in some for part in (one.leading, one.answer) if part is not None]
    by_id = {part.id: part for part in store.load(parts)}
    return [Interaction(by_id[one.id], by_id[one.answer.id] if one.answer else None) for one in some]


def text_of(blocks: Iterable[Block]) -> str:
    """The text in blocks, and what tools gave; each on lines of its own."""
    return "\n".join(_texts(blocks))


def leads(message: Message) -> bool:
    """Whether an interaction begins with the message: it does not answer another."""
    return not ids.is_response(message.id)


def _drafts(new: NewInteraction) -> list[Draft]:
    response = visible(new.response)
    asks_nothing = response is not None and visible(new.input) is None
    said = response if asks_nothing else visible(new.input)
    leading = Draft(
        local=ids.new_local(),
        role="assistant" if asks_nothing else "user",
        content=[{TEXT: said}] if said is not None else [],
        metadata=new.additional_info or None,
        prompt_template=visible(new.prompt_template),
        origin=visible(new.origin),
        answers_none=asks_nothing,
    )
    if response is None or asks_nothing:
        return [leading]
    return [leading, Draft(local=ids.new_local(), role="assistant", content=[{TEXT: response}])]


def _found(snapshot: Snapshot, message_id: str) -> Interaction | Trace | None:
    if message_id in snapshot.traces:
        return snapshot.traces[message_id]
    leading = snapshot.messages.get(message_id)
    if leading is None or not leads(leading):
        return None
    return Interaction(leading, snapshot.messages.get(ids.response_id(message_id)))


def _paired(messages: Iterable[Message], most: int) -> Iterator[Interaction]:
    """Interactions in the order of the chain, each with the answer that stands directly behind it, if one does."""
    before: Message | None = None
    for message in messages:
        if before is not None:
            answered = message if message.id == ids.response_id(before.id) else None
            yield Interaction(before, answered)
            most -= 1
            if not most:
                return
        before = message if leads(message) else None
    if before is not None:
        yield Interaction(before)


def _paired_newest_first(messages: Iterable[Message]) -> Iterator[Interaction]:
    """Interactions against the order of the chain, each with its answer, which stands behind it."""
    answers: dict[str, Message] = {}
    for message in messages:
        if leads(message):
            yield Interaction(message, answers.pop(ids.response_id(message.id), None))
        else:
            answers[message.id] = message


def _with_answers(store: Store, page: Sequence[Interaction]) -> list[Interaction]:
    """The same, with answers that were written elsewhere in the chain: one read by their ids."""
    alone = [ids.response_id(one.id) for one in page if one.answer is None and one.leading.role != "assistant"]
    found = store.messages(alone) if alone else {}
    return [Interaction(one.leading, one.answer or found.get(ids.response_id(one.id))) for one in page]


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block.get(TEXT), str):
            yield block[TEXT]
        elif isinstance(block.get(TOOL_RESULT), Mapping):
            for result in block[TOOL_RESULT].get("content", ()):
                yield result[TEXT] if isinstance(result.get(TEXT), str) else to_json(result)


def _written_together(leading: Message, answer: Message) -> bool:
    is_next = answer.previous_message_id == leading.id
    return is_next and from_timestamp(answer.created_at) - from_timestamp(leading.created_at) == 1
