"""`make run` as a person has it: a process in a terminal, whose keys and whose closing reach it as they would."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infra.local.node import ROOT

TIMEOUT_S = 150.0
_CTRL_C = b"\x03"
_LISTENING = "0A"  # a state in /proc/net/tcp
# Settings of a developer who works with real accounts: with any of them in use, nothing would come up.
_OTHER_ACCOUNT = {
    "AWS_PROFILE": "production",
    "AWS_REGION": "eu-central-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "CDK_DEFAULT_REGION": "eu-central-1",
    "PYTHONPATH": "/nonexistent",
}
# A session leader without a terminal gets the one that it opens: so Ctrl-C and a hang-up work as in a window.
_IN_TERMINAL = ["sh", "-c", 'exec "$@" <>"$0" >&0 2>&1']


def command(target: str, **variables: object) -> list[str]:
    """`make TARGET NAME=value ...` on the Python of this session, which is installed already."""
    given = {"PYTHON": sys.executable, **variables}
    return ["make", "--assume-old=.venv/installed", target, *(f"{name}={value}" for name, value in given.items())]


def run_to_its_end(
    target: str, environ: dict[str, str] | None = None, **variables: object
) -> subprocess.CompletedProcess[str]:
    """`make TARGET` for what ends by itself."""
    return subprocess.run(
        command(target, **variables),
        cwd=ROOT,
        env=_environment() | (environ or {}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def _environment() -> dict[str, str]:
    """Without what `make test` hands on to a `make` below it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def shell(*lines: str) -> str:
    """What a shell prints when these lines are pasted into it."""
    script = "\n".join(lines)
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    ).stdout


class MakeRun:
    """One `make run` in a pseudo-terminal of its own."""

    def __init__(self, **variables: object) -> None:
        self._master, self._terminal = pty.openpty()
        self._printed = bytearray()
        self._reading = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._process = subprocess.Popen(
            [*_IN_TERMINAL, os.ttyname(self._terminal), *command("run", **variables)],
            cwd=ROOT,
            env=_environment() | _OTHER_ACCOUNT,
            start_new_session=True,
        )
        self.folder = Path(str(variables["LOCAL_DIR"]))

    @property
    def output(self) -> str:
        return self._printed.decode(errors="replace").replace("\r\n", "\n")

    @property
    def api_url(self) -> str:
        return self.output.split("ready: ")[1].split()[0]

    @property
    def printed_commands(self) -> list[str]:
        shown = self.output.split("Try in another terminal:\n")[1].split("\n\n")[0]
        return [line.strip() for line in shown.splitlines()]

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while "Ctrl-C saves" not in self.output:
            assert self._process.poll() is None, f"make run ended:\n{self.output}"
            assert time.monotonic() < deadline, f"make run is not ready:\n{self.output}"
            time.sleep(0.1)

    def press_ctrl_c(self) -> None:
        os.write(self._master, _CTRL_C)

    def close_terminal(self) -> None:
        if self._master >= 0:
            self._read_the_rest()  # while somebody reads it, it does not really close
            os.close(self._master)
            os.close(self._terminal)
            self._master = -1

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def wait_until_ended(self) -> None:
        self._process.wait(TIMEOUT_S)
        self._read_the_rest()

    def end(self) -> None:
        """Clean up after a test that failed."""
        if self._process.poll() is None:
            self.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.wait_until_ended()
        self._process.kill()
        self._process.wait()
        self.close_terminal()

    def processes(self) -> list[Path]:
        """What runs for it (in /proc): the emulator, and functions, by the folder in their environment."""
        mark = f"STATE_DIR={self.folder}/".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile, or is somebody else's
                if mark in (process / "environ").read_bytes():
                    found.append(process)
        return found

    def listening_addresses(self) -> set[str]:
        """The addresses, as hexadecimal numbers, at which those processes listen."""
        sockets = set()
        for process in self.processes():
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    sockets.add(str(descriptor.readlink()))
        rows = [
            line.split()
            for table in ("/proc/net/tcp", "/proc/net/tcp6")
            for line in Path(table).read_text().splitlines()[1:]
        ]
        return {row[1].split(":")[0] for row in rows if row[3] == _LISTENING and f"socket:[{row[9]}]" in sockets}

    def _read(self) -> None:
        while (ready := select.select([self._master], [], [], 0.1)[0]) or self._reading:
            if ready:
                self._printed += os.read(self._master, 4096)

    def _read_the_rest(self) -> None:
        self._reading = False
        self._reader.join(5)


@contextmanager
def make_run(**variables: object) -> Iterator[MakeRun]:
    """A `make run` that answers, and that is ended in any case."""
    run = MakeRun(**variables)
    try:
        run.wait_until_ready()
        yield run
    finally:
        run.end()
