"""The process that plays AWS: MiniStack's server on sockets that its parent opened.

Its parent (`emulator.py`) writes one command a line to its standard input; the end of that input is the parent's
death. MiniStack by itself saves only when it is asked to end, loses everything on SIGHUP, and listens beyond
loopback; here the state is saved every minute and at every orderly end, and nothing is acknowledged after the last
save.

`front ID` makes the front socket stand for the HTTP API with that id, so that any HTTP client can use the address
as its root. MiniStack's path form of an API is used, since with the host form some paths of ours (`/health`,
`/logout`) would be answered by MiniStack itself.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import ministack.app as ministack
from hypercorn.asyncio import serve
from hypercorn.config import Config
from hypercorn.typing import Framework
from ministack.core import lambda_runtime
from ministack.core.persistence import save_state

from infra.local import model_failures, shared_code

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

SAVE_EVERY_S = 60.0
DRAIN_S = 5.0

logger = logging.getLogger("local")


class Server:
    """The ASGI application on both sockets, and how it ends."""

    def __init__(self, front_port: int | None, *, keeps_state: bool) -> None:
        self._front_port = front_port
        self._keeps_state = keeps_state
        self._api_id: str | None = None
        self._in_flight = 0
        self._stop = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["server"][1] == self._front_port:
            await self._front(scope, receive, send)
        else:
            await ministack.app(scope, receive, send)

    async def _front(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._api_id is None or self._stop.is_set():
            await _unavailable(send)
            return
        stage = f"/_aws/execute-api/{self._api_id}/$default"
        scope["path"] = stage + scope["path"]
        scope["raw_path"] = stage.encode() + scope["raw_path"]
        self._in_flight += 1
        try:
            await ministack.app(scope, receive, send)
        finally:
            self._in_flight -= 1

    async def obey(self, commands: asyncio.StreamReader) -> None:
        """Read the parent's commands until it ends."""
        while line := (await commands.readline()).split():
            if line[0] == b"front":
                self._api_id = line[1].decode()
        self._stop.set()

    def stop(self) -> None:
        self._stop.set()

    async def save_regularly(self) -> None:
        while self._keeps_state:
            await asyncio.sleep(SAVE_EVERY_S)
            await self._save()

    async def _save(self) -> None:
        """Take each service's state in the event loop, where requests change it, and write it beside."""
        for name, state_of in ministack._build_persistence_save_dict().items():
            if (state := _taken(name, state_of)) is not None:
                await asyncio.to_thread(save_state, name, state)

    async def until_stopped(self) -> None:
        """Wait for the end, and be it: after the last save nothing more may be acknowledged."""
        await self._stop.wait()
        logger.info("stopping")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle(), DRAIN_S)
        lambda_runtime.reset()  # all workers end; their code is shared, so this is quick
        if self._keeps_state:
            for name, state_of in ministack._build_persistence_save_dict().items():
                if (state := _taken(name, state_of)) is not None:
                    save_state(name, state)
        logger.info("stopped")
        logging.shutdown()
        os._exit(0)

    async def _idle(self) -> None:
        """Wait until no request and no function is at work."""
        while self._in_flight or lambda_runtime.workers_in_use():
            await asyncio.sleep(0.02)


def _taken(name: str, state_of: Callable[[], Any]) -> Any:
    """The state of one service. A Lambda's thread may change it while it is copied, so that is tried again."""
    for _ in range(5):
        with suppress(RuntimeError):
            return state_of()
    logger.warning("the state of %s kept changing: not saved this time", name)
    return None


async def _unavailable(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"message":"The local stack is starting or stopping"}'})


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def _main(sockets: list[int], front_port: int | None, *, keeps_state: bool) -> None:
    server = Server(front_port, keeps_state=keeps_state)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    logging.getLogger("persistence").setLevel(logging.WARNING)  # it has a line for each of fifty services
    config = Config()
    config.bind = [f"fd://{descriptor}" for descriptor in sockets]
    config.keep_alive_timeout = 75
    beside = [
        asyncio.create_task(server.obey(await _standard_input())),
        asyncio.create_task(server.save_regularly()),
    ]
    application: Framework = server
    await serve(application, config, shutdown_trigger=server.until_stopped)
    for task in beside:
        task.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sockets", type=int, nargs="+", help="descriptors of listening sockets")
    parser.add_argument("--front-port", type=int)
    parser.add_argument("--keep-state", action="store_true")
    given = parser.parse_args()
    shared_code.share()
    model_failures.tell()
    asyncio.run(_main(given.sockets, given.front_port, keeps_state=given.keep_state))


if __name__ == "__main__":
    main()
