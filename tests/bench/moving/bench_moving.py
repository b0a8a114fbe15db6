"""How fast conversations are moved: messages a second of each source, beside bare appends through the client.

    python tests/bench/moving/bench_moving.py

The deployed local stack is the target, and of OpenSearch's memories the source as well; LangChain's table stands on the
same engine. Each round measures all rows one after the other, in sessions that are new to it, and the ratios are taken
within a round: the machine is what it is. It takes some minutes.
"""

import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[3] / "functions"))
sys.path.insert(0, str(Path(__file__).parents[3] / "clients" / "python" / "src"))

from tests.bed import frameworks, installed

sys.path.append(str(installed.installed(frameworks.REQUIREMENTS, "frameworks")))

import boto3
import httpx

from conversation_memory import Client
from conversation_memory.moving import move
from conversation_memory.moving.exporting import export
from conversation_memory.moving.formats import JsonLines
from conversation_memory.moving.json_lines import JsonLinesFile
from conversation_memory.moving.langchain_tables import LangChainTable
from conversation_memory.moving.opensearch import OpenSearchMemory
from infra.local.environment import aws_settings
from tests.bed.stack import Stack, deployed

ROUNDS, SESSIONS, MESSAGES, BARE = 3, 10, 100, 60
TEXT = "A message of some five hundred bytes. " * 13
YARDSTICK = "append, one by one"
Row = Callable[[], int]


def new(name: str) -> str:
    return f"{name} {uuid.uuid4()}"


def one_by_one(memory: Client) -> int:
    conversation_id = memory.create_conversation()["id"]
    for _ in range(BARE):
        memory.append_message(conversation_id, "user", TEXT)
    return BARE


def batches(memory: Client) -> int:
    for _ in range(SESSIONS):
        conversation_id = memory.create_conversation()["id"]
        memory.append_messages(conversation_id, [{"role": "user", "content": TEXT}] * 98)
    return SESSIONS * 98


def table(client: Any) -> str:
    """A table as LangChain's class in Python writes it."""
    name = f"Histories{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    rows = [
        {"M": {"type": {"S": kind}, "data": {"M": {"content": {"S": TEXT}, "type": {"S": kind}}}}}
        for kind in ("human", "ai") * (MESSAGES // 2)
    ]
    for _ in range(SESSIONS):
        client.put_item(TableName=name, Item={"SessionId": {"S": new("table")}, "History": {"L": rows}})
    return name


def file_of(memory: Client, folder: Path, session: str = "") -> Path:
    """An export of as many messages, of conversations that are elsewhere by their ids."""
    path = folder / uuid.uuid4().hex
    lines: list[str] = []
    form = JsonLines()
    lines.append(form.begin())
    for _ in range(SESSIONS):
        head: Any = {"id": uuid.uuid4().hex[:20], "name": None, "metadata": {}, "owner": "o", "sessionId": new("file")}
        lines.append(form.conversation(head))
        for number in range(MESSAGES):
            told: Any = {"id": f"{head['id']}.{number}", "role": "user", "content": [{"text": TEXT}]}
            lines.append(form.message(told))
    lines.append(form.end(SESSIONS, SESSIONS * MESSAGES))
    path.write_text("".join(lines))
    return path


def fill_memories(memory: Client) -> None:
    for _ in range(SESSIONS):
        conversation_id = memory.create_conversation(name="source")["id"]
        for first in range(0, MESSAGES, 50):
            count = min(50, MESSAGES - first)
            memory.append_messages(conversation_id, [{"role": "user", "content": TEXT}] * count)


class OnlySources(OpenSearchMemory):
    """The memories that were made to be moved, and not those that moving has made."""

    def sessions(self) -> Any:
        for session in super().sessions():
            if session.name == "source":
                yield session


def moved(report: Any) -> int:
    assert not report.skipped, report.skipped[:3]
    return int(report.moved)


def measure(stack: Stack, folder: Path) -> dict[str, list[float]]:
    dynamodb = boto3.client("dynamodb", endpoint_url=stack.endpoint_url)
    rates: dict[str, list[float]] = {}
    with Client(stack.api_url) as memory, httpx.Client(timeout=60) as http:
        for _ in range(ROUNDS):
            memory.delete_conversations([c["id"] for c in memory.conversations() if c["name"] == "source"] or ["none"])
            fill_memories(memory)
            tables = [table(dynamodb) for _ in range(2)]
            path = file_of(memory, folder)
            exported = [c["id"] for c in memory.conversations() if c["name"] == "source"]
            rows: dict[str, Row] = {
                YARDSTICK: lambda: one_by_one(memory),
                "append, 98 at once": lambda: batches(memory),
                "LangChain's table": lambda t=tables[0]: moved(move(LangChainTable(t, client=dynamodb), memory)),  # type: ignore[misc]
                "LangChain's table, one at a time": lambda t=tables[1]: moved(  # type: ignore[misc]
                    move(LangChainTable(t, client=dynamodb), memory, at_once=1)
                ),
                "the table again": lambda t=tables[0]: move(LangChainTable(t, client=dynamodb), memory).present,  # type: ignore[misc]
                "OpenSearch's memories": lambda: moved(move(OnlySources(stack.api_url, http=http), memory)),
                "JSON Lines": lambda p=path: moved(move(JsonLinesFile(p), memory)),  # type: ignore[misc]
                "export": lambda e=exported: export(memory, JsonLines(), len, ids=e).moved,  # type: ignore[misc]
            }
            for name, row in rows.items():
                began = time.perf_counter()
                count = row()
                rates.setdefault(name, []).append(count / (time.perf_counter() - began))
    return rates


def main() -> None:
    import os

    os.environ.update(aws_settings())
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as state,
        deployed(Path(state)) as stack,
    ):
        rates = measure(stack, Path(folder))
    bare = rates[YARDSTICK]
    print(f"{SESSIONS} sessions of {MESSAGES} messages of 500 bytes, {ROUNDS} rounds: medians")
    for name, measured in rates.items():
        ratio = statistics.median(one / base for one, base in zip(measured, bare, strict=True))
        print(f"{name:34} {statistics.median(measured):8.0f} messages/s  {ratio:6.1f} x")


if __name__ == "__main__":
    main()
