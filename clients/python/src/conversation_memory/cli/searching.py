"""``search``: the words of a conversation, or of the newest ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.harmless import on_one_line
from conversation_memory.cli.naming import conversation_of, ids, session_option
from conversation_memory.cli.showing import Output, Progress, shown
from conversation_memory.cli.wording import at, body_text
from conversation_memory.errors import NotFoundError
from conversation_memory.types import Conversation, Message, SearchHit

_MARKED = re.compile("<em>(.*?)</em>", re.DOTALL)


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--conversation", metavar="ID", shell_complete=ids, help="Only this conversation.")
@session_option(help="Only the conversation that you call so.")
@click.option(
    "--newest", type=click.IntRange(min=1), default=20, show_default=True, help="Else so many, last activity first."
)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Hits of each, at most.")
@connected
@shown
def command(
    *,
    memory: Client,
    output: Output,
    words: tuple[str, ...],
    conversation: str | None,
    session: str | None,
    newest: int,
    limit: int,
) -> None:
    """Search for messages and answers that hold any of the words, the best of each conversation first.

    The service searches one conversation at a time: if none is named, the newest are searched one after the other.

    \b
    Examples:
      conversation-memory search turtle
      conversation-memory search "green turtle" --session 2026-11-30
      conversation-memory search turtle --newest 200 --json | jq -r .message.conversationId
    """
    if not " ".join(words).strip():
        raise click.UsageError("There is no word to search for.")
    is_one = conversation is not None or session is not None
    searched = iter([conversation_of(memory, conversation, session)] if is_one else memory.conversations())
    some = searched if is_one else islice(searched, newest)
    for of, hits in _found(memory, some, " ".join(words), limit, is_one=is_one):
        if not output.is_json:
            click.echo(click.style(f"{of['id']}  {on_one_line(of['name'] or '')}".rstrip(), bold=True))
        for hit in hits:
            output.show(hit, lambda hit=hit: _hit(hit))  # type: ignore[misc]
    if not is_one and next(searched, None):
        output.note(f"The newest {newest} conversations were searched: --newest N searches more.")


def _found(
    memory: Client, conversations: Iterator[Conversation], words: str, limit: int, *, is_one: bool
) -> Iterator[tuple[Conversation, list[SearchHit]]]:
    """Those conversations that hold any of the words, and where."""
    progress = Progress()
    for number, conversation in enumerate(conversations, 1):
        if not is_one:
            progress(f"searching conversation {number}")
        try:
            hits = memory.search_messages(conversation["id"], words, limit=limit)["hits"]
        except NotFoundError:
            if is_one:
                raise
            continue  # deleted meanwhile
        finally:
            progress.end()
        if hits:
            yield conversation, hits


def _hit(hit: SearchHit) -> str:
    sides: list[tuple[str, Message]] = [("message", hit["message"])]
    if "answer" in hit:
        sides.append(("answer", hit["answer"]))
    lines = [
        f"  {at(message['createdAt'])}  {message['role']:9}  {_marked(fragment)}"
        for side, message in sides
        for fragment in hit["highlights"].get(side, ())
    ]
    return "\n".join(lines) or f"  {at(hit['message']['createdAt'])}  {on_one_line(body_text(hit['message']))}"


def _marked(fragment: str) -> str:
    return _MARKED.sub(lambda found: click.style(found[1], bold=True, fg="yellow"), on_one_line(fragment))
