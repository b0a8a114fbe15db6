"""The command line ``conversation-memory``. Needs the extra ``cli``.

A command is the ``command`` of a module of this package, which is imported when it is called for and not before:
``--help`` and completion are asked often, and most commands need little of what the others need.
"""

from __future__ import annotations

from conversation_memory.errors import MissingExtraError

try:
    import click
except ImportError as error:
    raise MissingExtraError("cli", "click") from error

from conversation_memory.cli.program import Program, debugged, versioned

__all__ = ["main"]

COMMANDS = {
    # name: (module, what `--help` says of it)
    "chat": ("chatting", "Talk in the terminal, or ask one thing."),
    "completion": ("completing", "Print what lets a shell complete commands."),
    "delete": ("deleting", "Delete conversations with all that they hold."),
    "export": ("exporting", "Write conversations down, for programs or to read."),
    "import": ("importing", "Move conversations in from elsewhere."),
    "list": ("listing", "List conversations, last activity first."),
    "search": ("searching", "Search for messages that hold any of the words."),
    "show": ("reading", "Show the messages of a conversation."),
    "status": ("status", "Say which service is asked, and what runs there."),
}


@click.group(cls=Program, commands_in=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@versioned
@debugged
def main() -> None:
    """Talk to, read and keep the conversations of a Conversation Memory.

    The service is the local stack that runs in this folder or one above it (`make run`); or an AWS account's by
    --stage, or any by --url.

    \b
    Examples:
      conversation-memory chat
      conversation-memory list
      conversation-memory show --session 2026-11-30
      conversation-memory list --stage prod --json
    \b
    Exit codes: 0 done, 1 failed, 2 not understood, 3 not found, 4 not allowed, 5 partly done, 130 interrupted.
    """
