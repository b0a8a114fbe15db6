"""Ctrl-C, SIGTERM and a closed terminal all mean the same: stop in order."""

import signal
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
