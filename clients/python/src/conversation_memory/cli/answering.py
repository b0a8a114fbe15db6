"""An answer in the terminal, as it comes."""

from __future__ import annotations

import click

from conversation_memory.cli.harmless import harmless, on_one_line
from conversation_memory.cli.wording import tool_lines, uses_of
from conversation_memory.types import Turn, TurnEvent


class Answer:
    """Prints the events of a turn: the text that is new, the tools, and how it ended if not with an answer."""

    def __init__(self) -> None:
        self._came = ""
        self._held = ""
        self._is_at_line_start = True

    def show(self, event: TurnEvent) -> None:
        """What is new."""
        if event["isAnew"] and self._came:
            self._begin_anew()
        self._write(event["text"])
        message = event.get("message")
        if message:
            self._end_line()
            for line in [*tool_lines(message.get("toolCalls", ())), *uses_of(message)]:
                click.echo(click.style(line, dim=True))

    def catch_up(self, event: TurnEvent) -> None:
        """The same, for an event that tells all from the beginning."""
        goes_on = event["text"].startswith(self._came)
        text = event["text"][len(self._came) :] if goes_on else event["text"]
        self.show({**event, "text": text, "isAnew": not goes_on})

    def interrupted(self) -> None:
        """The terminal has shown the key that interrupts, so the line is not empty any more."""
        self._is_at_line_start = False

    def end(self, turn: Turn | None) -> None:
        """How it ended, for the person alone."""
        self._end_line()
        if turn and turn["status"] == "failed":
            click.echo(aside(f"the answer failed: {reason(turn)}"), err=True)
        elif turn and turn["status"] == "cancelled":
            click.echo(aside("cancelled"), err=True)

    def _begin_anew(self) -> None:
        self._end_line()
        click.echo(aside("the answer begins anew"))
        self._came = self._held = ""

    def _write(self, text: str) -> None:
        """A carriage return at the end waits for what may follow it: with a line feed it ends a line."""
        self._came += text
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        written = harmless(text.removesuffix("\r"))
        click.echo(written, nl=False)
        self._is_at_line_start = written.endswith("\n") if written else self._is_at_line_start

    def _end_line(self) -> None:
        """Let what follows begin on a line of its own."""
        if not self._is_at_line_start:
            click.echo()
        self._is_at_line_start = True


def aside(text: str) -> str:
    """What the command line itself says between what is said in the conversation."""
    return click.style(f"[{text}]", dim=True)


def reason(turn: Turn) -> str:
    """Why a turn failed."""
    error = turn.get("error", {})
    return on_one_line(f"{error.get('code', 'Failed')}: {error.get('message', 'nobody knows why')}")
