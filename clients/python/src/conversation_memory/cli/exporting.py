"""``export``: conversations, written down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from conversation_memory import Client
from conversation_memory.cli.completing import conversation_ids
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.exits import PARTLY_DONE
from conversation_memory.cli.harmless import harmless
from conversation_memory.cli.naming import OfConversations
from conversation_memory.cli.reporting import Told, show
from conversation_memory.cli.showing import Output, shown


@click.command("export", cls=OfConversations)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=conversation_ids)
@click.option("--session", "session_ids", multiple=True, metavar="NAME", help="The conversation of your name for it.")
@click.option(
    "--since",
    metavar="TIME",
    callback=lambda ctx, parameter, value: _checked(value),
    help="Only those with activity since then, in UTC: 2026-11-30T12:00 or a day.",
)
@click.option("--owner", metavar="OWNER", help="Whose, for administrators; `*` for everybody's.")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True, help="Which form."
)
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-",
    help="The file, instead of standard output.",
)  # fmt: skip
@click.option("--traces", is_flag=True, help="The traces of OpenSearch's API, too: a search in each conversation.")
@click.option("--progress", is_flag=True, help="Show progress although it is no terminal.")
@connected
@shown
def command(memory: Client, output: Output, form: str, file: Path, progress: bool, **chosen: Any) -> None:
    """Write conversations down: all of yours, or some.

    JSON Lines hold everything that the API shows and can be moved in again; Markdown is for reading. With --output the
    report is printed.

    \b
    Examples:
      conversation-memory export -o conversations.jsonl
      conversation-memory export --session 2026-11-30 --format markdown | less
      conversation-memory export --since 2026-11-01 --owner '*' -o november.jsonl --json
    """
    from conversation_memory.moving.exporting import export  # noqa: PLC0415
    from conversation_memory.moving.formats import JsonLines, Markdown  # noqa: PLC0415

    told = Told(is_told=progress, verb="written")
    is_file = str(file) != "-"
    try:
        with _writing(file if is_file else None, is_text=form == "markdown") as write:
            report = export(memory, Markdown() if form == "markdown" else JsonLines(), write, report=told, **chosen)
    finally:
        told.end()
    if is_file:
        show(report, output, lambda: f"{report.sessions:,} conversations with {report.moved:,} messages: {file}")
        return
    for remark in report.skipped:
        output.note(f"Skipped: {remark}")
    if report.skipped:
        click.get_current_context().exit(PARTLY_DONE)


def _checked(since: str | None) -> str | None:
    from conversation_memory.moving.exporting import check_time  # noqa: PLC0415

    try:
        if since is not None:
            check_time(since)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return since


@contextmanager
def _writing(file: Path | None, *, is_text: bool) -> Iterator[Callable[[str], object]]:
    """Writes to the file, which is there when it is whole; to what is no file as it comes; or to standard output."""
    if file is None:
        is_terminal = sys.stdout.isatty()
        yield lambda text: click.echo(harmless(text) if is_text and is_terminal else text, nl=False, color=True)
        return
    file = file.resolve()  # what a link names is replaced, and not the link
    if file.exists() and not file.is_file():
        with file.open("w", encoding="utf-8", newline="\n") as opened:
            yield opened.write
        return
    partly = file.with_name(f"{file.name}.part")
    try:
        with partly.open("w", encoding="utf-8", newline="\n") as opened:
            yield opened.write
        partly.replace(file)
    finally:
        partly.unlink(missing_ok=True)
