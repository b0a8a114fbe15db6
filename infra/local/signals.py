"""Ctrl-C, SIGTERM and a closed terminal all mean the same: stop in order."""

import os
import select
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Self

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody asked the program to end: like KeyboardInterrupt, no error."""


class StopSignals:
    """Raises `StopRequested` in the main thread at the first signal; further ones do not disturb the stopping."""

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._stop) for number in _NUMBERS}
        self._held = False
        if sys.stdout.isatty():
            threading.Thread(target=_watch_terminal, args=(sys.stdout.fileno(),), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def hold(self) -> None:
        """From here on the program is stopping anyway."""
        self._held = True

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if not self._held:
            self._held = True
            raise StopRequested


def _watch_terminal(descriptor: int) -> None:
    """Send the SIGHUP that may never come: when a terminal closes, the kernel tells the leader of its session only.

    A shell passes it on to its jobs; where `make` is the leader (a terminal that was opened for `make run`), it waits
    for us instead.
    """
    terminal = select.poll()
    terminal.register(descriptor, 0)  # a hang-up is always reported
    if any(event & select.POLLHUP for _, event in terminal.poll()):
        os.kill(os.getpid(), signal.SIGHUP)
