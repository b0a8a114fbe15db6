"""The side of the peer: a process of its own that does what it is told, a line of JSON at a time.

It runs with the peer's packages and with nothing of ours but this folder and ``measuring``.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.bench.measuring import cpu_us

ROLES = ("user", "assistant")
TABLE = Path(sys.argv[0]).stem
"""A table of its own for each peer, called like the module that runs."""


class Peer(Protocol):
    """A store of conversations, used as its own documentation uses it."""

    def fill(self, conversation: str, texts: Sequence[str]) -> None:
        """Make a conversation of these messages, by turns of user and assistant."""

    def read(self, conversation: str) -> int:
        """All messages in the form that the peer hands on; how many there are."""

    def append(self, conversation: str, role: str, text: str) -> None:
        """Add one message."""

    def turn(self, conversation: str, question: str, answer: str) -> None:
        """Read what there is, and add a question and its answer, as the peer does in a turn."""


def serve(peer: Peer) -> None:
    """Carry out commands until there are no more. What the peer itself prints goes to stderr."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        try:
            answer = _carried_out(peer, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _carried_out(peer: Peer, command: Any) -> dict[str, Any]:
    conversation, texts = command["conversation"], command["texts"]
    match command["do"]:
        case "turn":
            peer.turn(conversation, *texts)
            return {}
        case "fill":
            peer.fill(conversation, texts)
            return {}
        case "read":
            return {"us": cpu_us(lambda: peer.read(conversation), command["times"])}
        case "append":
            return {"us": cpu_us(lambda: peer.append(conversation, *texts), command["times"])}
        case "count":
            return {"messages": peer.read(conversation)}
    raise ValueError(command["do"])
