"""A small search engine with Lucene's behaviour, for the documents of one conversation.

`Index(mapping)` holds documents in memory and answers OpenSearch request bodies as OpenSearch 3 would.
"""

from conversations.search.errors import DocumentError, QueryError, SearchError, ShardError
from conversations.search.index import Hit, Index, Results, Total
from conversations.search.json_values import Json, JsonObject

__all__ = [
    "DocumentError",
    "Hit",
    "Index",
    "Json",
    "JsonObject",
    "QueryError",
    "Results",
    "SearchError",
    "ShardError",
    "Total",
]
