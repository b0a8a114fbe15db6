"""The folder of one local stack: who may use it, what is kept in it from one start to the next."""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.local import sockets


class InUseError(Exception):
    """Another local stack runs on this folder."""


@contextmanager
def sole_use(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock goes with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            raise InUseError(f"{folder} is in use by another local stack (process {held.read().strip()})") from None
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield


def tidy(folder: Path) -> None:
    """Make the folder ready for a start, whatever way the last run ended."""
    shutil.rmtree(folder / "tmp", ignore_errors=True)  # code that functions ran from
    _edit(folder / "state" / "lambda.json", _rewind_stream_positions)
    _edit(folder / "state" / "cloudwatch_logs.json", _forget_logs)
    _edit(folder / "state" / "cloudformation.json", _forget_events)


def aws_socket(folder: Path) -> socket.socket:
    """The emulator's own port: that of the last start if it is free, so that clients can keep their settings."""
    kept = folder / "aws-port"
    try:
        opened = sockets.listening(int(kept.read_text()))
    except (FileNotFoundError, ValueError, sockets.PortInUseError):
        opened = sockets.listening()
        kept.write_text(str(sockets.port_of(opened)))
    return opened


def _edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what MiniStack saved of one service."""
    if file.exists():
        saved = json.loads(file.read_text())
        change(saved["payload"])
        write_whole(file, json.dumps(saved))


def _rewind_stream_positions(functions: dict[str, Any]) -> None:
    """Start reading the streams at their first record.

    MiniStack (1.5.33) keeps how far a function has read a stream, but not the records. The next ones are counted from
    zero again, so as many would be skipped as there were before.
    """
    positions = functions["dynamodb_stream_positions"]["data"]
    positions.update(dict.fromkeys(positions, 0))


def _forget_logs(logs: dict[str, Any]) -> None:
    """Nothing removes old log events, all of which are saved every minute: start with empty groups."""
    for group in logs["log_groups"]["data"].values():
        group["streams"] = {}


def _forget_events(stacks: dict[str, Any]) -> None:
    """Each deployment adds some hundreds of events to those of all earlier ones."""
    events = stacks["stack_events"]["data"]
    events.update({stack: [] for stack in events})


def write_whole(file: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new, never half of it."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.replace(file)
