"""A program in a terminal of its own: keys go in, and a screen shows what a person would see."""

import os
import pty
import select
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl

import pyte

CTRL_C, CTRL_D, ENTER, ALT_ENTER = "\x03", "\x04", "\r", "\x1b\r"
RIGHT, LEFT, BACKSPACE = "\x1b[C", "\x1b[D", "\x7f"
# A session leader without a terminal gets the one that it opens: so Ctrl-C works as in a window.
_IN_TERMINAL = ["sh", "-c", 'exec "$@" <>"$0" >&0 2>&1']
_PATIENCE_S = 60.0


class _Screen(pyte.HistoryScreen):
    """A screen that answers a program which asks where the cursor is."""

    def __init__(self, columns: int, rows: int, press: Callable[[str], None]) -> None:
        self._press = press
        super().__init__(columns, rows, history=1000, ratio=1)

    def write_process_input(self, data: str) -> None:
        self._press(data)


class Terminal:
    """The screen of a running program, and its keyboard."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], columns: int, rows: int) -> None:
        self._master, self._terminal = pty.openpty()
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._lock = threading.Lock()
        self._screen = _Screen(columns, rows, self.press)
        self._stream = pyte.ByteStream(self._screen)
        self.printed = bytearray()
        self._process = subprocess.Popen(
            [*_IN_TERMINAL, os.ttyname(self._terminal), *command], env=dict(variables), start_new_session=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def lines(self) -> list[str]:
        """What stands on the screen and above it, without the spaces at the ends."""
        with self._lock:
            above = ["".join(row[x].data for x in range(self._screen.columns)) for row in self._screen.history.top]
            return [line.rstrip() for line in [*above, *self._screen.display]]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def paste(self, text: str) -> None:
        """As a terminal does that marks what is pasted."""
        self.press(f"\x1b[200~{text}\x1b[201~")

    def await_text(self, text: str, times: int = 1) -> None:
        """Wait until it stands on the screen so many times."""
        self._await(lambda: self.text.count(text) >= times, f"{text!r} is not shown")

    def await_last_line(self, line: str) -> None:
        """Wait until the last line that is not empty is this one."""
        self._await(lambda: self.text.rpartition("\n")[2] == line, f"The last line is not {line!r}")

    def await_end(self) -> int:
        """Wait until the program has ended; its exit code."""
        exit_code = self._process.wait(_PATIENCE_S)
        self._reader.join(2)
        return exit_code

    def _await(self, is_true: Callable[[], bool], told: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not is_true():
            assert time.monotonic() < deadline, f"{told}:\n{self.text}"
            assert self._reader.is_alive(), f"The program has ended:\n{self.text}"
            time.sleep(0.02)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join(2)
        os.close(self._master)
        os.close(self._terminal)

    def _read(self) -> None:
        """Until the program has ended and all that it printed is read."""
        while (ready := select.select([self._master], [], [], 0.05)[0]) or self._process.poll() is None:
            if ready:
                some = os.read(self._master, 4096)
                with self._lock:
                    self.printed += some
                    self._stream.feed(some)


@contextmanager
def terminal(
    command: Sequence[str], variables: Mapping[str, str], *, columns: int = 80, rows: int = 24
) -> Iterator[Terminal]:
    """The program, which is ended in any case."""
    shown = Terminal(command, variables, columns, rows)
    try:
        yield shown
    finally:
        shown.close()
