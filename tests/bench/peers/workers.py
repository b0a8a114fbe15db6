"""Our side of a peer: its environment, made once, and the process that runs in it."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import environment
from tests.bed.installed import installed

_PEERS = Path(__file__).parent
_ROOT = _PEERS.parents[2]
_ANSWER_S = 120


class PeerError(Exception):
    """The peer could not do what it was told; its own words."""


@dataclass(frozen=True, slots=True)
class PeerKind:
    """A peer: the file of this folder that runs it, how it is called, and the key of its table."""

    module: str
    name: str
    keys: Sequence[str]


LANGCHAIN = PeerKind("langchain_history", "LangChain 0.4.2, DynamoDBChatMessageHistory", ["SessionId"])
LLAMA_INDEX = PeerKind("llama_index_store", "LlamaIndex 0.6.0, DynamoDBChatStore", ["SessionId"])
AGENT_SQUAD = PeerKind("agent_squad_storage", "agent-squad 1.1.4, DynamoDbChatStorage", ["PK", "SK"])
LANGGRAPH = PeerKind("langgraph_saver", "LangGraph, langgraph-checkpoint-aws 1.2.6 (without S3)", ["PK", "SK"])
KINDS = (LANGCHAIN, LLAMA_INDEX, AGENT_SQUAD, LANGGRAPH)


class Worker:
    """The process of a peer."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._answers = selectors.DefaultSelector()
        assert process.stdout is not None
        self._answers.register(process.stdout, selectors.EVENT_READ)

    def do(self, what: str, conversation: str, texts: Sequence[str] = (), *, times: int = 1) -> Any:
        """Let the peer do something.

        Raises:
            PeerError: it failed, has ended, or is not done within two minutes.
        """
        command = {"do": what, "conversation": conversation, "texts": list(texts), "times": times}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        if not self._answers.select(_ANSWER_S):
            raise PeerError(f"no answer to {what} within {_ANSWER_S} s")
        line = self._process.stdout.readline()
        answer = json.loads(line or '{"error": "the process has ended"}')
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer


@contextmanager
def worker(kind: PeerKind, endpoint_url: str, log: Path) -> Iterator[Worker]:
    """A process of a peer that finds its table at this address. What it prints goes to the log."""
    path = os.pathsep.join((str(installed(_PEERS / f"{kind.module}.txt", f"peer-{kind.module}")), str(_ROOT)))
    variables = environment.for_emulator(os.environ) | {"PYTHONPATH": path, "AWS_ENDPOINT_URL_DYNAMODB": endpoint_url}
    with (
        log.open("a") as printed,
        subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.peers.{kind.module}"],
            cwd=_ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            text=True,
        ) as process,
    ):
        try:
            yield Worker(process)
        finally:
            process.kill()
