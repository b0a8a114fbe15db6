"""``completion``, and the ids that completion offers."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

_PROGRAM = "conversation-memory"
_VARIABLE = "_CONVERSATION_MEMORY_COMPLETE"
_MOST = 50
_PATIENCE_S = 2


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what lets a shell complete commands, options and ids of conversations.

    \b
    Examples:
      eval "$(conversation-memory completion bash)"
      conversation-memory completion zsh > ~/.zfunc/_conversation-memory
      conversation-memory completion fish > ~/.config/fish/completions/conversation-memory.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell} is not known.")
    click.echo(kind(ctx.find_root().command, {}, _PROGRAM, _VARIABLE).source())


def conversation_ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the newest conversations with their names; none if the service is not there or does not let us in."""
    from conversation_memory.cli.connecting import client  # noqa: PLC0415
    from conversation_memory.cli.harmless import on_one_line  # noqa: PLC0415

    try:
        with client(ctx, timeout_s=_PATIENCE_S, attempts=1) as memory:
            newest: list[Any] = list(islice(memory.conversations(page_size=_MOST), _MOST))
    except Exception:  # a shell that completes has no place for errors
        return []
    return [
        CompletionItem(conversation["id"], help=on_one_line(conversation["name"] or ""))
        for conversation in newest
        if conversation["id"].startswith(incomplete)
    ]
