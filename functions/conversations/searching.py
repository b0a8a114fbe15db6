"""Searching the messages of a conversation, and conversations, with the indexes that a process keeps of them.

A search reads the head of the conversation; if its version is the one that the index was made true to, it reads
nothing else, and otherwise only what is new. So it sees whatever was written before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conversations.clock import Clock
from conversations.memories import standing_memories
from conversations.model import Conversation
from conversations.search import Results
from conversations.search_cache import SearchCache
from conversations.search_kept import DocumentVersion, KeptIndex, MemoryIndex, MessageIndex
from conversations.store import Store

Body = Mapping[str, Any]
"""A search request as OpenSearch takes it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, and the version of each by its id."""

    results: Results
    versions: Mapping[str, DocumentVersion]


class MessageSearches:
    """Searches in the messages and traces of one conversation at a time."""

    def __init__(self, cache: SearchCache) -> None:
        self._cache = cache

    def search(self, store: Store, head: Conversation, body: Body, now_ms: int) -> Found:
        """What of a conversation's present chain a request finds.

        Raises:
            SearchError: the request is refused.
            TooLargeError: the messages take more memory than one index may.
            BusyError: the store is down.
        """
        with self._cache.lock:
            index = self._cache.find(head.id, MessageIndex)
            if index is None or not index.explains(head):
                self._cache.drop(head.id)
                index = MessageIndex(head, self._cache.check)
            with self._cache.using(head.id, index):
                index.follow(store, head)
            return _found(index, body, now_ms)


class MemorySearches:
    """Searches in an owner's conversations, or in all owners'."""

    def __init__(self, cache: SearchCache, *, nobody: str | None = None) -> None:
        """``nobody`` is the owner of what belongs to nobody in particular, and is not shown."""
        self._cache = cache
        self._nobody = nobody

    def search(self, store: Store, clock: Clock, owner: str | None, body: Body, *, caller: str | None = None) -> Found:
        """What a request finds; ``owner`` and ``caller`` as in ``memories.memories``.

        Raises:
            SearchError: the request is refused.
            TooLargeError: the conversations take more memory than one index may.
            BusyError: the store is down.
        """
        key = "*" if owner is None else f"owner {owner}"
        with self._cache.lock:
            index = self._cache.find(key, MemoryIndex) or MemoryIndex(self._cache.check, self._user_of)
            with self._cache.using(key, index):
                present = standing_memories(store, clock, owner, caller=caller)
                index.follow(store, present, clock.now_ns())
            return _found(index, body, clock.now_ns() // 1_000_000)

    def _user_of(self, owner: str) -> str | None:
        return None if owner == self._nobody else owner


def _found(kept: KeptIndex, body: Body, now_ms: int) -> Found:
    results = kept.index.search(body, now_ms=now_ms)
    return Found(results, {hit.id: kept.versions[hit.id] for hit in results.hits})
