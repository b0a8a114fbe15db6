"""``delete``: conversations, by id or by the caller's own names for them."""

from __future__ import annotations

import sys

import click

from conversation_memory import Client
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.exits import NOT_FOUND, PARTLY_DONE, Failure
from conversation_memory.cli.naming import OfConversations, ids, session_option
from conversation_memory.cli.showing import Output, shown
from conversation_memory.errors import ConversationMemoryError
from conversation_memory.types import Deleted

_AT_ONCE = 100


@click.command("delete", cls=OfConversations)
@click.argument("conversations", nargs=-1, shell_complete=ids)
@session_option(multiple=True, help="Also the conversation that you call so; may be repeated.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask before.")
@connected
@shown
def command(
    *, memory: Client, output: Output, conversations: tuple[str, ...], session: tuple[str, ...], is_sure: bool
) -> None:
    """Delete conversations with all that they hold. It is not possible to get them back.

    \b
    Examples:
      conversation-memory delete V1StGXR8_Z5jdHi6B-my
      conversation-memory delete --session 2026-11-30 --session 2026-11-29
      conversation-memory list --all --json | jq -r .id | xargs conversation-memory delete --yes
    """
    done: Deleted = {"deleted": [], "notFound": []}
    named = list(dict.fromkeys([*conversations, *_of_sessions(memory, session, done)]))
    if not conversations and not session:
        raise click.UsageError("Name conversations: by their ids, or by --session.")
    if named and not is_sure:
        _ask(len(named))
    stopped = _delete(memory, named, done)
    output.show(done, f"Deleted {len(done['deleted'])}.")
    _end(done, stopped)


def _of_sessions(memory: Client, names: tuple[str, ...], done: Deleted) -> list[str]:
    found = [(name, memory.find_conversation(name)) for name in names]
    done["notFound"] += [name for name, conversation in found if conversation is None]
    return [conversation["id"] for _, conversation in found if conversation]


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody can be asked whether this is meant: say so by --yes.")
    what = "this conversation" if count == 1 else f"these {count} conversations"
    if not click.confirm(f"Delete {what} with all messages?", err=True):
        raise Failure("Nothing is deleted.")


def _delete(memory: Client, named: list[str], done: Deleted) -> ConversationMemoryError | None:
    """What stopped it in the middle, if something did; what was done before it stands in ``done``."""
    for first in range(0, len(named), _AT_ONCE):
        try:
            some = memory.delete_conversations(named[first : first + _AT_ONCE])
        except ConversationMemoryError as error:
            if not done["deleted"]:
                raise
            return error
        done["deleted"] += some["deleted"]
        done["notFound"] += some["notFound"]
    return None


def _end(done: Deleted, stopped: ConversationMemoryError | None) -> None:
    if stopped:
        raise Failure(f"The others were not deleted: {stopped}", PARTLY_DONE)
    if done["notFound"]:
        told = f"Not found: {', '.join(done['notFound'])}"
        raise Failure(told, PARTLY_DONE if done["deleted"] else NOT_FOUND)
