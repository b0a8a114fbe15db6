"""``status``: which service is asked, and what runs there."""

from __future__ import annotations

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.harmless import on_one_line
from conversation_memory.cli.program import TARGET
from conversation_memory.cli.showing import Output, shown


@click.command("status")
@connected
@shown
@click.pass_context
def command(ctx: click.Context, memory: Client, output: Output) -> None:
    """Say which service is asked, and what runs there.

    \b
    Examples:
      conversation-memory status
      conversation-memory status --stage prod --json
    """
    target = ctx.meta[TARGET]
    document = {"url": target.url, "found": target.found, **memory.get_status()}
    width = max(map(len, document))
    output.show(document, "\n".join(f"{name:{width}}  {on_one_line(str(value))}" for name, value in document.items()))
