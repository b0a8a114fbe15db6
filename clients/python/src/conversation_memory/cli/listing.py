"""``list``: conversations, last activity first."""

from __future__ import annotations

from itertools import islice

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.harmless import on_one_line
from conversation_memory.cli.showing import Output, shown
from conversation_memory.cli.wording import at
from conversation_memory.types import Conversation

_LARGEST_PAGE = 200


@click.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many, at most.")
@click.option("--all", "is_all", is_flag=True, help="All of them.")
@click.option("--owner", metavar="OWNER", help="Whose, for administrators; `*` for everybody's.")
@connected
@shown
def command(memory: Client, output: Output, limit: int, is_all: bool, owner: str | None) -> None:
    """List conversations, last activity first.

    Each is a line: its id, when it was last active (UTC), how many messages it holds, and its name.

    \b
    Examples:
      conversation-memory list
      conversation-memory list --all --json | jq -r .id
      conversation-memory list --owner '*' --limit 500
    """
    found = memory.conversations(page_size=_LARGEST_PAGE if is_all else min(limit + 1, _LARGEST_PAGE), owner=owner)
    for conversation in found if is_all else islice(found, limit):
        output.show(conversation, _line(conversation, owner is not None))
    if not is_all and next(found, None):
        output.note(f"There are more than {limit}: --all lists them all.")


def _line(conversation: Conversation, is_owner_shown: bool) -> str:
    named = conversation["name"] or conversation.get("sessionId") or ""
    columns = [conversation["id"], at(conversation["updatedAt"]), f"{conversation['messageCount']:5}"]
    if is_owner_shown:
        columns.append(on_one_line(conversation["owner"]))
    return "  ".join([*columns, on_one_line(named)]).rstrip()
