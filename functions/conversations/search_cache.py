"""Search indexes that a process keeps, the least recently used ones dropped when all together would take too much."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Protocol, TypeVar

from conversations.errors import TooLargeError

MOST_BYTES = 400_000_000
"""What all indexes may take; the API's function has 1 GB, and an index is an estimate of its own size."""
LARGEST_BYTES = 300_000_000
"""What one index may take, by that estimate."""


class Kept(Protocol):
    """Something that is kept, and tells its size."""

    @property
    def memory_bytes(self) -> int:
        """An estimate, cheap to ask."""


Some = TypeVar("Some", bound=Kept)


class SearchCache:
    """Kept indexes by key. Who uses one holds ``lock``: an index is used by one thread at a time."""

    def __init__(self, most_bytes: int = MOST_BYTES, largest_bytes: int = LARGEST_BYTES) -> None:
        self.lock = RLock()
        self._most_bytes = most_bytes
        self._largest_bytes = largest_bytes
        self._kept: OrderedDict[str, tuple[Kept, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def memory_bytes(self) -> int:
        """What all of them took when they were used last."""
        return self._bytes

    def find(self, key: str, kind: type[Some]) -> Some | None:
        """What is kept under a key, if it is of this kind."""
        kept, _ = self._kept.get(key, (None, 0))
        return kept if isinstance(kept, kind) else None

    def keep(self, key: str, kept: Kept) -> None:
        """Keep it as the one used last, and drop those used longest ago while all together take too much."""
        self.drop(key)
        size = kept.memory_bytes
        self._kept[key] = kept, size
        self._bytes += size
        while self._bytes > self._most_bytes:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._bytes -= dropped

    def drop(self, key: str) -> None:
        """Forget what is kept under a key."""
        _, size = self._kept.pop(key, (None, 0))
        self._bytes -= size

    def check(self, kept: Kept) -> None:
        """Raises ``TooLargeError`` when an index takes more than one may."""
        if kept.memory_bytes > self._largest_bytes:
            raise TooLargeError("There is more text than can be searched.")

    @contextmanager
    def using(self, key: str, kept: Kept) -> Iterator[None]:
        """Keep what is being made true, with what it has read even if that fails; one that is too large is dropped."""
        try:
            yield
        except TooLargeError:
            self.drop(key)
            raise
        except Exception:
            self.keep(key, kept)
            raise
        self.keep(key, kept)
