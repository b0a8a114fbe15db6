"""What the sessions of a caller are called, and many of them deleted at once."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, overload

from conversation_memory import operations
from conversation_memory.client import AsyncClient, Client
from conversation_memory.sessions import check_session_id
from conversation_memory.steps import Steps

_MOST_AT_ONCE = 100


@overload
def list_sessions(client: Client) -> list[str]: ...
@overload
def list_sessions(client: AsyncClient) -> Coroutine[Any, Any, list[str]]: ...
def list_sessions(client: Client | AsyncClient) -> Any:
    """The ids of all sessions, last activity first; to be awaited of an ``AsyncClient``."""
    return client.run(_listed())


@overload
def delete_sessions(client: Client, session_ids: Iterable[str]) -> list[str]: ...
@overload
def delete_sessions(client: AsyncClient, session_ids: Iterable[str]) -> Coroutine[Any, Any, list[str]]: ...
def delete_sessions(client: Client | AsyncClient, session_ids: Iterable[str]) -> Any:
    """Delete sessions; returns the ids of those that were there. To be awaited of an ``AsyncClient``."""
    wanted = list(dict.fromkeys(session_ids))
    for session_id in wanted:
        check_session_id(session_id)
    return client.run(_deleted(wanted))


def _listed() -> Steps[list[str]]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = yield from operations.conversation_page(limit=1000, cursor=cursor)
        found += [one["sessionId"] for one in page["conversations"] if "sessionId" in one]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


def _deleted(session_ids: list[str]) -> Steps[list[str]]:
    deleted: list[str] = []
    for place in range(0, len(session_ids), _MOST_AT_ONCE):
        by_id: dict[str, str] = {}
        for session_id in session_ids[place : place + _MOST_AT_ONCE]:
            found = yield from operations.find_conversation(session_id)
            if found is not None:
                by_id[found["id"]] = session_id
        if by_id:
            done = yield from operations.delete_conversations(list(by_id))
            deleted += [by_id[conversation_id] for conversation_id in done["deleted"]]
    return deleted
