"""What all commands have in common: how the service is found, help, completion, errors."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conversation_memory import Client, __version__
from conversation_memory.cli import COMMANDS, main
from tests.bed.served import Served, answering
from tests.clients.cli.conftest import Run, called

ROOT = Path(__file__).parents[3]


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, and those of the groups among them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)


EVERY = dict(commands(main))


def stack_file(folder: Path, url: str, **members: str) -> Path:
    """What a local stack writes that keeps its state in this folder."""
    folder.mkdir(parents=True)
    file = folder / "stack.json"
    file.write_text(json.dumps({"apiUrl": url, "region": "us-east-1", "auth": "none", **members}))
    return file


def test_the_local_stack_is_found_from_any_folder_below(
    url: str, memory: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = memory.create_conversation()
    file = stack_file(tmp_path / ".local", url)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert called("list", "--json").documents == [there]
    assert called("status", "--json").documents[0]["found"] == f"by {file}"


def test_a_local_stack_is_named_by_its_folder(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack_file(tmp_path / "state", url)
    monkeypatch.chdir(tmp_path)

    assert called("list", "--local", "state").exit_code == 0
    assert called("list", "--local", "none").err == "Error: No local stack runs on none: start it with `make run`.\n"


def test_without_a_service_it_says_how_to_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ran = called("list")

    assert ran.exit_code == 2
    assert ran.err == "Error: No service is found: start one with `make run`, or name one by --url or --stage.\n"


def test_a_folder_sends_nobody_and_no_token_to_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack_file(tmp_path / ".local", "http://127.0.0.1.example.org:8080")
    monkeypatch.chdir(tmp_path)

    ran = called("list", "--token", "secret")

    assert ran.exit_code == 1
    assert "which is not on this machine" in ran.err


def test_a_stack_that_has_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    stack_file(tmp_path / ".local", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)

    here, elsewhere = called("list"), called("list", "--url", "http://127.0.0.1:9")

    assert (here.exit_code, elsewhere.exit_code) == (1, 1)
    assert here.err.startswith("Error: No answer in 5 attempts: ")
    assert here.err.endswith(" Its stack seems to have ended: start it with `make run`.\n")
    assert elsewhere.err.endswith(" Is http://127.0.0.1:9 its address?\n")


def test_what_is_typed_counts_before_the_environment(run: Run) -> None:
    assert run("list", CONVERSATION_MEMORY_STAGE="prod").exit_code == 2
    assert run("list", "--url", "http://127.0.0.1:9/?q=1").err.endswith("is an http(s) URL without a query.\n")
    assert "--url and --stage cannot be given together" in run("list", "--url", "http://a", "--stage", "b").err


def test_a_token_is_sent_that_is_given_or_that_a_command_prints(run: Run, served: Served) -> None:
    printing = f"{sys.executable} -c \"print('of-a-command')\""

    assert run("list", CONVERSATION_MEMORY_TOKEN="of-the-environment").exit_code == 0
    assert run("list", "--token-command", printing, CONVERSATION_MEMORY_TOKEN="of-the-environment").exit_code == 0
    assert run("list").exit_code == 0

    sent = [request.headers.get("authorization") for request in served.requests]
    assert sent == ["Bearer of-the-environment", "Bearer of-a-command", None]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit(3)", "The token command ended with 3."),
        ("print('a\\nb')", "The token command is to print a token, on one line."),
        ("", "The token command is to print a token, on one line."),
    ],
)
def test_a_command_that_prints_no_token_is_told(run: Run, program: str, told: str) -> None:
    ran = run("list", "--token-command", shlex.join([sys.executable, "-c", program]))

    assert (ran.exit_code, ran.err) == (1, f"Error: {told}\n")


def test_who_is_not_let_in_is_told_how_to_get_a_token(
    served: Served, url: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".local"
    stack_file(folder, url)
    monkeypatch.chdir(tmp_path)
    served.faults.extend([answering(401, '{"message":"Unauthorized"}')] * 2)

    here, elsewhere = called("list"), run("list")

    assert (here.exit_code, elsewhere.exit_code) == (4, 4)
    assert f"`make -s token USER=alice LOCAL_DIR={folder}`" in here.err
    assert "make" not in elsewhere.err
    assert "CONVERSATION_MEMORY_TOKEN" in elsewhere.err


def test_an_error_is_a_line_unless_its_place_is_asked_for(run: Run, served: Served) -> None:
    served.faults.extend([answering(200, "<html>"), answering(200, "<html>")])

    plain = run("status")

    assert (plain.exit_code, len(plain.err.splitlines())) == (1, 1)
    with pytest.raises(AssertionError, match="BadAnswerError"):  # it is raised, for Python to show
        run("status", "--debug")


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_help_with_examples(path: tuple[str, ...]) -> None:
    ran = called(*path, "--help")

    assert ran.exit_code == 0
    assert ran.out.startswith(f"Usage: conversation-memory {' '.join(path)} ")
    if not isinstance(EVERY[path], click.Group):
        examples = ran.out.split("Examples:\n")[1].split("\n\n")[0]
        assert f"conversation-memory {' '.join(path)}" in examples


def test_help_and_version_of_the_whole() -> None:
    shown = called("--help").out

    assert "Exit codes:" in shown
    for name, (_, told) in COMMANDS.items():
        assert f"{name} {told}" in " ".join(shown.split())
    assert called("--version").out == f"conversation-memory {__version__}\n"


def test_commands_are_imported_when_they_are_called() -> None:
    program = (
        "import sys; from conversation_memory.cli import main; main(['--help'], standalone_mode=False);"
        "print([name for name in ('httpx', 'prompt_toolkit', 'botocore', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "clients" / "python" / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str) -> None:
    ran = called("completion", shell)

    assert ran.exit_code == 0
    assert f"_CONVERSATION_MEMORY_COMPLETE={shell}_complete" in ran.out


def completed(run: Run, *words: str) -> list[str]:
    """What bash is offered for the last word."""
    typed = " ".join(["conversation-memory", *words])
    variables = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words))}
    return run(_CONVERSATION_MEMORY_COMPLETE="bash_complete", **variables).out.split()


def test_completion_knows_commands_options_and_conversations(run: Run, memory: Client, served: Served) -> None:
    ids = [memory.create_conversation(name=f"Number {number}")["id"] for number in range(3)]

    assert completed(run, "sh") == ["plain,show"]
    assert "plain,--newest" in completed(run, "search", "--")
    assert completed(run, "show", "") == [f"plain,{id_}" for id_ in reversed(ids)]
    assert completed(run, "chat", "--conversation", ids[1][:10]) == [f"plain,{ids[1]}"]
    served.faults.append(answering(503))
    assert completed(run, "delete", "") == []


def test_every_command_is_described_and_what_is_described_is_there() -> None:
    described = (ROOT / "clients" / "python" / "README.md").read_text().split("## The command line")[1]
    shown = (ROOT / "README.md").read_text().split("## From a terminal")[1].split("\n## ")[0]

    assert set(re.findall(r"^\| `([a-z]+)", described, re.MULTILINE)) == set(COMMANDS)
    assert set(re.findall(r"^conversation-memory ([a-z]+)", shown, re.MULTILINE)) <= set(COMMANDS)
    for option in re.findall(r"`(--[a-z0-9-]+)", described + shown):
        assert any(option in called(*path, "--help").out for path in [(), *EVERY]), option
