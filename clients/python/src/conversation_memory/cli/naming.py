"""How a command is told which conversation it is about: by id, or by the caller's own name for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from conversation_memory import Client
from conversation_memory.cli.exits import NOT_FOUND, Failure
from conversation_memory.types import Conversation

_LIKE_AN_OPTION = re.compile(r"-[A-Za-z0-9_-]{19}")
_MARK = "\0"
"""No argument of a program can hold it."""


class OfConversations(click.Command):
    """A command whose arguments are ids of conversations: one of 64 begins with a hyphen, and is no option for that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        is_id = [word not in known and bool(_LIKE_AN_OPTION.fullmatch(word)) for word in args]
        rest = super().parse_args(ctx, [_MARK + word if of else word for word, of in zip(args, is_id, strict=True)])
        ctx.params = {name: _without_mark(value) for name, value in ctx.params.items()}
        return rest


def _without_mark(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_without_mark, value))
    return value.removeprefix(_MARK) if isinstance(value, str) else value


def ids(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """What completion offers for an id."""
    from conversation_memory.cli.completing import conversation_ids  # noqa: PLC0415 - for shells that complete

    return conversation_ids(ctx, parameter, incomplete)


def session_option(**named: Any) -> Callable[[Any], Any]:
    """``--session``: your own name for a conversation."""
    return click.option("--session", metavar="NAME", **{"help": "Your own name for the conversation.", **named})


def conversation_of(memory: Client, conversation_id: str | None, session: str | None) -> Conversation:
    """The one conversation that is named.

    Raises:
        Failure: there is none of that name.
        click.UsageError: none is named, or two.
    """
    if (conversation_id is None) == (session is None):
        raise click.UsageError("Name one conversation: by its id, or by --session.")
    if session is not None:
        return of_session(memory, session)
    assert conversation_id is not None
    return memory.get_conversation(conversation_id)


def of_session(memory: Client, session: str) -> Conversation:
    """The conversation that is the caller's by this name.

    Raises:
        Failure: there is none.
    """
    found = memory.find_conversation(session)
    if found is None:
        raise Failure(f"There is no conversation of the session {session!r}.", NOT_FOUND)
    return found
