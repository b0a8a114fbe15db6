"""The uses of a conversation whose cost must not follow its length, and those whose may."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.bed import text
from tests.bench.metered import Metered

SIZE = 500
Use = Callable[[Metered, str], object]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One use of a conversation, given by its id; ``before`` is what comes before it and is not counted."""

    name: str
    use: Use
    before: Use = lambda *_: None


def _messages(service: Metered, id_: str, **query: object) -> list[dict[str, str]]:
    found: list[dict[str, str]] = service.request("GET", f"/conversations/{id_}/messages", **query)["messages"]
    return found


def _append(service: Metered, id_: str) -> object:
    body = {"role": "user", "content": [{"text": text(1, SIZE)}]}
    return service.request("POST", f"/conversations/{id_}/messages", body)


def _older(service: Metered, id_: str) -> object:
    first = service.request("GET", f"/conversations/{id_}/messages", order="desc", limit=5)
    return _messages(service, id_, order="desc", limit=5, cursor=first["nextCursor"])


def _one(service: Metered, id_: str) -> object:
    [oldest] = _messages(service, id_, order="asc", limit=1)
    return service.request("GET", f"/conversations/{id_}/messages/{oldest['id']}")


def _search(service: Metered, id_: str) -> object:
    return service.request("GET", f"/conversations/{id_}/search", q="window", limit=10)


# In this order: the last two leave nothing of the conversation.
PATTERNS = (
    Pattern("append one message", _append),
    Pattern("the last 20", lambda service, id_: _messages(service, id_, order="desc", limit=20)),
    Pattern("the first 20", lambda service, id_: _messages(service, id_, order="asc", limit=20)),
    Pattern("the last 5, and the 5 before them", _older),
    Pattern("the first message, then that by its id", _one),
    Pattern(
        "the history, a window of 20",
        lambda service, id_: service.request("GET", f"/conversations/{id_}/history", maxMessages=20),
    ),
    Pattern("list conversations", lambda service, _: service.request("GET", "/conversations", limit=1)),
    Pattern("search, 10 hits, the index at hand", _search, before=_search),
    Pattern("clear", lambda service, id_: service.request("DELETE", f"/conversations/{id_}/messages")),
    Pattern("delete", lambda service, id_: service.request("DELETE", f"/conversations/{id_}")),
)
