"""The two clients: one blocks, one awaits. Their methods are the same operations, carried out by two thin drivers."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from conversation_memory import following, operations
from conversation_memory.identity import Bearer, Identity, Nobody, Token
from conversation_memory.retrying import Policy, driven
from conversation_memory.steps import Emit, Send, Sleep, Steps, T
from conversation_memory.transport import Address, AsyncTransport, Transport
from conversation_memory.types import Conversation, Message, TurnEvent

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self

P = ParamSpec("P")
Item = TypeVar("Item")


class _Method(Generic[P, T]):
    """An operation as a method: of ``Client`` it returns the value, of ``AsyncClient`` something to await."""

    def __init__(self, operation: Callable[P, Steps[T]]) -> None:
        self._operation = operation

    @overload
    def __get__(self, client: None, kind: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, kind: type) -> Any:
        return _bound(self._operation, None if client is None else client.run)


class _Iteration(Generic[P, Item]):
    """An operation that emits, as a method: of ``Client`` an iterator, of ``AsyncClient`` one for ``async for``."""

    def __init__(self, operation: Callable[P, Steps[None]], item: type[Item]) -> None:
        self._operation = operation

    @overload
    def __get__(self, client: None, kind: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[P, Iterator[Item]]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: type) -> Callable[P, AsyncIterator[Item]]: ...
    def __get__(self, client: Any, kind: type) -> Any:
        return _bound(self._operation, None if client is None else client.iterate)


def _bound(operation: Callable[..., Any], carry_out: Callable[[Any], Any] | None) -> Callable[..., Any]:
    if carry_out is None:
        return operation

    @functools.wraps(operation)
    def method(*arguments: Any, **named: Any) -> Any:
        return carry_out(operation(*arguments, **named))

    return method


class _Operations:
    """Every route of the API; ``help(client.start_turn)`` says what each does."""

    create_conversation = _Method(operations.create_conversation)
    conversation_page = _Method(operations.conversation_page)
    conversations = _Iteration(operations.conversations, Conversation)
    find_conversation = _Method(operations.find_conversation)
    get_conversation = _Method(operations.get_conversation)
    change_conversation = _Method(operations.change_conversation)
    delete_conversation = _Method(operations.delete_conversation)
    delete_conversations = _Method(operations.delete_conversations)
    append_message = _Method(operations.append_message)
    append_messages = _Method(operations.append_messages)
    message_page = _Method(operations.message_page)
    messages = _Iteration(operations.messages, Message)
    get_message = _Method(operations.get_message)
    search_messages = _Method(operations.search_messages)
    clear_messages = _Method(operations.clear_messages)
    get_history = _Method(operations.get_history)
    start_turn = _Method(operations.start_turn)
    get_turn = _Method(operations.get_turn)
    ask_again = _Method(operations.ask_again)
    cancel_turn = _Method(operations.cancel_turn)
    follow = _Iteration(following.follow, TurnEvent)
    answer = _Method(following.answer)
    get_status = _Method(operations.get_status)
    get_open_api = _Method(operations.get_open_api)


class Client(_Operations):
    """The memory at an address, for one caller. It keeps connections: share it between threads, and close it.

    ``token`` is a bearer token or what is called for one before each request; ``identity`` anything else, such as
    ``conversation_memory.sigv4.SigV4``. ``timeout_s`` bounds the silence in each attempt (a long poll has its time on
    top), ``attempts`` how often a request is sent at most. ``http`` is an httpx client of your own, which stays yours.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        identity: Identity | None = None,
        timeout_s: float = 35,
        attempts: int = 5,
        http: httpx.Client | None = None,
    ) -> None:
        self._policy = Policy(attempts)
        self._transport = Transport(Address(url, _identity(token, identity)), timeout_s, http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def run(self, steps: Steps[T]) -> T:
        """Carry out an operation, or several that are written as one."""
        work = driven(steps, self._policy)
        reply: Any = None
        while True:
            try:
                step = work.send(reply)
            except StopIteration as done:
                returned: T = done.value
                return returned
            reply = self._do(step)

    def iterate(self, steps: Steps[None]) -> Iterator[Any]:
        """What an operation emits, as it comes."""
        work = driven(steps, self._policy)
        reply: Any = None
        while True:
            try:
                step = work.send(reply)
            except StopIteration:
                return
            reply = self._do(step)
            if isinstance(step, Emit):
                yield step.value

    def _do(self, step: object) -> Any:
        if isinstance(step, Send):
            return self._transport.send(step.request)
        if isinstance(step, Sleep):
            time.sleep(step.seconds)
        return None


class AsyncClient(_Operations):
    """``Client`` for asyncio: its methods are awaited, and its iterators are for ``async for``."""

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        identity: Identity | None = None,
        timeout_s: float = 35,
        attempts: int = 5,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._policy = Policy(attempts)
        self._transport = AsyncTransport(Address(url, _identity(token, identity)), timeout_s, http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def run(self, steps: Steps[T]) -> T:
        """Carry out an operation, or several that are written as one."""
        work = driven(steps, self._policy)
        reply: Any = None
        while True:
            try:
                step = work.send(reply)
            except StopIteration as done:
                returned: T = done.value
                return returned
            reply = await self._do(step)

    async def iterate(self, steps: Steps[None]) -> AsyncIterator[Any]:
        """What an operation emits, as it comes."""
        work = driven(steps, self._policy)
        reply: Any = None
        while True:
            try:
                step = work.send(reply)
            except StopIteration:
                return
            reply = await self._do(step)
            if isinstance(step, Emit):
                yield step.value

    async def _do(self, step: object) -> Any:
        if isinstance(step, Send):
            return await self._transport.send(step.request)
        if isinstance(step, Sleep):
            import asyncio  # noqa: PLC0415 - two thirds of what importing this package would take

            await asyncio.sleep(step.seconds)
        return None


def _identity(token: Token | None, identity: Identity | None) -> Identity:
    if token is not None and identity is not None:
        raise ValueError("A caller has a token, or another identity.")
    return identity or (Nobody() if token is None else Bearer(token))
