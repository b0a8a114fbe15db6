"""``show``: the messages of a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.naming import OfConversations, conversation_of, ids, session_option
from conversation_memory.cli.showing import Output, shown
from conversation_memory.cli.wording import message_text
from conversation_memory.types import Conversation, Message

_LARGEST_PAGE = 200


@click.command("show", cls=OfConversations)
@click.argument("conversation", required=False, shell_complete=ids)
@session_option()
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many messages, at most.")
@click.option("--oldest", is_flag=True, help="The first ones instead of the last.")
@click.option("--all", "is_all", is_flag=True, help="All of them.")
@click.option("--raw", is_flag=True, help="The bare text as it was stored, control characters included.")
@connected
@shown
def command(
    *,
    memory: Client,
    output: Output,
    conversation: str | None,
    session: str | None,
    limit: int,
    oldest: bool,
    is_all: bool,
    raw: bool,
) -> None:
    """Show the messages of a conversation, oldest first.

    \b
    Examples:
      conversation-memory show V1StGXR8_Z5jdHi6B-my
      conversation-memory show --session 2026-11-30 --limit 4
      conversation-memory show --session 2026-11-30 --all --json > messages.jsonl
    """
    found = conversation_of(memory, conversation, session)
    is_whole = is_all or found["messageCount"] <= limit
    for message in _chosen(memory, found, None if is_all else limit, is_oldest=is_whole or oldest):
        if raw and not output.is_json:
            click.echo(_raw(message), color=True)
        else:
            output.show(message, lambda message=message: message_text(message))  # type: ignore[misc]
    if not is_whole:
        output.note(f"These are {limit} of {found['messageCount']} messages: --all shows them all.")


def newest(memory: Client, conversation_id: str, most: int) -> list[Message]:
    """The last messages, oldest first."""
    newest_first = memory.messages(conversation_id, order="desc", page_size=min(most, _LARGEST_PAGE))
    return list(islice(newest_first, most))[::-1]


def _chosen(memory: Client, of: Conversation, most: int | None, *, is_oldest: bool) -> Iterable[Message]:
    if most is None or is_oldest:
        return islice(memory.messages(of["id"], page_size=min(most or _LARGEST_PAGE, _LARGEST_PAGE)), most)
    return newest(memory, of["id"], most)


def _raw(message: Message) -> str:
    return "".join(block["text"] for block in message["content"] if isinstance(block.get("text"), str))
