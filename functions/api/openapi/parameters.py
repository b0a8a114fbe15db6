"""The parameters of paths, queries and headers; their bounds come from where they are enforced."""

from typing import Any

from api import parameters
from api.identity import LONGEST_OWNER_BYTES, OWNER_HEADER, SERVICE_PREFIX
from api.search_routes import LONGEST_QUERY
from api.turn_routes import LONGEST_WAIT_S, MOST_CHARACTERS
from conversations.reading import EVERYBODY
from conversations.turn_options import MOST_INTERACTIONS, MOST_TOKENS


def _parameter(place: str, name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "description": description, **required, "schema": schema}


def _in_query(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return _parameter("query", name, schema, description)


def _whole(least: int, most: int, **default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, **default}


_ID = {"type": "string", "minLength": 1}
_SESSION_ID = {"type": "string", "minLength": 1, "maxLength": parameters.LONGEST_SESSION_ID_BYTES}
_KEY = {"type": "string", "minLength": 1, "maxLength": parameters.LONGEST_KEY, "pattern": r"\S"}
_OWNER = {"type": "string", "minLength": 1, "maxLength": LONGEST_OWNER_BYTES}
_QUERY = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY, "pattern": r"\S"}
_LIMIT = _whole(1, parameters.MOST_LIMIT, default=parameters.DEFAULT_LIMIT)
PARAMETERS = {
    parameter["name"]: parameter
    for parameter in (
        _parameter("path", "conversationId", _ID, "The conversation."),
        _parameter("path", "messageId", _ID, "The message; of a turn, the one that it answers."),
        _in_query("limit", _LIMIT, "How many to return at most."),
        _in_query("cursor", {"type": "string"}, "The `nextCursor` of the page before, of the same query."),
        _in_query("order", {"enum": ["asc", "desc"], "default": "asc"}, "Oldest or newest first."),
        _in_query("sessionId", _SESSION_ID, "Only the live conversation of this name of the caller's own."),
        _in_query("owner", {"type": "string"}, f"For administrators: whose; `{EVERYBODY}` for everybody's."),
        _in_query("wait", _whole(0, LONGEST_WAIT_S, default=0), "How many seconds to wait for the end."),
        _in_query("after", _whole(0, MOST_CHARACTERS), "Wait for partial text of more code points than this, too."),
        _in_query("currentMessageId", {"type": "string"}, "The message to be answered; the newest if none is named."),
        _in_query("q", _QUERY, "The words to find, one of which is enough."),
        _in_query("maxMessages", _whole(1, parameters.MOST_LIMIT), "How many messages to send at most."),
        _in_query("recall", _whole(1, MOST_INTERACTIONS), "How many interactions from before the window, at most."),
        _in_query("maxTokens", _whole(1, MOST_TOKENS), "How many tokens to send at most, if not the deployment's."),
        _parameter("header", "Idempotency-Key", _KEY, "The same request with the same key has one effect."),
        _parameter("header", OWNER_HEADER, _OWNER, f"Under `{SERVICE_PREFIX}`, and required there: the owner."),
    )
}
