"""The command line as a program: ``conversation-memory``, and ``python -m conversation_memory``."""

from __future__ import annotations

import sys

from conversation_memory.errors import MissingExtraError


def run() -> None:
    """Carry out the command that the process was given, and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its number
    try:
        from conversation_memory.cli import main  # noqa: PLC0415 - an extra, whose absence is told in one line
    except MissingExtraError as error:
        sys.exit(f"Error: {error}")
    main(prog_name="conversation-memory")


if __name__ == "__main__":
    run()
