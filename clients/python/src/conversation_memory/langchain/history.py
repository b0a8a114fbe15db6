"""The chat history of a session, as LangChain's ``BaseChatMessageHistory``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.runnables import run_in_executor

from conversation_memory import operations
from conversation_memory.client import AsyncClient, Client
from conversation_memory.langchain.reading import shown
from conversation_memory.langchain.windows import TokenCounter, Window
from conversation_memory.langchain.writing import written
from conversation_memory.sessions import NamedConversation
from conversation_memory.steps import Steps

_PAGE = 1000


class ConversationMemoryHistory(BaseChatMessageHistory):
    """The messages of a session, safe for many writers; nothing that is read removes anything.

    Arguments:
        session_id: your own name for the conversation: any text of 1 to 1,024 bytes without NUL.
        client, async_client: one of them, or both. With ``client`` alone the asynchronous methods run in threads.
        ttl: seconds without activity after which the session expires; kept in whole days, rounded up.
        max_messages, max_tokens: how much ``messages`` shows: the newest that fit, with tool calls and their results
            together, after the system messages with which the conversation begins. All of it if neither is given.
        token_counter: counts the tokens of a list of messages, as ``trim_messages`` takes it; the service's estimate
            is used if none is given.
    """

    def __init__(
        self,
        session_id: str,
        client: Client | None = None,
        *,
        async_client: AsyncClient | None = None,
        ttl: float | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        token_counter: TokenCounter | None = None,
    ) -> None:
        if client is None and async_client is None:
            raise ValueError("A history needs a client or an async_client.")
        self.session_id = session_id
        self._client = client
        self._async_client = async_client
        self._conversation = NamedConversation(session_id, ttl)
        self._window = Window(max_messages, max_tokens, token_counter)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return self._blocking().run(self._read())

    @messages.setter
    def messages(self, _: list[BaseMessage]) -> NoReturn:
        raise NotImplementedError("messages cannot be assigned: use add_messages, or clear")

    def add_messages(self, messages: Sequence[BaseMessage], *, idempotency_key: str | None = None) -> None:
        """Append: up to 98 messages at once or not at all.

        The client repeats safely by itself. With a key of your own, so may you.

        Raises:
            UnstorableError: something in a message could not be given back as it is; nothing was stored.
            TooLargeError: a message is larger than a request may be; nothing was stored.
        """
        self._blocking().run(self._conversation.append(written(messages), idempotency_key))

    def clear(self) -> None:
        """Take away all messages, at once."""
        self._blocking().run(self._conversation.clear())

    def delete(self) -> None:
        """Take away the session with all that belongs to it."""
        self._blocking().run(self._conversation.delete())

    async def aget_messages(self) -> list[BaseMessage]:
        """``messages``, awaited."""
        if self._async_client is not None:
            return await self._async_client.run(self._read())
        found: list[BaseMessage] = await super().aget_messages()
        return found

    async def aadd_messages(self, messages: Sequence[BaseMessage], *, idempotency_key: str | None = None) -> None:
        """``add_messages``, awaited."""
        if self._async_client is None:
            await run_in_executor(None, partial(self.add_messages, messages, idempotency_key=idempotency_key))
        else:
            await self._async_client.run(self._conversation.append(written(messages), idempotency_key))

    async def aclear(self) -> None:
        """``clear``, awaited."""
        if self._async_client is None:
            await super().aclear()
        else:
            await self._async_client.run(self._conversation.clear())

    async def adelete(self) -> None:
        """``delete``, awaited."""
        if self._async_client is None:
            await run_in_executor(None, self.delete)
        else:
            await self._async_client.run(self._conversation.delete())

    def _blocking(self) -> Client:
        if self._client is None:
            raise ValueError(
                "This history has an async_client only: use aget_messages, aadd_messages, aclear and adelete."
            )
        return self._client

    def _read(self) -> Steps[list[BaseMessage]]:
        if self._window.is_empty:
            return []
        is_whole = self._window.max_messages is None and self._window.max_tokens is None
        return (yield from self._conversation.read(_all if is_whole else self._window.read, []))


def _all(conversation_id: str) -> Steps[list[BaseMessage]]:
    found: list[BaseMessage] = []
    cursor: str | None = None
    while True:
        page = yield from operations.message_page(conversation_id, limit=_PAGE, cursor=cursor)
        found += [message for row in page["messages"] for message in shown(row)]
        cursor = page["nextCursor"]
        if cursor is None:
            return found
