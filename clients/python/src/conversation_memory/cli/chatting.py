"""``chat``: a conversation in the terminal, or one question and its answer."""

from __future__ import annotations

import sys

import click

from conversation_memory import Client
from conversation_memory.cli.answering import Answer, reason
from conversation_memory.cli.connecting import connected
from conversation_memory.cli.exits import Failure
from conversation_memory.cli.naming import ids, session_option
from conversation_memory.cli.showing import Output, shown
from conversation_memory.cli.talking import Talk
from conversation_memory.types import Conversation, Turn


@click.command("chat")
@click.argument("message", required=False)
@click.option("--conversation", metavar="ID", shell_complete=ids, help="Go on with this conversation.")
@session_option(help="Go on with the conversation that you call so, or begin it.")
@click.option("--name", metavar="NAME", help="What a new conversation is called.")
@click.option("--recall", type=click.IntRange(min=1), metavar="N", help="Let N fitting interactions be recalled.")
@click.option("--window", type=click.IntRange(min=1), metavar="N", help="Let the model see N messages, at most.")
@click.option(
    "--tail",
    type=click.IntRange(min=0),
    default=6,
    show_default=True,
    metavar="N",
    help="Messages shown to begin with.",
)
@connected
@shown
def command(
    *,
    memory: Client,
    output: Output,
    message: str | None,
    conversation: str | None,
    session: str | None,
    name: str | None,
    recall: int | None,
    window: int | None,
    tail: int,
) -> None:
    """Talk in the terminal: the answers appear as they come, and everything is kept.

    Enter sends, Alt-Enter begins another line. Ctrl-C cancels an answer while it comes; at the prompt it ends the
    chat, as Ctrl-D does. With a MESSAGE, or one on standard input, only this is asked. With --json the first line is
    the message as it was stored, and each further one a piece of the answer; the last holds all of it.

    \b
    Examples:
      conversation-memory chat
      conversation-memory chat --session 2026-11-30 --recall 3
      conversation-memory chat "What is a turtle?"
      git diff | conversation-memory chat --session reviews --json
    """
    if conversation is not None and session is not None:
        raise click.UsageError("Name one conversation: by --conversation, or by --session.")
    message = _piped(message)
    if message is None and output.is_json:
        raise click.UsageError("--json wants the message as an argument or on standard input.")
    known = _known(memory, conversation, session)
    options = {"recall": recall and {"maxInteractions": recall}, "window": window and {"maxMessages": window}}
    talk = Talk(memory, known=known, beginning={"name": name, "session_id": session}, options=options)
    if message is None:
        from conversation_memory.cli.dialogue import hold  # noqa: PLC0415 - needs what edits lines

        hold(memory, talk, known, tail)
    else:
        _ask(talk, output, message, is_new=known is None)


def _piped(message: str | None) -> str | None:
    """The message of the command line, or else all of standard input, unless a person sits at both ends.

    Raises:
        click.UsageError: there is nothing in it.
    """
    if message is None and sys.stdin.isatty() and sys.stdout.isatty():
        return None
    if message is None:
        message = sys.stdin.buffer.read().decode(errors="replace").rstrip("\r\n")
    if not message.strip():
        raise click.UsageError("The message is empty.")
    return message


def _known(memory: Client, conversation_id: str | None, session: str | None) -> Conversation | None:
    if conversation_id is not None:
        return memory.get_conversation(conversation_id)
    return None if session is None else memory.find_conversation(session)


def _ask(talk: Talk, output: Output, message: str, *, is_new: bool) -> None:
    """One message and its answer; an interrupt cancels it."""
    try:
        asked = talk.ask(message)
        if output.is_json:
            output.show(asked, "")
        elif is_new:
            output.note(f"conversation {talk.conversation_id}")
        answer = Answer()
        for event in talk.follow():
            if output.is_json:
                output.show(event, "")
            else:
                answer.show(event)
    except KeyboardInterrupt:
        talk.cancel()
        raise
    answer.end(None)
    _end(talk.turn)


def _end(turn: Turn | None) -> None:
    if turn and turn["status"] != "complete":
        raise Failure(f"The answer {turn['status']}: {reason(turn)}" if turn["status"] == "failed" else "Cancelled.")
