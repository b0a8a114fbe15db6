"""What is there already: how far a session was moved before, by what stands in the target itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conversation_memory import Client
from conversation_memory.moving.found import MOVED_FROM
from conversation_memory.types import Conversation, Message

_FIRST_PAGE = 20
_LARGEST_PAGE = 1000


@dataclass(frozen=True)
class Reached:
    """The last row that was moved: its place, which of the moved messages it is (1, 2, 3), the digest up to it, and the
    message's id.
    """

    place: int
    number: int
    digest: str
    message_id: str


def reached(client: Client, conversation_id: str, source: str) -> Reached | None:
    """The last row of that source in the conversation.

    Rows are stored in their order, so it is the newest message that came from there, whoever wrote what is newer.
    """
    for message in _newest_first(client, conversation_id):
        moved = moved_from(message, source)
        if moved is not None:
            return Reached(moved["place"], moved["number"], str(moved.get("digest")), message["id"])
    return None


def ids_by_place(client: Client, conversation_id: str, source: str) -> dict[int, str]:
    """The messages of the conversation that came from that source."""
    found: dict[int, str] = {}
    for message in client.messages(conversation_id, page_size=_LARGEST_PAGE):
        moved = moved_from(message, source)
        if moved is not None:
            found[moved["place"]] = message["id"]
    return found


def client_ids(client: Client, conversation_id: str, source: str, *, before: int) -> set[str]:
    """The names that clients gave to messages of the conversation, but for those from that place of the source on."""
    found: set[str] = set()
    for message in client.messages(conversation_id, page_size=_LARGEST_PAGE):
        moved = moved_from(message, source)
        if "clientMessageId" in message and (moved is None or moved["place"] < before):
            found.add(message["clientMessageId"])
    return found


def answer_to(client: Client, conversation_id: str, question_id: str) -> Message | None:
    """The answer to a message, which stands somewhere behind it."""
    for message in _newest_first(client, conversation_id):
        if message.get("associatedUserMessageId") == question_id:
            return message
        if message["id"] == question_id:
            return None
    return None


def moved_from(message: Message, source: str) -> Mapping[str, Any] | None:
    """What the message says of that source; ``None`` if it did not come from there."""
    moved = (message.get("metadata") or {}).get(MOVED_FROM)
    if not isinstance(moved, dict) or moved.get("source") != source:
        return None
    return moved if isinstance(moved.get("place"), int) and isinstance(moved.get("number"), int) else None


def origins(metadata: Mapping[str, Any]) -> list[Any]:
    """What a conversation's metadata say of where it was moved from, one object for each source."""
    listed = metadata.get(MOVED_FROM)
    return listed if isinstance(listed, list) else []


def was_begun(conversation: Conversation, source: str, key: str) -> bool:
    """Whether messages of that session have been moved into the conversation before."""
    return any(_is_of(one, source, key) and one.get("begun") is True for one in origins(conversation["metadata"]))


def is_known(metadata: Mapping[str, Any], source: str, key: str) -> bool:
    """Whether these metadata, of a conversation, name that session."""
    return any(_is_of(one, source, key) for one in origins(metadata))


def _is_of(origin: Any, source: str, key: str) -> bool:
    return isinstance(origin, dict) and origin.get("source") == source and origin.get("key") == key


def _newest_first(client: Client, conversation_id: str) -> Iterator[Message]:
    page = client.message_page(conversation_id, order="desc", limit=_FIRST_PAGE)
    while True:
        yield from page["messages"]
        if page["nextCursor"] is None:
            return
        page = client.message_page(conversation_id, order="desc", limit=_LARGEST_PAGE, cursor=page["nextCursor"])
