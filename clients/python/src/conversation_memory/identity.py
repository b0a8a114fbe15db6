"""Who calls: what a request carries so that the service knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from inspect import isawaitable
from typing import Any, Protocol

from conversation_memory.steps import Request

Headers = Mapping[str, str]
Token = str | Callable[[], str | Awaitable[str]]
"""A bearer token, or what is called for one before each request, so that it may renew it."""


class Identity(Protocol):
    """Says under which prefix the caller's routes are, and signs each attempt of a request."""

    prefix: str

    def headers(self, request: Request, url: str) -> Headers | Awaitable[Headers]:
        """The headers to add to this request to this address."""


class Nobody:
    """A service without security, or its public routes."""

    prefix = ""

    def headers(self, request: Request, url: str) -> Headers:
        return {}


class Bearer:
    """A person with a token."""

    prefix = ""

    def __init__(self, token: Token) -> None:
        self._token = token

    def headers(self, request: Request, url: str) -> Headers | Awaitable[Headers]:
        token = self._token if isinstance(self._token, str) else self._token()
        return _bearing(token) if isinstance(token, str) else _Later(token)


def now(headers: Headers | Awaitable[Headers]) -> Headers:
    """Headers for a client that cannot await.

    Raises:
        TypeError: the token has to be awaited.
    """
    if isinstance(headers, _Later):
        headers.close()
    if isawaitable(headers):
        raise TypeError("The token is to be awaited: that is for AsyncClient.")
    return headers


async def awaited(headers: Headers | Awaitable[Headers]) -> Headers:
    """Headers for a client that can."""
    return await headers if isawaitable(headers) else headers


def _bearing(token: str) -> Headers:
    if not (token.isascii() and token.isprintable()):  # what a library says of it would show it
        raise ValueError("The token holds what no header can: it is to be printable ASCII, on one line.")
    return {"authorization": f"Bearer {token}"}


class _Later:
    """The headers of a token that has to be awaited."""

    def __init__(self, token: Awaitable[str]) -> None:
        self._token = token

    def __await__(self) -> Generator[Any, None, Headers]:
        token = yield from self._token.__await__()
        return _bearing(token)

    def close(self) -> None:
        """Nobody will await it."""
        close = getattr(self._token, "close", None)
        if close:
            close()
