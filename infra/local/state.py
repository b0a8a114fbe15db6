"""The folder of one local stack: who may use it, what is kept in it from one start to the next."""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    _rewind_stream_positions(folder / "state" / "lambda.json")


def aws_socket(folder: Path) -> socket.socket:
    """The emulator's own port: that of the last start if it is free, so that clients can keep their settings."""
    kept = folder / "aws-port"
    try:
        opened = sockets.listening(int(kept.read_text()))
    except (FileNotFoundError, ValueError, sockets.PortInUseError):
        opened = sockets.listening()
        kept.write_text(str(sockets.port_of(opened)))
    return opened


def _rewind_stream_positions(functions: Path) -> None:
    """Start reading the streams at their first record.

    MiniStack (1.5.33) keeps how far a function has read a stream, but not the records. The next ones are counted from
    zero again, so as many would be skipped as there were before.
    """
    if not functions.exists():
        return
    saved = json.loads(functions.read_text())
    positions = saved["payload"]["dynamodb_stream_positions"].get("data", {})
    positions.update(dict.fromkeys(positions, 0))
    write_whole(functions, json.dumps(saved))


def write_whole(file: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new, never half of it."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.replace(file)
