"""What a query is bound to, and how much it may ask for."""

from conversations.search.budget import Budget
from conversations.search.contents import Contents
from conversations.search.errors import shard_error
from conversations.search.mapping import Mapping
from conversations.search.nodes import Boosted, Fixed, Node

__all__ = ["Scope"]

MAX_CLAUSES = 1024
"""Terms and clauses of one query: `indices.query.bool.max_clause_count`."""


class Scope:
    """An index, and what `now` means to the query, in milliseconds since 1970."""

    def __init__(self, mapping: Mapping, contents: Contents, now_ms: int) -> None:
        self.mapping, self.contents, self.now_ms = mapping, contents, now_ms
        self.budget = Budget()
        self._clauses = 0

    def count(self, clauses: int = 1) -> None:
        """Count clauses, and refuse too many."""
        self._clauses += clauses
        if self._clauses > MAX_CLAUSES:
            raise shard_error(f"maxClauseCount is set to {MAX_CLAUSES}")

    def everything(self) -> Node:
        """All documents."""
        return Fixed(lambda: set(self.contents.documents), self.budget)


def weighted(node: Node, boost: float) -> Node:
    """A node with a boost."""
    return node if boost == 1.0 else Boosted(node, boost)
