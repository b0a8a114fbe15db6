"""The API of a test behind httpx: a client sends to it as to any service, and answers can go wrong on the way."""

from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock

import httpx

from tests.bed.in_process import Api

Fault = Callable[["Served", httpx.Request], httpx.Response]
_JSON = "application/json"
_ONE_REQUEST = Lock()  # a function has one at a time, and Powertools keeps it on a class


class Served(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Hands requests to the API. The first of them meet the faults, if there are any."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.faults: deque[Fault] = deque()
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else Served.carry_out
        return fault(self, request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self.handle_request(request)

    def carry_out(self, request: httpx.Request) -> httpx.Response:
        """What the API answers; in OpenSearch's dialect too, which no document describes."""
        if request.url.path.startswith("/_plugins/"):
            with _ONE_REQUEST:
                told = self.api.send(
                    request.method,
                    request.url.path,
                    request.content.decode() or None,
                    dict(request.url.params),
                    dict(request.headers),
                )
            return httpx.Response(told["statusCode"], headers=told["headers"], text=told["body"])
        with _ONE_REQUEST:
            answer = self.api.call(
                request.method,
                request.url.path,
                raw=request.content.decode() or None,
                query=dict(request.url.params),
                headers=request.headers,
            )
        headers = {name: str(value) for name, value in answer.headers.items()}
        body = b"" if answer.status == 204 else httpx.Response(200, json=answer.body).content
        return httpx.Response(answer.status, headers=headers, content=body)


def lost(served: Served, request: httpx.Request) -> httpx.Response:
    """It is carried out, and the connection breaks instead of an answer."""
    served.carry_out(request)
    raise httpx.ReadError("reset by peer", request=request)


def late(served: Served, request: httpx.Request) -> httpx.Response:
    """It is carried out, and nobody waits long enough for the answer."""
    served.carry_out(request)
    raise httpx.ReadTimeout("timed out", request=request)


def refused(served: Served, request: httpx.Request) -> httpx.Response:
    """Nothing is sent at all."""
    raise httpx.ConnectError("refused", request=request)


def answering(status: int, body: str = '{"message": "no"}', headers: Mapping[str, str] | None = None) -> Fault:
    """Another one answers in the API's place."""

    def fault(served: Served, request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"content-type": _JSON, **(headers or {})}, text=body)

    return fault


def done_and_answering(status: int) -> Fault:
    """It is carried out, and something between says that it went wrong."""

    def fault(served: Served, request: httpx.Request) -> httpx.Response:
        served.carry_out(request)
        return httpx.Response(status, json={"message": "no"})

    return fault
