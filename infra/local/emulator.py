"""Starts, watches and ends the process that plays AWS (`emulator_process.py`)."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from infra.local import environment, sockets

_ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 120.0  # the drain, the workers' grace and the last save of a large state


class EmulatorError(Exception):
    """The emulator did not come up, or is gone."""


@dataclass(frozen=True, kw_only=True)
class EmulatorSettings:
    """Where an emulator keeps what it has, and what its functions find in their environment besides."""

    folder: Path
    keep_state: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def scratch(self) -> Path:
        return self.folder / "tmp"

    @property
    def log(self) -> Path:
        return self.folder / "emulator.log"


class Emulator:
    """One MiniStack server process: a context manager, from its start to its end."""

    def __init__(
        self, settings: EmulatorSettings, *, aws: socket.socket | None = None, front: socket.socket | None = None
    ) -> None:
        self._settings = settings
        self._aws = aws or sockets.listening()
        self._front = front
        self._process: subprocess.Popen[bytes] | None = None
        self.port = sockets.port_of(self._aws)
        self.endpoint_url = f"http://{sockets.HOST}:{self.port}"

    def __enter__(self) -> Self:
        if self._process is None:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process, and return when it answers."""
        self._spawn()
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def serve_api_at_front(self, api_id: str) -> None:
        """Let the front socket stand for this HTTP API."""
        commands = self._running().stdin
        assert commands is not None
        commands.write(f"front {api_id}\n".encode())
        commands.flush()

    def wait(self) -> int:
        """Block until the process ends by itself."""
        return self._running().wait()

    def log_tail(self, lines: int = 40) -> str:
        """The end of its log, for a person who wonders what went wrong."""
        if not self._settings.log.exists():
            return ""
        return "\n".join(self._settings.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """Ask it to save and end; whatever is left of its process group after that is killed."""
        if (process := self._process) is None:
            return
        self._process = None
        _close(process.stdin)
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            _kill_group(process.pid)
            shutil.rmtree(self._settings.scratch, ignore_errors=True)

    def _spawn(self) -> None:
        kept = [opened for opened in (self._aws, self._front) if opened is not None]
        command = [sys.executable, "-m", "infra.local.emulator_process", *(str(opened.fileno()) for opened in kept)]
        if self._front is not None:
            command += ["--front-port", str(sockets.port_of(self._front))]
        if self._settings.keep_state:
            command += ["--keep-state"]
        self._settings.scratch.mkdir(parents=True, exist_ok=True)
        with self._settings.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=_ROOT,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[opened.fileno() for opened in kept],
                # A group of its own: Ctrl-C in the terminal reaches the parent alone, which ends things in order.
                start_new_session=True,
            )
        for opened in kept:
            opened.close()

    def _environment(self) -> dict[str, str]:
        settings = self._settings
        return {
            **environment.for_emulator(os.environ),
            "GATEWAY_PORT": str(self.port),
            "PERSIST_STATE": "1" if settings.keep_state else "0",
            "STATE_DIR": str(settings.state),
            "S3_PERSIST": "1" if settings.keep_state else "0",
            "S3_DATA_DIR": str(settings.objects),
            "TMPDIR": str(settings.scratch),
            # A long poll holds one for 20 seconds.
            "MINISTACK_WORKER_THREADS": "256",
            # It would listen on every interface for MQTT, and look for containers of its own to remove.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": "unix:///nonexistent",
            **settings.variables,
        }

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not _answers(self.endpoint_url):
            if self._running().poll() is not None or time.monotonic() > deadline:
                raise EmulatorError(f"the emulator did not start:\n{self.log_tail()}")
            time.sleep(0.05)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise EmulatorError("the emulator is not running")
        return self._process


def _answers(endpoint_url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{endpoint_url}/_ministack/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _close(stream: IO[bytes] | None) -> None:
    with suppress(BrokenPipeError):  # it is gone already
        if stream is not None:
            stream.close()


def _kill_group(group: int) -> None:
    """Lambda workers are in the emulator's process group; after a crash they may outlive it."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
