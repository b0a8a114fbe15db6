"""What a command prints: on standard output what was asked for, as text for people or with ``--json`` for programs; on
standard error what else a person may want to know.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from conversation_memory.cli.harmless import harmless, harmless_json

Command = TypeVar("Command", bound=Callable[..., Any])


class Output:
    """Prints one thing after the other: each is a line of JSON, or lines of text."""

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json

    def show(self, document: Any, text: str | Callable[[], str]) -> None:
        """One thing, as the API has it and as a person reads it. The text is made only if it is shown."""
        if self.is_json:
            click.echo(harmless_json(json.dumps(document, ensure_ascii=False)))
        else:
            click.echo(text if isinstance(text, str) else text())

    def note(self, text: str) -> None:
        """Something for the person alone, which is no result."""
        click.echo(harmless(text), err=True)


class Progress:
    """A line on standard error that is written over, if that is a terminal; nothing otherwise. With ``is_shown`` it is
    shown wherever that goes.
    """

    def __init__(self, *, is_shown: bool | None = None) -> None:
        self._is_shown = sys.stderr.isatty() if is_shown is None else is_shown

    def __call__(self, text: str) -> None:
        if self._is_shown:
            click.echo(f"\r\x1b[K{harmless(text)}", err=True, nl=False)

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def shown(command: Command) -> Command:
    """Give a command the option ``--json``, and call it with its ``output``."""

    @functools.wraps(command)
    def with_output(*, is_json: bool, **given: Any) -> Any:
        return command(output=Output(is_json=is_json), **given)

    option = click.option("--json", "is_json", is_flag=True, help="Print JSON: one document a line, as the API has it.")
    return option(with_output)  # type: ignore[return-value]
