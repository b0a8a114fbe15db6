"""Sending once over httpx, which is imported when a client is made and not before, so that importing this package is
quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conversation_memory.errors import ClosedError
from conversation_memory.identity import Identity, awaited, now
from conversation_memory.steps import Answer, Lost, Request

if TYPE_CHECKING:
    import httpx

_CONNECT_S = 5.0
_AGENT = "conversation-memory-python"
_PUBLIC = ("/status", "/openapi.json")


class Address:
    """Where the service is, and what is sent there for whom."""

    def __init__(self, url: str, identity: Identity) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise ValueError("The address of the service is an http(s) URL without a query.")
        self._url = url.rstrip("/")
        self.identity = identity

    def of(self, request: Request) -> str:
        """The URL that a request goes to. The public routes are the same for everybody."""
        prefix = "" if request.path in _PUBLIC else self.identity.prefix
        return f"{self._url}{prefix}{request.path}"


class Transport:
    """Sends and blocks."""

    def __init__(self, address: Address, timeout_s: float, http: httpx.Client | None) -> None:
        import httpx  # noqa: PLC0415 - see above

        self._address = address
        self._is_own = http is None
        self._http = http or httpx.Client(timeout=_timeouts(timeout_s))

    def send(self, request: Request) -> Answer | Lost:
        import httpx  # noqa: PLC0415

        _check_open(self._http)
        url = self._address.of(request)
        headers = {**_own(request), **now(self._address.identity.headers(request, url))}
        try:
            timeout = _patience(self._http, request)
            return _answer(
                self._http.request(request.method, url, headers=headers, content=request.body, timeout=timeout)
            )
        except httpx.LocalProtocolError:
            raise  # a header that cannot be sent, now or later
        except httpx.RequestError as error:
            return _lost(error)

    def close(self) -> None:
        if self._is_own:
            self._http.close()


class AsyncTransport:
    """Sends and awaits."""

    def __init__(self, address: Address, timeout_s: float, http: httpx.AsyncClient | None) -> None:
        import httpx  # noqa: PLC0415 - see above

        self._address = address
        self._is_own = http is None
        self._http = http or httpx.AsyncClient(timeout=_timeouts(timeout_s))

    async def send(self, request: Request) -> Answer | Lost:
        import httpx  # noqa: PLC0415

        _check_open(self._http)
        url = self._address.of(request)
        headers = {**_own(request), **await awaited(self._address.identity.headers(request, url))}
        try:
            timeout = _patience(self._http, request)
            return _answer(
                await self._http.request(request.method, url, headers=headers, content=request.body, timeout=timeout)
            )
        except httpx.LocalProtocolError:
            raise  # a header that cannot be sent, now or later
        except httpx.RequestError as error:
            return _lost(error)

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()


def _timeouts(timeout_s: float) -> httpx.Timeout:
    import httpx  # noqa: PLC0415

    return httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))


def _patience(http: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Timeout:
    """The client's time-outs, with the time that the service was asked to wait on top."""
    import httpx  # noqa: PLC0415

    of = http.timeout
    read = None if of.read is None else of.read + request.waits_s
    return httpx.Timeout(connect=of.connect, read=read, write=of.write, pool=of.pool)


def _check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise ClosedError("The client is closed.")


def _own(request: Request) -> dict[str, str]:
    return {"accept": "application/json", "user-agent": _AGENT, **request.headers}


def _answer(response: httpx.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


def _lost(error: httpx.RequestError) -> Lost:
    """What httpx says of a connection: those that were never made sent nothing."""
    import httpx  # noqa: PLC0415

    not_sent = httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol
    return Lost(f"{type(error).__name__}: {error}", was_sent=not isinstance(error, not_sent))
