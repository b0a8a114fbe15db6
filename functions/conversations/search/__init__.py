"""A small search engine with Lucene's behaviour, for the documents of one conversation.

`Index(mapping)` holds documents in memory and answers OpenSearch request bodies as OpenSearch 3 would. It knows no
HTTP, no store and no clock: documents, requests and the time are passed in, hits come back.

A request takes this way: `requests` and `query_parser` read it into values (`queries`), `rewriting` binds these to
the mapping and makes a tree of `nodes`, which tell their documents and scores; `index` ranks them and shows a page.
`contents` and `fields` are the index itself, `analysis` and `word_breaks` the standard analyzer.

Equal to Lucene (held against Lucene 9.9.1, `tests/unit/search/test_lucene.py`) and to OpenSearch's use of it:

* terms: word boundaries of Unicode 12.1 as in Lucene 9 and 10, whatever the Python; buffers of 255 UTF-16 units
* scores: BM25 with the one-byte length norm, in single precision, equal to the last bit but for sums of nested
  clauses, which Lucene may regroup; keywords, numbers and patterns score their boost, as in OpenSearch since 3.0
* sloppy phrases, phrase prefixes, `minimum_should_match`, dis-max, and the order of hits
* the plain highlighter and its fragments (but in rare cases of phrases under a span fragmenter)

Not equal, on purpose:

* Statistics are of the documents that are there. Lucene counts deleted and replaced ones until segments merge; its
  scores equal these after a full merge. One index is one shard. Equal hits stand in the order of their last indexing.
* `highlight` without a `type` is `plain`; OpenSearch's `unified`, which cuts at sentences, is refused, as is `fvh`.
* Refused by name, though OpenSearch has them: other queries and their options (`fuzziness`, `analyzer`, `_name`,
  `case_insensitive`, ...), aggregations, `post_filter`, `collapse`, `fields`, scripts, named time zones, other date
  formats.
* A request that takes too many steps on these documents (`budget`) is refused. OpenSearch would go on.
* Text lower-cases by the running Python's Unicode, which is newer than 12.1, and equal to Java's of the same version.
* Errors have OpenSearch's type and the gist of its reason, but no `line` and `col` and no "did you mean".
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
