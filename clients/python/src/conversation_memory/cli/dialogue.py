"""The chat in a terminal: a prompt, an answer, a prompt."""

from __future__ import annotations

import click

from conversation_memory import Client
from conversation_memory.cli.answering import Answer, aside
from conversation_memory.cli.harmless import on_one_line
from conversation_memory.cli.prompting import Prompt
from conversation_memory.cli.reading import newest
from conversation_memory.cli.talking import Talk
from conversation_memory.cli.wording import message_text
from conversation_memory.errors import ConversationMemoryError, ForbiddenError, NotFoundError, UnauthorizedError
from conversation_memory.types import Conversation

_AGAIN = "/again"
_ENDS = ("/quit", "/exit")
_HELP = "/help"
_HELP_TEXT = """\
Enter sends, Alt-Enter begins another line, the arrow keys bring back what was said.
Ctrl-C cancels an answer while it comes. Ctrl-D or Ctrl-C at the prompt, or /quit, end the chat.
/again asks once more for an answer that failed or was cancelled."""
_LASTING = (UnauthorizedError, ForbiddenError, NotFoundError)
"""Errors that every further message would meet."""


def hold(memory: Client, talk: Talk, known: Conversation | None, tail: int) -> None:
    """Talk until the person is done."""
    _begin(memory, known, tail)
    prompt = Prompt()
    while (said := prompt.read()) is not None and said.strip() not in _ENDS:
        if said.strip() == _HELP:
            click.echo(_HELP_TEXT)
        elif said.strip() == _AGAIN and not talk.may_ask_again:
            click.echo(aside("nothing is left without an answer"))
        elif said.strip():
            _round(talk, None if said.strip() == _AGAIN else said)
    if talk.conversation_id:
        click.echo(aside(f"to go on: conversation-memory chat --conversation {talk.conversation_id}"))


def _begin(memory: Client, known: Conversation | None, tail: int) -> None:
    if known is None:
        click.echo(aside("a new conversation; /help says what the keys do"))
        return
    for message in newest(memory, known["id"], tail) if tail else ():
        click.echo(message_text(message))
    about = " ".join((known["id"], on_one_line(known["name"] or ""))).rstrip()
    click.echo(aside(f"conversation {about}: {known['messageCount']} messages; /help says what the keys do"))


def _round(talk: Talk, said: str | None) -> None:
    """One message and what becomes of it; ``None`` is the last one again."""
    answer = Answer()
    try:
        _answered(talk, said, answer)
    except _LASTING:
        raise
    except ConversationMemoryError as error:
        answer.end(None)
        click.echo(aside(on_one_line(str(error))), err=True)
    else:
        answer.end(talk.turn)
    if talk.may_ask_again:
        click.echo(aside(f"{_AGAIN} asks again"), err=True)


def _answered(talk: Talk, said: str | None, answer: Answer) -> None:
    """Show the answer as it comes. An interrupt cancels it; what had been said by then is shown if it came too late."""
    try:
        if said is None:
            talk.ask_again()
        else:
            talk.ask(said)
        for event in talk.follow():
            answer.show(event)
    except KeyboardInterrupt:
        answer.interrupted()
        if not talk.cancel() and talk.turn:
            for event in talk.follow():
                answer.catch_up(event)
