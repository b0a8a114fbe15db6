"""The exit codes, and how a command ends with one of them."""

from __future__ import annotations

import click

from conversation_memory.cli.harmless import on_one_line

DONE = 0
FAILED = 1
USAGE = 2
"""click's, for what it does not understand."""
NOT_FOUND = 3
NOT_ALLOWED = 4
PARTLY_DONE = 5
INTERRUPTED = 130


class Failure(click.ClickException):
    """Ends a command with a line on standard error and an exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(on_one_line(message))
        self.exit_code = exit_code  # type: ignore[misc]  # click has one for each class
