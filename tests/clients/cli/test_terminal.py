"""Commands in a real terminal, which other tests do without."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conversation_memory import Client
from tests.bed.terminal import CTRL_C, ENTER, terminal

pytestmark = pytest.mark.slow

SOURCES = Path(__file__).parents[3] / "clients" / "python" / "src"
PROGRAM = [sys.executable, "-m", "conversation_memory"]
STEERING = "\x1b]0;title\x07\x1b[2J\x9b1A"


def variables(url: str) -> dict[str, str]:
    known = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "PATH": os.environ["PATH"]}
    return {**known, "PYTHONPATH": str(SOURCES), "CONVERSATION_MEMORY_URL": url}


def test_a_deletion_is_asked_about(url: str, memory: Client) -> None:
    there = memory.create_conversation()["id"]

    for answer, exit_code, left in [(f"n{ENTER}", 1, 1), (CTRL_C, 130, 1), (f"y{ENTER}", 0, 0)]:
        with terminal([*PROGRAM, "delete", there], variables(url)) as shown:
            shown.await_text("Delete this conversation with all messages? [y/N]:")
            time.sleep(0.3)  # Python heeds no signal between showing a prompt and reading
            shown.press(answer)
            assert shown.await_end() == exit_code, repr(answer)
        assert len(list(memory.conversations())) == left


def test_what_was_said_is_shown_and_not_obeyed(url: str, memory: Client) -> None:
    begun = memory.create_conversation(name=STEERING)
    memory.append_message(begun["id"], "user", f"turtle {STEERING}")

    with terminal([*PROGRAM, "search", "turtle"], variables(url)) as shown:
        assert shown.await_end() == 0

    assert shown.lines[0] == rf"{begun['id']}  \x1b]0;title\x07\x1b[2J\x9b1A"
    assert shown.lines[1].endswith(r"  user       turtle \x1b]0;title\x07\x1b[2J\x9b1A")
    assert b"\x1b[33m\x1b[1mturtle\x1b[0m" in shown.printed  # what is the command line's own is obeyed


def test_a_reader_who_has_seen_enough_ends_it_quietly(url: str, memory: Client) -> None:
    begun = memory.create_conversation()
    for _ in range(3):
        memory.append_messages(begun["id"], [{"role": "user", "content": "much " * 10_000}])

    piped = f'"{sys.executable}" -m conversation_memory show --all {begun["id"]} | head -1'
    done = subprocess.run(
        ["bash", "-c", piped], env=variables(url), capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.startswith("user  ")
    assert done.stderr == ""


def test_bash_completes_an_id(url: str, memory: Client, tmp_path: Path) -> None:
    there = memory.create_conversation(name="With a name")["id"]
    program = tmp_path / "conversation-memory"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m conversation_memory "$@"\n')
    program.chmod(0o755)
    known = variables(url)
    script = (
        'eval "$(conversation-memory completion bash)"; '
        f'COMP_WORDS=(conversation-memory show "{there[:3]}"); COMP_CWORD=2; '
        '_conversation_memory_completion conversation-memory; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(
        ["bash", "-c", script],
        env={**known, "PATH": f"{tmp_path}:{known['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == f"{there}\n", done.stderr
