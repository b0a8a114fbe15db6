"""Adding messages to the end of a conversation's chain: one consistent read and one transaction, at any length."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conversations import ids, tokens
from conversations.access import snapshot_of, standing
from conversations.clock import Clock, from_timestamp, to_timestamp
from conversations.creating import expires_at
from conversations.errors import (
    AlreadyAnsweredError,
    AlreadyStoredError,
    BusyError,
    IdempotencyMismatchError,
    InvalidRequestError,
    LostPinError,
)
from conversations.model import ASKING_ROLES, Conversation, Draft, Message, Snapshot
from conversations.retrying import until_written
from conversations.store import Store

LARGEST_BATCH = 98  # a transaction has 100 actions; one moves the conversation, one is left for a record beside it


@dataclass(frozen=True, slots=True)
class Appending:
    """A request to append. The first message keeps ``request_hash``, by which a retry is told from another request.

    ``keyed_local`` is the local part that derives from the request's idempotency key, if it has one.
    """

    owner: str | None
    conversation_id: str
    drafts: Sequence[Draft]
    request_hash: str
    keyed_local: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """The messages as they stand in the chain, whether they were written just now, and whose conversation it is."""

    messages: Sequence[Message]
    is_new: bool
    owner: str


def append(store: Store, clock: Clock, request: Appending) -> Appended:
    """Add messages to the end of a chain.

    An answer that names no question belongs to the message directly before it if that is a user or tool message, and
    otherwise to none.

    Raises:
        NotFoundError: the conversation is not there for this owner.
        InvalidRequestError: a named question is not a user or tool message of this conversation.
        AlreadyAnsweredError: a question has an answer already.
        IdempotencyMismatchError: an id was used before for another request.
        BusyError: too many write the same conversation.
    """
    shelf = _Shelf(store, request)
    try:
        appended = until_written(lambda: _append_once(store, clock, request, shelf), clock)
    except BusyError:
        raise  # it may have been written after all, and then the objects are the messages'
    except Exception:
        shelf.clear()
        raise
    if not appended.is_new:
        shelf.clear(used=appended.messages)
    return appended


class _Shelf:
    """The objects of a request's drafts, written once the request is known to be allowed.

    They are written anew when the conversation is cleared in between: an earlier try may have given them to messages
    that are removed with their chain.
    """

    def __init__(self, store: Store, request: Appending) -> None:
        self._store = store
        self._request = request
        self._chain: str | None = None
        self._drafts: Sequence[Draft] = ()

    def drafts_for(self, chain: str) -> Sequence[Draft]:
        if self._chain != chain:
            self._drafts = self._store.shelve(self._request.conversation_id, self._request.drafts)
            self._chain = chain
        return self._drafts

    def clear(self, used: Sequence[Message] = ()) -> None:
        """Remove the objects, but those that an earlier try of this request gave to its messages."""
        keys = {message.large_key for message in used}
        self._store.unshelve([draft for draft in self._drafts if draft.large_key not in keys])


def _append_once(store: Store, clock: Clock, request: Appending, shelf: _Shelf) -> Appended:
    named = [draft.associated_user_message_id for draft in request.drafts if draft.associated_user_message_id]
    snapshot = snapshot_of(store, request.conversation_id, messages=named)
    head = standing(snapshot, request.owner, clock.now_ns())
    drafts = _with_questions(store, head, snapshot, shelf.drafts_for(head.chain_id))
    drafts[0] = _receipted(drafts[0], request.keyed_local)
    messages = placed(head, drafts, clock.now_ns(), request.request_hash)
    try:
        store.append(head, moved(head, messages, clock.now_ns()), messages)
    except AlreadyStoredError as signal:
        return Appended(_written_before(store, messages, request, signal), is_new=False, owner=head.owner)
    return Appended(messages, is_new=True, owner=head.owner)


def placed(head: Conversation, drafts: Sequence[Draft], now_ns: int, request_hash: str | None) -> list[Message]:
    """The drafts as messages at the end of the chain. Time never runs backwards in a chain, whatever the clocks say."""
    messages: list[Message] = []
    at = max(now_ns, from_timestamp(head.last_message_at) + 1 if head.last_message_at else 0)
    previous, system = head.last_message_id, head.last_system_message_id
    for place, draft in enumerate(drafts):
        message = _message(head, draft, place)
        message = replace(
            message,
            created_at=to_timestamp(at + place),
            previous_message_id=previous,
            system_message_id=system,
            request_hash=request_hash if place == 0 else None,
        )
        messages.append(message)
        previous = message.id
        system = message.id if message.role == "system" else system
    return messages


def moved(head: Conversation, messages: Sequence[Message], now_ns: int, *, touch: bool = True) -> Conversation:
    """The conversation after these messages. ``touch`` tells whether this counts as activity of its owner."""
    last = messages[-1]
    system = last.id if last.role == "system" else last.system_message_id
    after = replace(
        head,
        version=head.version + 1,
        message_count=last.position,
        last_message_id=last.id,
        last_message_at=last.created_at,
        last_system_message_id=system,
        expires_at=expires_at(head.ttl_days, now_ns),
        cleared_at=None,
    )
    return replace(after, updated_at=max(last.created_at, head.updated_at)) if touch else after


def _message(head: Conversation, draft: Draft, place: int) -> Message:
    question = draft.associated_user_message_id
    own = ids.message_id(head.chain_id, draft.local)
    return Message(
        id=own if question is None else ids.response_id(question),
        conversation_id=head.chain_id,
        created_at="",
        position=head.message_count + place + 1,
        tokens=_estimate(draft),
        **{name: getattr(draft, name) for name in _CARRIED},
    )


_CARRIED = (
    "role",
    "content",
    "associated_user_message_id",
    "client_message_id",
    "ai_context",
    "metadata",
    "prompt_template",
    "origin",
    "tool_configuration",
    "asks",
    "options",
    "usage",
    "stop_reason",
    "model_id",
    "latency_ms",
    "tool_calls",
    "measured",
    "guardrail_trace",
    "large_key",
    "receipt",
)


def _estimate(draft: Draft) -> int:
    context = tokens.of_json(draft.ai_context) if draft.ai_context is not None else 0
    return tokens.of_blocks(draft.content) + context


def _with_questions(store: Store, head: Conversation, snapshot: Snapshot, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, each answer with the question that it answers."""
    resolved: list[Draft] = []
    for place, draft in enumerate(drafts):
        question = draft.associated_user_message_id
        if draft.role != "assistant" or draft.answers_none:
            resolved.append(draft)
        elif question is not None:
            _check_question(head, snapshot, question, _field(place, drafts))
            resolved.append(draft)
        elif resolved:
            resolved.append(replace(draft, associated_user_message_id=_question_in(head, resolved[-1])))
        else:
            resolved.append(_answering(draft, _unanswered_last(store, head)))
    _check_distinct(resolved)
    return resolved


def _answering(draft: Draft, question: str | None) -> Draft:
    """The draft with its question. Which one that is may change before a retry, so it leaves a receipt."""
    return draft if question is None else replace(draft, associated_user_message_id=question, receipt=draft.local)


def _receipted(first: Draft, keyed_local: str | None) -> Draft:
    """The first draft, with a receipt if its id does not derive from the key of the request: the key must be found."""
    derives = first.local == keyed_local and first.associated_user_message_id is None
    if keyed_local is None or derives or first.receipt is not None:
        return first
    return replace(first, receipt=keyed_local)


def _field(place: int, drafts: Sequence[Draft]) -> str:
    name = "associatedUserMessageId"
    return name if len(drafts) == 1 else f"messages[{place}].{name}"


def _question_in(head: Conversation, before: Draft) -> str | None:
    return ids.message_id(head.chain_id, before.local) if before.role in ASKING_ROLES else None


def _unanswered_last(store: Store, head: Conversation) -> str | None:
    """The last message if it may be answered: its answer would stand behind it, so it has none."""
    last = store.message(head.last_message_id) if head.last_message_id else None
    return last.id if last and last.role in ASKING_ROLES else None


def _check_question(head: Conversation, snapshot: Snapshot, question_id: str, field: str) -> None:
    question = snapshot.messages.get(question_id)
    if question is None or question.conversation_id != head.chain_id:
        raise InvalidRequestError(f"{field} names no message of this conversation.", field=field)
    if question.role not in ASKING_ROLES:
        raise InvalidRequestError(f"{field} names a message that cannot be answered.", field=field)


def _check_distinct(drafts: Sequence[Draft]) -> None:
    questions = [draft.associated_user_message_id for draft in drafts if draft.associated_user_message_id]
    locals_ = [draft.local for draft in drafts]
    if len(set(questions)) < len(questions):
        raise InvalidRequestError("Two messages answer the same one.", field="messages")
    if len(set(locals_)) < len(locals_):
        raise InvalidRequestError("Two messages have the same clientMessageId.", field="messages")


def _written_before(
    store: Store, messages: Sequence[Message], request: Appending, signal: AlreadyStoredError
) -> list[Message]:
    """What the same request wrote before. Stored content is never compared, only the hash of the request."""
    answered = store.receipt(signal.item_id)
    wanted = answered or [message.id for message in messages]
    if answered is None and signal.item_id not in wanted:
        wanted[0] = signal.item_id  # in the place of a receipt: it answered nothing when it was written
    stored = store.messages(wanted)
    first = stored.get(wanted[0])
    if first is not None and first.request_hash == request.request_hash and len(stored) == len(messages):
        return store.load([stored[message_id] for message_id in wanted])
    if not stored:
        raise LostPinError from signal
    if ids.is_response(signal.item_id):
        raise AlreadyAnsweredError("The message has an answer already.") from signal
    raise IdempotencyMismatchError("The key or clientMessageId was used for another request.") from signal
