"""Whether a conversation is there for somebody. Foreign, missing, deleted and expired look alike in our own API."""

from conversations import ids
from conversations.clock import Clock
from conversations.errors import ForeignError, MessageNotFoundError, NotFoundError
from conversations.model import Conversation, Message, Snapshot
from conversations.store import Store

ANY_OWNER = None
"""Stands for the owner when the caller may touch every conversation (an administrator)."""


def standing(snapshot: Snapshot, owner: str | None, now_ns: int) -> Conversation:
    """The conversation of a snapshot, if it stands and is the owner's.

    Raises:
        NotFoundError: otherwise; ``ForeignError`` if it stands and is somebody else's.
    """
    conversation = snapshot.conversation
    if conversation is None or not conversation.stands(now_ns):
        raise NotFoundError("There is no such conversation.")
    if owner is not ANY_OWNER and conversation.owner != owner:
        raise ForeignError("There is no such conversation.")
    return conversation


def read_head(
    store: Store, clock: Clock, *, owner: str | None, conversation_id: str, about: bool = False
) -> Conversation:
    """A consistent read of a conversation that the owner may touch.

    Raises:
        NotFoundError: it is missing, deleted, expired or somebody else's.
    """
    if not ids.is_conversation_id(conversation_id):
        raise NotFoundError("There is no such conversation.")
    return standing(store.snapshot(conversation_id, about=about), owner, clock.now_ns())


def read_message(
    store: Store, clock: Clock, *, owner: str | None, conversation_id: str, message_id: str
) -> tuple[Conversation, Message]:
    """A consistent read of a conversation and one of its messages, in one call.

    Raises:
        NotFoundError: either is not there for this owner, or the message has been cleared.
    """
    snapshot = snapshot_of(store, conversation_id, messages=[message_id])
    head = standing(snapshot, owner, clock.now_ns())
    message = snapshot.messages.get(message_id)
    if message is None or message.conversation_id != head.chain_id:
        raise MessageNotFoundError("There is no such message.")
    return head, store.load([message])[0]


def snapshot_of(
    store: Store, conversation_id: str, *, messages: list[str], turn_of: str | None = None, trace: str | None = None
) -> Snapshot:
    """A consistent read of a conversation with messages, a turn and a trace.

    Ids that cannot be its own are not asked for.
    """
    if not ids.is_conversation_id(conversation_id):
        return Snapshot(None)
    own = [message_id for message_id in messages if _may_belong(message_id, conversation_id)]
    turns = [turn_of] if turn_of is not None and _may_belong(turn_of, conversation_id) else []
    traces = [trace] if trace is not None and _may_belong(trace, conversation_id) else []
    return store.snapshot(conversation_id, messages=own, turns=turns, traces=traces)


def _may_belong(message_id: str, conversation_id: str) -> bool:
    chain = ids.chain_of(message_id)
    return ids.conversation_of(chain) == conversation_id and ids.belongs_to(message_id, chain)
