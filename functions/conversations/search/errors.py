"""The errors of the package.

    SearchError
    ├── DocumentError   a document's value does not fit its field's type
    └── QueryError      a request is malformed, unknown to this engine or beyond its bounds
        └── ShardError  the same, but found by OpenSearch on the shard, so that its answer wraps it ("all shards
        failed")

`type` and `reason` are those of OpenSearch's error body; which status they get is the caller's business.
"""

__all__ = ["DocumentError", "QueryError", "SearchError", "ShardError"]


class SearchError(Exception):
    """An error with OpenSearch's name for it."""

    def __init__(self, type_: str, reason: str) -> None:
        super().__init__(reason)
        self.type = type_
        self.reason = reason


class DocumentError(SearchError):
    """A document that the mapping refuses."""

    def __init__(self, field: str, field_type: str, cause: str) -> None:
        super().__init__("mapper_parsing_exception", f"failed to parse field [{field}] of type [{field_type}]: {cause}")
        self.field = field


class QueryError(SearchError):
    """A search request that is refused."""


class ShardError(QueryError):
    """A search request that parses, but that no index with this mapping can answer."""


def parsing_error(reason: str) -> QueryError:
    """What a malformed or unknown part of a request gets."""
    return QueryError("parsing_exception", reason)


def illegal_argument(reason: str) -> QueryError:
    """What a value out of bounds gets."""
    return QueryError("illegal_argument_exception", reason)


def shard_error(cause: str) -> ShardError:
    """What a query gets that does not fit the mapping."""
    return ShardError("query_shard_exception", f"failed to create query: {cause}")
