"""The search indexes that are kept: each follows what it is of, and reads only what it has not read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from conversations import ids
from conversations.chain import BEGINNING, Place, forward
from conversations.interactions import Interaction
from conversations.model import Conversation, Message
from conversations.search import DocumentError, Index
from conversations.search_documents import (
    MEMORIES_MAPPING,
    MESSAGES_MAPPING,
    Document,
    memory_document,
    message_document,
)
from conversations.store import Activity, Store

_AT_ONCE = 16  # messages whose bulky parts are read together: they are up to 5 MB each
_TRACES_AT_ONCE = 96
_CONVERSATIONS_AT_ONCE = 100
_BYTES_BESIDE = 300  # what is kept of a document beside the index


class DocumentVersion(NamedTuple):
    """How often a document has been written, and when in the order of all."""

    version: int
    sequence: int


class KeptIndex:
    """An index, and the version of each of its documents. ``check`` is called whenever it has grown."""

    def __init__(self, mapping: Mapping[str, Any], check: Callable[["KeptIndex"], None]) -> None:
        self._check = check
        self.index = Index(mapping)
        self.versions: dict[str, DocumentVersion] = {}

    @property
    def memory_bytes(self) -> int:
        return self.index.memory_bytes + len(self.versions) * _BYTES_BESIDE

    def enter(self, id_: str, document: Document, version: DocumentVersion) -> None:
        """Enter a document, anew if it is there. A value that no index could take is shown, but not found."""
        without: list[str] = []
        while True:
            try:
                self.index.add(id_, document, without=without)
                break
            except DocumentError as error:
                if error.field in without:
                    raise
                without.append(error.field)
        self.versions[id_] = version
        self._check(self)

    def leave(self, id_: str) -> None:
        """Take a document out."""
        self.index.remove(id_)
        self.versions.pop(id_, None)


class MessageIndex(KeptIndex):
    """The interactions and traces of one chain, as of the version of its head that was followed last."""

    def __init__(self, head: Conversation, check: Callable[[KeptIndex], None]) -> None:
        super().__init__(MESSAGES_MAPPING, check)
        self.chain_id = head.chain_id
        self.version = 0
        self._last = BEGINNING
        self._traces = 0
        self._changes: int | None = None  # of which all that was read tells; none while it has read nothing
        self._leading: list[str] = []  # by position: the id of the interaction that the message belongs to
        self._in_hand: dict[str, Message] = {}  # the last message read, whose answer is likely to come next

    def explains(self, head: Conversation) -> bool:
        """Whether the head tells all that has happened since: else everything is to be read again."""
        if self.chain_id == head.chain_id and head.version <= self.version:
            return True  # the index was followed from a later one
        is_ahead = head.message_count >= self._last.position and head.notes.traces >= self._traces
        return self.chain_id == head.chain_id and is_ahead and self._changed(head) is not None

    def follow(self, store: Store, head: Conversation) -> None:
        """Read what is new since the version followed before. What an earlier call has read before it failed stays."""
        if head.version <= self.version:
            return
        changed = self._changed(head) or ()
        if self._changes is None:
            self._changes = head.notes.changes
        self._read_messages(store, head)
        self._read_traces(store, head)
        self._read_again(store, set(changed))
        self._changes, self.version = head.notes.changes, head.version

    def _changed(self, head: Conversation) -> Sequence[int] | None:
        return () if self._changes is None else head.notes.changed_since(self._changes)

    def _read_messages(self, store: Store, head: Conversation) -> None:
        unread = forward(store, head, self._last, due=head.message_count - self._last.position)
        while some := list(islice(unread, _AT_ONCE)):
            self._enter_messages(store, some)
            last = some[-1]
            self._last = Place(last.id, last.created_at, len(self._leading))

    def _enter_messages(self, store: Store, messages: Sequence[Message]) -> None:
        """Enter the interactions that messages, which follow those read so far, belong to."""
        read = self._in_hand | {message.id: message for message in store.load(messages)}
        leading = [ids.question_of(message.id) or message.id for message in messages]
        touched = dict.fromkeys(leading)
        elsewhere = [id_ for id_ in touched if id_ not in read]
        read |= {m.id: m for m in store.load(list(store.messages(elsewhere).values()))} if elsewhere else {}
        for id_ in filter(read.__contains__, touched):
            self._enter_interaction(Interaction(read[id_], read.get(ids.response_id(id_))))
        self._in_hand = {messages[-1].id: read[messages[-1].id]}
        self._leading += leading

    def _read_traces(self, store: Store, head: Conversation) -> None:
        while self._traces < head.notes.traces:
            last = min(self._traces + _TRACES_AT_ONCE, head.notes.traces)
            self._enter_traces(store, range(self._traces + 1, last + 1))
            self._traces = last

    def _read_again(self, store: Store, places: Iterable[int]) -> None:
        """Read what has been changed in place."""
        within = [place for place in places if 0 < place <= len(self._leading)]
        leading = list(dict.fromkeys(self._leading[place - 1] for place in within))
        found = store.messages(part for id_ in leading for part in (id_, ids.response_id(id_))) if leading else {}
        for id_ in filter(found.__contains__, leading):
            self._in_hand.pop(id_, None)
            pair = [found[part] for part in (id_, ids.response_id(id_)) if part in found]
            self._enter_interaction(Interaction(*store.load(pair)))
        self._enter_traces(store, [-place for place in places if place < 0])

    def _enter_interaction(self, one: Interaction) -> None:
        self.enter(one.id, message_document(one), DocumentVersion(one.version, one.sequence))

    def _enter_traces(self, store: Store, numbers: Sequence[int]) -> None:
        wanted = [ids.trace_id(self.chain_id, number) for number in numbers]
        found = list(store.traces(wanted).values()) if wanted else []
        for first in range(0, len(found), _AT_ONCE):
            for trace in store.load_traces(found[first : first + _AT_ONCE]):
                self.enter(trace.id, message_document(trace), DocumentVersion(trace.version, trace.sequence))


class MemoryIndex(KeptIndex):
    """Conversations, each as of the version that was read last."""

    def __init__(self, check: Callable[[KeptIndex], None], user_of: Callable[[str], str | None]) -> None:
        """``user_of`` gives an owner's name as callers know him."""
        super().__init__(MEMORIES_MAPPING, check)
        self._user_of = user_of

    def follow(self, store: Store, present: Sequence[Activity], now_ns: int) -> None:
        """Read those whose version has moved, and forget those that are gone.

        They are entered as they were last active, since equal hits stand in the order of their entering.
        """
        for gone in self.versions.keys() - {activity.conversation_id for activity in present}:
            self.leave(gone)
        by_activity = sorted(present, key=lambda activity: (activity.updated_at, activity.conversation_id))
        moved = [activity.conversation_id for activity in by_activity if self._has_moved(activity)]
        for first in range(0, len(moved), _CONVERSATIONS_AT_ONCE):
            some = moved[first : first + _CONVERSATIONS_AT_ONCE]
            found = store.conversations(some)
            for id_ in some:
                self._enter_memory(id_, found.get(id_), now_ns)

    def _has_moved(self, activity: Activity) -> bool:
        known = self.versions.get(activity.conversation_id)
        return known is None or known.version != activity.version

    def _enter_memory(self, id_: str, conversation: Conversation | None, now_ns: int) -> None:
        if conversation is None or not conversation.stands(now_ns):
            self.leave(id_)
            return
        version = DocumentVersion(conversation.version, conversation.version - 1)
        self.enter(id_, memory_document(conversation, user=self._user_of(conversation.owner)), version)
