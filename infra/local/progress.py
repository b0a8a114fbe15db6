"""What a person sees while the stack comes up: one line a step, with the time it took."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def say(text: str) -> None:
    """Print at once. When the terminal is gone (SIGHUP), go on in silence: there is still a state to save."""
    try:
        print(text, flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - stands in for standard output until the end


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say that a step is done, and how long it took."""
    started = time.monotonic()
    yield
    say(f"  {what} ({time.monotonic() - started:.1f} s)")
