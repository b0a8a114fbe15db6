"""``export`` and ``import``, as they are called."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from conversation_memory import Client
from tests.bed.in_process import Api
from tests.bed.opensearch import Cluster
from tests.clients.cli.conftest import Ran, Run, called

pytestmark = pytest.mark.slow

SOURCES = Path(__file__).parents[3] / "clients" / "python" / "src"


def _said(ran: Ran) -> list[str]:
    """What the command printed; the API of the test logs into the same."""
    return [line for line in ran.lines if not line.startswith('{"level"')]


@pytest.fixture
def talk(memory: Client) -> str:
    """A conversation of three messages."""
    conversation_id = memory.create_conversation(name="First\x1b[2J", session_id="ada")["id"]
    said: list[Any] = [
        {
            "role": "user",
            "content": [
                {"text": "What is this?"},
                {"document": {"format": "pdf", "name": "a", "source": {"bytes": "AAAA"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"text": "Let me see."}, {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"a": "```"}}}],
        },
        {
            "role": "tool",
            "content": [{"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "No."}]}}],
        },
    ]
    memory.append_messages(conversation_id, said)
    return conversation_id


def test_what_is_exported_is_imported_elsewhere(run: Run, memory: Client, talk: str, tmp_path: Path) -> None:
    file = tmp_path / "conversations.jsonl"

    written = run("export", "-o", str(file))

    assert (written.exit_code, written.err) == (0, "")
    assert written.out == f"1 conversations with 3 messages: {file}\n"
    assert run("export", talk).out == run("export", "--session", "ada").out == file.read_text()
    memory.delete_conversation(talk)
    dry = run("import", "jsonl", str(file), "--dry-run")
    assert _said(dry) == ["1 sessions: 3 messages would be moved, 0 already there."]
    assert memory.find_conversation("ada") is None
    moved = run("import", "jsonl", str(file), "--progress")
    assert moved.exit_code == 0
    assert _said(moved) == ["1 sessions: 3 messages moved, 0 already there."]
    assert "messages moved" in moved.err
    [again] = map(json.loads, _said(run("import", "jsonl", str(file), "--json")))
    assert (again["moved"], again["present"], again["skipped"], again["dryRun"]) == (0, 3, [], False)


def test_what_is_skipped_is_listed_and_ends_with_a_code_of_its_own(run: Run, talk: str, tmp_path: Path) -> None:
    file = tmp_path / "conversations.jsonl"
    run("export", "-o", str(file))
    lines = file.read_text().replace(talk, "x" * 20).splitlines(keepends=True)
    file.write_text("".join([*lines[:2], "{\n", *lines[3:-1]]))

    moved = run("import", "jsonl", str(file))

    assert moved.exit_code == 5
    assert sorted(_said(moved)) == [
        "1 sessions: 2 messages moved, 0 already there, 2 skipped.",
        f"Note: {'x' * 20}: is stored behind 3 messages that were there before",
        "Skipped: the file: has no last line: it was not written to its end",
        f"Skipped: {'x' * 20} [0]: is no line of a message",
    ]
    missing = run("export", "none", "-o", str(tmp_path / "none"))
    assert missing.exit_code == 5
    assert "Skipped: none: There is no such conversation." in missing.out


def test_markdown_is_for_reading(run: Run, talk: str) -> None:
    shown = run("export", talk, "--format", "markdown").out

    assert shown.startswith("# First\x1b[2J\n\n- Conversation")  # a file has what was written; a terminal would not
    for part in (
        "## User · 20",
        "What is this?",
        "*(Document: a, pdf, 3 bytes)*",
        "**Calls `f`** (`t1`)",
        '````json\n{\n  "a": "```"\n}\n````',
        "**Result of `t1`** (an error)",
        "```\nNo.\n```",
    ):
        assert part in shown, part


def test_a_file_of_tomorrow_and_a_bad_segment_are_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text('{"format":"conversation-memory/9"}\n')

    refused = run("import", "jsonl", str(file))

    assert refused.exit_code == 1
    assert (
        refused.err
        == "Error: The file is in the format conversation-memory/9; what is read here is conversation-memory/1.\n"
    )
    assert run("import", "jsonl", str(tmp_path / "missing")).exit_code == 2
    for never in ("yesterday", "2026-13-45", "2026-11-30T24:01"):
        assert run("export", "--since", never).exit_code == 2
    assert run("import", "langchain", "table", "--read-units", "-1").exit_code == 2
    assert run("export", "--since", "2026-11-30T12:00").exit_code == 0
    assert called("import", "--help").exit_code == called("import", "langchain", "--help").exit_code == 0


def test_a_file_is_not_there_before_it_is_whole(run: Run, talk: str, tmp_path: Path, memory: Client) -> None:
    file = tmp_path / "conversations.jsonl"
    run("export", "-o", str(file))
    before = file.read_text()

    refused = run("export", "--owner", "somebody else", "-o", str(file))

    assert refused.exit_code in (0, 1, 3, 4)
    assert json.loads(before.splitlines()[0]) == {"format": "conversation-memory/1"}
    assert [path.name for path in tmp_path.iterdir()] == ["conversations.jsonl"]


def test_what_is_no_file_is_written_to_and_what_a_link_names_is_replaced(run: Run, talk: str, tmp_path: Path) -> None:
    pipe, link, file = (tmp_path / name for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    link.symlink_to(file)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    written = run("export", talk, "-o", str(pipe))
    reader.join(10)

    assert (written.exit_code, pipe.is_fifo()) == (0, True)
    assert run("export", talk, "-o", str(link)).exit_code == 0
    assert (link.is_symlink(), file.read_text()) == (True, read[0])
    assert run("export", talk, "-o", os.devnull).exit_code == 0
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="a device of Linux")
def test_a_full_disk_is_told_in_a_line(url: str, talk: str) -> None:
    """As a process: what it prints goes to a disk that is full."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "conversation_memory", "list", "--url", url],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (1, "Error: Output: No space left on device\n")


def test_memories_of_opensearch_are_imported(run: Run, api: Api, url: str, memory: Client) -> None:
    """The service is its own source: its dialect is OpenSearch's."""
    cluster = Cluster(api)
    memory_id = cluster.memory(name="Trip")
    cluster.message(memory_id, input="How is it?", response="Sunny.")

    moved = run("import", "opensearch", url)

    assert moved.exit_code == 0
    assert _said(moved) == ["1 sessions: 2 messages moved, 0 already there."]
    found = memory.find_conversation(memory_id)
    assert found
    assert [message["role"] for message in memory.messages(found["id"])] == ["user", "assistant"]
    refused = run("import", "opensearch", "https://alice:secret@localhost:9200")
    assert (refused.exit_code, "secret" in refused.err) == (2, False)
    assert run("import", "opensearch", url, "--sign", "--user", "alice").exit_code == 2
    assert run("import", "opensearch", "localhost:9200").exit_code == 2
