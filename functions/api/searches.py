"""The searches of a process, which share what it keeps of their indexes. The engine is loaded with the first search."""

from functools import cached_property
from typing import TYPE_CHECKING

from api.identity import ANONYMOUS

if TYPE_CHECKING:
    from conversations.search_cache import SearchCache
    from conversations.searching import MemorySearches, MessageSearches


class Searches:
    """Searches in the messages of a conversation, and in conversations."""

    @cached_property
    def messages(self) -> "MessageSearches":
        from conversations.searching import MessageSearches  # noqa: PLC0415 - a cold start does not pay for it

        return MessageSearches(self._cache)

    @cached_property
    def memories(self) -> "MemorySearches":
        from conversations.searching import MemorySearches  # noqa: PLC0415

        return MemorySearches(self._cache, nobody=ANONYMOUS)

    @cached_property
    def _cache(self) -> "SearchCache":
        from conversations.search_cache import SearchCache  # noqa: PLC0415

        return SearchCache()
