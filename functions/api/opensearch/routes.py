"""Which route a path is of. Literal steps come before ids, and what matches by path only is told its methods."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from api.opensearch import first_generation, memories, messages
from api.opensearch.errors import DialectError, no_handler, plain
from api.opensearch.info import INFO
from api.opensearch.requests import Action, Request

PREFIX = "/_plugins/_ml/memory"
_OF_ROOT = ("GET", "HEAD")
Handler = Callable[..., Action]
_ID = re.compile(r"\\\{id\\\}")  # as `re.escape` writes it


@dataclass(frozen=True, slots=True)
class Route:
    """A path below the prefix with its handlers by method. An id is one step to ``strict``, several to ``loose``."""

    strict: re.Pattern[str]
    loose: re.Pattern[str]
    handlers: dict[str, Handler]


def _route(path: str, **handlers: Handler) -> Route:
    escaped = re.escape(path)
    strict, loose = (re.compile(f"{_ID.sub(step, escaped)}\\Z", re.DOTALL) for step in ("([^/]+)", "(.+)"))
    return Route(strict, loose, handlers)


def _search_memories(request: Request) -> Action:
    from api.opensearch import searches  # noqa: PLC0415 - the engine is loaded with the first search

    return searches.memories(request)


def _search_messages(request: Request, memory_id: str) -> Action:
    from api.opensearch import searches  # noqa: PLC0415

    return searches.messages(request, memory_id)


ROUTES: Sequence[Route] = (
    _route("", GET=memories.page, POST=memories.create),
    _route("/_search", GET=_search_memories, POST=_search_memories),
    _route("/conversation", GET=first_generation.conversations, POST=first_generation.create),
    _route(
        "/conversation/{id}",
        GET=first_generation.interactions,
        POST=first_generation.add,
        DELETE=first_generation.delete,
    ),
    _route("/message/{id}/traces", GET=messages.traces),
    _route("/message/{id}", GET=messages.get, PUT=messages.change),
    _route("/{id}/messages", GET=messages.page, POST=messages.create),
    _route("/{id}/_search", GET=_search_messages, POST=_search_messages),
    _route("/{id}", GET=memories.get, PUT=memories.change, DELETE=memories.delete),
)


def find(request: Request) -> Callable[[], Action]:
    """What prepares the request's action.

    Raises:
        DialectError: no route has this path, or none has this method.
    """
    if request.path in ("", "/"):
        return _info(request)
    below = _below_prefix(request.path)
    if below is None:
        raise no_handler(request.method, request.uri)
    matching = [(route, found) for route in ROUTES if (found := route.strict.match(below))]
    for route, found in matching:
        if handler := route.handlers.get(request.method):
            return _bound(handler, request, found)
    allowed = sorted({method for route, _ in matching for method in route.handlers})
    if allowed:
        raise wrong_method(request, allowed)
    return _loose(request, below)


def _below_prefix(path: str) -> str | None:
    path = path.rstrip("/")
    if path == PREFIX or path.startswith(f"{PREFIX}/"):
        return path.removeprefix(PREFIX)
    return None


def _info(request: Request) -> Callable[[], Action]:
    if request.method not in _OF_ROOT:
        raise wrong_method(request, _OF_ROOT)
    return lambda: lambda: INFO


def wrong_method(request: Request, allowed: Sequence[str]) -> DialectError:
    """What a method gets that the path does not have; OPTIONS asks for just this."""
    headers = {"Allow": ",".join(allowed)}
    if request.method == "OPTIONS":
        return DialectError(200, None, headers)
    message = f"Incorrect HTTP method for uri [{request.uri}] and method [{request.method}], allowed: "
    return plain(405, f"{message}[{', '.join(allowed)}]", headers)


def _loose(request: Request, below: str) -> Callable[[], Action]:
    """A gateway decodes ``%2F`` before us, so that an id with a slash in it looks like a path: it is read as the id.

    Only where something is read: whoever writes to a path that does not exist is told so.
    """
    if request.method == "GET":
        for route in ROUTES:
            if found := route.loose.match(below):
                return _bound(route.handlers["GET"], request, found)
    raise no_handler(request.method, request.uri)


def _bound(handler: Handler, request: Request, found: re.Match[str]) -> Callable[[], Action]:
    ids = [unquote(id_, errors="replace") for id_ in found.groups()]
    return lambda: handler(request, *ids)
