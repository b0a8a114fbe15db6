"""The route that searches the messages of a conversation. The engine behind it is loaded with the first search."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from api import parameters
from api.memory import Memory
from api.routes import Routes, answer
from api.strict_json import LARGEST_ESCAPED_BYTES, escaped_size
from api.wire import message_json
from conversations import ids
from conversations.access import read_head
from conversations.codec import to_json
from conversations.errors import InvalidRequestError
from conversations.model import Conversation, Message

LONGEST_QUERY = 1000
_LOADED_AT_ONCE = 8
_MARKED_IN_ALL = 8_000_000
_LONGEST_MARKED = 100_000
"""How many characters of a text are looked through for the words to be marked; of all hits together, 8 million."""


class SearchRoutes(Routes):
    """Search a conversation."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory) -> None:
        super().__init__(app, memory)
        app.get("/conversations/<conversation_id>/search")(self.search)

    def search(self, conversation_id: str) -> Response[str]:
        request = self.request("q", "limit")
        body = _request_body(_query(request.query), parameters.limit(request.query))
        head = read_head(
            self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id
        )
        results = self._results(head, body)
        shown = self._shown(results.hits)
        return answer(200, {"hits": _fitting(shown), "total": results.total.value})

    def _results(self, head: Conversation, body: Mapping[str, Any]) -> Any:
        from conversations.search import QueryError  # noqa: PLC0415 - a cold start does not pay for it

        now_ms = self.memory.clock.now_ns() // 1_000_000
        try:
            return self.memory.searches.messages.search(self.memory.store, head, body, now_ms).results
        except QueryError as error:
            raise InvalidRequestError(f"q cannot be searched for: {error.reason}.", field="q") from error

    def _shown(self, hits: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """The hits with their messages, read by and by; one whose message has been removed meanwhile is left out."""
        for first in range(0, len(hits), _LOADED_AT_ONCE):
            some = hits[first : first + _LOADED_AT_ONCE]
            found = self.memory.store.messages(id_ for hit in some for id_ in (hit.id, ids.response_id(hit.id)))
            read = {message.id: message for message in self.memory.store.load(list(found.values()))}
            yield from (_hit(hit, read) for hit in some if hit.id in read)


def _query(query: Mapping[str, str]) -> str:
    text = query.get("q", "")
    if not text.strip() or len(text) > LONGEST_QUERY:
        raise InvalidRequestError(f"q must be text of 1 to {LONGEST_QUERY} characters, not blank.", field="q")
    return text


def _request_body(text: str, limit: int) -> dict[str, Any]:
    """Any of the words, in what was said or answered; traces are no messages of ours."""
    return {
        "query": {
            "bool": {
                "must": [{"multi_match": {"query": text, "fields": ["input", "response"]}}],
                "must_not": [{"exists": {"field": "trace_number"}}],
            }
        },
        "size": limit,
        "track_total_hits": True,
        "_source": False,
        "highlight": {
            "fields": {"input": {}, "response": {}},
            "max_analyzer_offset": min(_LONGEST_MARKED, _MARKED_IN_ALL // (2 * limit)),
        },
    }


def _hit(hit: Any, read: Mapping[str, Message]) -> dict[str, Any]:
    """``{message, answer?, score, highlights: {message?, answer?}}``

    An assistant's message that answers nothing is found as a response, but it is the message.
    """
    message, answered = read[hit.id], read.get(ids.response_id(hit.id))
    of_response = "message" if message.role == "assistant" else "answer"
    marked = {"input": "message", "response": of_response}
    return {
        "message": message_json(message),
        **({"answer": message_json(answered)} if answered else {}),
        "score": hit.score,
        "highlights": {marked[name]: fragments for name, fragments in (hit.highlight or {}).items()},
    }


def _fitting(shown: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many of the first hits as an answer has room for, one at least."""
    page: list[dict[str, Any]] = []
    left = LARGEST_ESCAPED_BYTES
    for hit in shown:
        left -= escaped_size(to_json(hit)) + 1
        if left < 0 and page:
            break
        page.append(hit)
    return page
