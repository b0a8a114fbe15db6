"""The options that moving has, whatever is moved, and what is shown of it: progress, and the report at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from conversation_memory.cli.exits import PARTLY_DONE
from conversation_memory.cli.harmless import on_one_line
from conversation_memory.cli.showing import Output, Progress
from conversation_memory.moving.report import Remark, Report

_EVERY_S = 0.2
_MOST_SHOWN = 20


def moved_options(command: Any) -> Any:
    """Give a command that moves its options."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Read everything, write nothing, report the same."),
        click.option("--at-once", type=click.IntRange(1, 64), default=8, show_default=True, help="Sessions at a time."),
        click.option("--progress", is_flag=True, help="Show progress although it is no terminal."),
    ):
        command = option(command)
    return command


def moving(given: Mapping[str, Any]) -> tuple[dict[str, Any], Callable[[Any, Any, Output], None]]:
    """The options without those of ``moved_options``, and what moves a source as these want it."""
    options = dict(given)
    is_dry, at_once, is_told = (options.pop(name) for name in ("dry_run", "at_once", "progress"))

    def to_move(source: Any, memory: Any, output: Output) -> None:
        from conversation_memory.moving import move  # noqa: PLC0415

        told = Told(is_told=is_told, verb="would be moved" if is_dry else "moved")
        try:
            report = move(source, memory, is_dry=is_dry, at_once=at_once, report=told)
        finally:
            told.end()
        show(report, output, lambda: _sentence(report))

    return options, to_move


def show(report: Report, output: Output, sentence: Callable[[], str]) -> None:
    """The report, and the exit code that it asks for."""
    output.show(report.to_json(), lambda: "\n".join([sentence(), *_listed(report)]))
    if report.skipped:
        click.get_current_context().exit(PARTLY_DONE)


class Told:
    """Shows how far it is, a few times a second."""

    def __init__(self, *, is_told: bool, verb: str) -> None:
        self._progress = Progress(is_shown=is_told or None)
        self._verb = verb
        self._next_s = 0.0

    def __call__(self, report: Report) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _EVERY_S
            a_second = report.moved / report.seconds if report.seconds else 0.0
            self._progress(
                f"{report.sessions:,} sessions, {report.moved:,} messages {self._verb} ({a_second:,.0f} a second)"
            )

    def end(self) -> None:
        """Take the line away."""
        self._progress.end()


def _sentence(report: Report) -> str:
    moved = "would be moved" if report.is_dry else "moved"
    beside = [f"{report.gone:,} of them expired"] * bool(report.gone) + [f"{report.empty:,} empty"] * bool(report.empty)
    sessions = f"{report.sessions:,} sessions{' (' + ', '.join(beside) + ')' if beside else ''}"
    traces = f" with {report.traces:,} traces" if report.traces else ""
    skipped = f", {len(report.skipped):,} skipped" if report.skipped else ""
    return f"{sessions}: {report.moved:,} messages{traces} {moved}, {report.present:,} already there{skipped}."


def _listed(report: Report) -> list[str]:
    return [*_lines("Skipped", report.skipped), *_lines("Note", report.notes)]


def _lines(word: str, remarks: list[Remark]) -> list[str]:
    lines = [f"{word}: {on_one_line(str(remark))}" for remark in remarks[:_MOST_SHOWN]]
    more = len(remarks) - _MOST_SHOWN
    return [*lines, f"... and {more:,} more: --json tells all"] if more > 0 else lines
