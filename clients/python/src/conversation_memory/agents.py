"""A session for the OpenAI Agents SDK: its ``Session`` protocol over a conversation. It imports nothing of the SDK.

Each item is a message of the conversation, with the item itself beside the content blocks that everybody else sees.
Conversations only grow, so taking an item back is a message, too, which says so: since they are a strict chain, all
readers agree which item it takes, and of two that are taken at once each is another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

from conversation_memory import converse, operations, values
from conversation_memory.client import AsyncClient
from conversation_memory.errors import ClosedError
from conversation_memory.sessions import NamedConversation
from conversation_memory.steps import Steps, T
from conversation_memory.types import Message, NewMessage, Role

Item = dict[str, Any]
MEMBER = "openai"
_TAKEN = "taken"
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_TEXTS = ("input_text", "output_text", "text")
_FIRST_PAGE = 20
_LARGEST_PAGE = 1000


class ConversationMemorySession:
    """The items of a session, for ``Runner.run(agent, input, session=...)``.

    ``session_settings`` may hold the SDK's ``SessionSettings``, whose limit counts where none is given. ``ttl`` are
    seconds without activity after which the session expires, kept in whole days, rounded up.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncClient,
        *,
        session_settings: Any = None,
        ttl: float | None = None,
    ) -> None:
        self._conversation = NamedConversation(session_id, ttl)
        self.session_id = session_id
        self.session_settings = session_settings
        self._client = client
        self._is_closed = False

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The newest ``limit`` items, oldest first; all of them without a limit, none if it is 0 or less."""
        wanted = limit if limit is not None else _limit_of(self.session_settings)
        self._check_open()
        if wanted is not None and wanted <= 0:
            return []
        return await self._client.run(self._conversation.read(lambda found: _items(found, wanted), []))

    async def add_items(self, items: list[Item]) -> None:
        """Append: up to 98 items at once or not at all. What was begun is brought to an end, even if it is cancelled.

        Raises:
            UnstorableError: an item could not be given back as it is; nothing was stored.
        """
        self._check_open()
        if items:
            messages = [_written(item, place) for place, item in enumerate(items)]
            await self._to_the_end(self._conversation.append(messages))

    async def pop_item(self) -> Item | None:
        """Take the newest item back, and return it; ``None`` if there is none."""
        self._check_open()
        return await self._to_the_end(self._conversation.read(_pop, None))

    async def clear_session(self) -> None:
        """Take away all items, at once."""
        self._check_open()
        await self._to_the_end(self._conversation.clear())

    async def close(self) -> None:
        """Refuse to be used any more. The client stays open."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("The session is closed.")

    async def _to_the_end(self, steps: Steps[T]) -> T:
        return await _uninterrupted(self._client.run(steps))


async def _uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Bring a write to its end, so that a cancellation never hides what was stored; then be cancelled."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()  # somebody has to look at it
        raise cancelled
    return task.result()


def _limit_of(settings: Any) -> int | None:
    if isinstance(settings, Mapping):
        return settings.get("limit")
    limit: int | None = getattr(settings, "limit", None)
    return limit


# Reading


def _items(conversation_id: str, limit: int | None) -> Steps[list[Item]]:
    """The newest items that were not taken back, oldest first."""
    newest: list[Item] = []
    to_skip = 0
    cursor: str | None = None
    size = _LARGEST_PAGE if limit is None else min(_LARGEST_PAGE, limit + _FIRST_PAGE)
    while True:
        page = yield from operations.message_page(conversation_id, order="desc", limit=size, cursor=cursor)
        for row in page["messages"]:
            if _is_taking(row):
                to_skip += 1
                continue
            for item in _shown(row):
                if to_skip:
                    to_skip -= 1
                elif limit is None or len(newest) < limit:
                    newest.append(item)
        cursor = page["nextCursor"]
        if cursor is None or (limit is not None and len(newest) >= limit):
            return newest[::-1]


def _pop(conversation_id: str) -> Steps[Item | None]:
    if not (yield from _items(conversation_id, 1)):
        return None
    taking: NewMessage = {"role": "system", "content": [{MEMBER: {_TAKEN: 1}}]}
    [taken] = yield from operations.append_messages(conversation_id, [taking])
    return (yield from _taken_by(conversation_id, taken["id"]))


def _taken_by(conversation_id: str, taking_id: str) -> Steps[Item | None]:
    """The item that a message takes back: the newest before it that no other has taken."""
    waiting: int | None = None
    cursor: str | None = None
    while True:
        page = yield from operations.message_page(conversation_id, order="desc", limit=_FIRST_PAGE, cursor=cursor)
        for row in page["messages"]:
            if row["id"] == taking_id:
                waiting = 0
            elif waiting is not None and _is_taking(row):
                waiting += 1
            elif waiting is not None:
                for item in _shown(row):
                    if not waiting:
                        return item
                    waiting -= 1
        cursor = page["nextCursor"]
        if cursor is None:
            return None


def _is_taking(row: Message) -> bool:
    return any(isinstance(block.get(MEMBER), Mapping) and _TAKEN in block[MEMBER] for block in row["content"])


def _shown(row: Message) -> Iterator[Item]:
    """A stored message as items, newest first: the one that was written, or what others wrote in the SDK's words.

    What cannot be read is no item: it is skipped, and does not count.
    """
    carried = converse.carried(row["content"], MEMBER)
    if carried is None:
        yield from reversed(_translated(row))
        return
    try:
        item = values.decode(carried["item"], row["content"])
    except (ValueError, TypeError, LookupError, AttributeError):
        return
    if isinstance(item, dict):
        yield item


def _translated(row: Message) -> list[Item]:
    said = "".join(block["text"] for block in row["content"] if isinstance(block.get("text"), str))
    items: list[Item] = [{"role": _role_of(row), "content": said}] if said else []
    for block in row["content"]:
        if "toolUse" in block:
            items.append(_call(block["toolUse"]))
        elif "toolResult" in block:
            result = block["toolResult"]
            output = "".join(part.get("text") or values.as_text(part) for part in result["content"])
            items.append({"type": "function_call_output", "call_id": result["toolUseId"], "output": output})
    return items


def _role_of(row: Message) -> str:
    return "user" if row["role"] == "tool" else row["role"]


def _call(use: Mapping[str, Any]) -> Item:
    arguments = values.as_text(use["input"])
    return {"type": "function_call", "call_id": use["toolUseId"], "name": use["name"], "arguments": arguments}


# Writing


def _written(item: Any, place: int) -> NewMessage:
    if not isinstance(item, Mapping):
        raise TypeError(f"items[{place}] is a {type(item).__name__}, and items are dictionaries")
    role, blocks = _blocks(item)
    carried = {"item": values.encode(dict(item), where=f"items[{place}]", blocks=blocks)}
    return {"role": role, "content": converse.carrying(blocks, MEMBER, carried)}


def _blocks(item: Mapping[str, Any]) -> tuple[Role, list[dict[str, Any]]]:
    kind = item.get("type", "message")
    if kind == "function_call" and isinstance(item.get("call_id"), str):
        return "assistant", [converse.tool_use(item["call_id"], str(item.get("name")), _arguments(item))]
    if kind == "function_call_output" and isinstance(item.get("call_id"), str):
        return "tool", [converse.tool_result(item["call_id"], _texts(item.get("output")))]
    role = _ROLES.get(str(item.get("role", "assistant")), "user")
    return role, _texts(item.get("content")) if kind == "message" else []


def _arguments(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the tool is called with, which models write as JSON in a text; anything else is shown as that text."""
    try:
        arguments = json.loads(item["arguments"])
        json.dumps(arguments, allow_nan=False).encode()
    except (ValueError, TypeError, LookupError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _texts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return converse.text(content)
    parts = content if isinstance(content, list) else []
    texts = (part["text"] for part in parts if isinstance(part, Mapping) and part.get("type") in _TEXTS)
    return [block for text in texts if isinstance(text, str) for block in converse.text(text)]
