"""The program around the commands: it loads the one that is called, and says in a line what goes wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from conversation_memory.cli.exits import INTERRUPTED
from conversation_memory.cli.failing import failure_of
from conversation_memory.cli.finding import Target

_PACKAGE = "conversation_memory.cli"
_DEBUG = f"{_PACKAGE}.debug"
TARGET = f"{_PACKAGE}.target"
"""Where in a context's ``meta`` the service stands that is asked."""


class Program(click.Group):
    """A group whose commands are named beforehand and imported late: ``{name: (module, what help says of it)}``."""

    def __init__(self, *arguments: Any, commands_in: Mapping[str, tuple[str, str]], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._commands_in = commands_in

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_in:
            return None
        module, _ = self._commands_in[cmd_name]
        command: click.Command = import_module(f"{_PACKAGE}.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._commands_in[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo(err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if ctx.meta.get(_DEBUG):
                raise
            _give_up_what_cannot_be_written()
            raise failure_of(error, _target(ctx)) from error


def debugged(command: Any) -> Any:
    """The option ``--debug``, before the command or after it."""
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_set_debug,
        help="Show where in the program an error comes from.",
    )(command)


def versioned(command: Any) -> Any:
    """The option ``--version``."""
    return click.option(
        "--version",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_say_version,
        help="Say which version this is.",
    )(command)


def _set_debug(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True


def _say_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from conversation_memory import __version__  # noqa: PLC0415

        click.echo(f"conversation-memory {__version__}")
        ctx.exit()


def _give_up_what_cannot_be_written() -> None:
    """Python would try once more at its end, and end with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - until the process ends


def _target(ctx: click.Context) -> Target | None:
    """The service that was asked, if one was found before it went wrong."""
    target = ctx.meta.get(TARGET)
    return target if isinstance(target, Target) else None
