"""What a search of messages answers with, and what the service says of itself."""

from typing import Any

from api.openapi.content import schema_ref
from api.openapi.objects import closed

_FRAGMENTS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Pieces of the text, unescaped, the words between `<em>` and `</em>`.",
}

OTHER_ANSWER_SCHEMAS: dict[str, dict[str, Any]] = {
    "SearchResults": closed(
        {
            "hits": {"type": "array", "items": schema_ref("SearchHit")},
            "total": {
                "type": "integer",
                "minimum": 0,
                "description": "How many were found; an answer holds as many as it has room for.",
            },
        }
    ),
    "SearchHit": closed(
        {
            "message": schema_ref("Message"),
            "answer": schema_ref("Message"),
            "score": {"type": "number", "minimum": 0, "description": "By BM25; comparable within one answer only."},
            "highlights": closed(
                {"message": _FRAGMENTS, "answer": _FRAGMENTS},
                optional=("message", "answer"),
                description="Where the words stand.",
            ),
        },
        optional=("answer",),
        description="A message that leads, with its answer if it has one: the words may stand in either.",
    ),
    "Status": closed({"version": {"type": "string"}, "stage": {"type": "string"}, "region": {"type": "string"}}),
    "Document": {"type": "object", "description": "An OpenAPI document.", "required": ["openapi", "info", "paths"]},
}
