"""The README's blocks: what needs no AWS account is run as it stands, but for the address."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local import environment, node
from infra.tools import read_tools
from tests.bed import frameworks
from tests.bed.stack import Stack

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
DEFAULT_ADDRESS = "http://127.0.0.1:8080"


def blocks(language: str) -> list[str]:
    return [block for found, block in BLOCKS if found == language]


def run(command: list[str], stack: Stack, **variables: str) -> str:
    """What a block prints, in an environment that knows the local stack only."""
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    settings = environment.aws_settings() | {"AWS_ENDPOINT_URL": stack.endpoint_url}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=90, check=False, env=known | settings | variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {language for language, _ in BLOCKS} == {"console", "mermaid", "sh", "js", "python", "json"}
    assert [len(blocks(language)) for language in ("sh", "js", "python", "json")] == [1, 1, 6, 2]


def test_make_targets_exist() -> None:
    named = re.findall(r"\bmake ([a-z-]+)", "".join(blocks("console")))
    makefile = (ROOT / "Makefile").read_text()

    assert {"run", "test", "test-fast", "check", "help", "deploy"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_policies_are_json_and_tools_can_be_registered(tmp_path: Path) -> None:
    [tools, policy] = blocks("json")
    file = tmp_path / "tools.json"
    file.write_text(tools)

    assert [tool.name for tool in read_tools(file)] == ["weather"]
    assert json.loads(policy)["Effect"] == "Allow"


@pytest.mark.stack
def test_the_first_conversation_ends_with_an_answer_and_another_function_may_ask(
    http: httpx.Client, stack: Stack
) -> None:
    [first] = blocks("sh")
    assert DEFAULT_ADDRESS in first
    script = first.replace(DEFAULT_ADDRESS, stack.api_url) + "\necho\necho $CONVERSATION $MESSAGE"

    lines = run(["bash", "-euo", "pipefail", "-c", script], stack).splitlines()
    conversation, message = lines[-1].split()
    answered, history = _documents("".join(lines[:-1]))

    assert answered["turn"]["status"] == "complete"
    assert answered["message"]["content"] == [{"text": "You said: My name is Ada."}]
    assert [entry["role"] for entry in history["messages"]] == ["user"]
    [python] = [block for block in blocks("python") if "turn-function-arn" in block]
    other = http.post(
        f"/conversations/{conversation}/messages", json={"role": "user", "content": [{"text": "Who am I?"}]}
    ).json()
    run([sys.executable, "-c", python], stack, CONVERSATION=conversation, MESSAGE=other["id"])
    assert _eventually(http, f"/conversations/{conversation}/turns/{other['id']}")["message"]["content"] == [
        {"text": "You said: Who am I?"}
    ]
    assert message.startswith(conversation)


@pytest.mark.stack
def test_a_front_end_shows_the_answer(stack: Stack, tmp_path: Path) -> None:
    [block] = blocks("js")
    assert DEFAULT_ADDRESS in block
    page = tmp_path / "page.mjs"
    page.write_text(block)

    printed = run(
        ["node", str(page)], stack, API=stack.api_url, PATH=node.path_with(node.prepare(), os.environ["PATH"])
    )

    assert "complete" in printed
    assert "You said: Tell me about the sea." in printed


@pytest.mark.stack
def test_python_follows_an_answer_and_keeps_a_history_for_langchain(stack: Stack) -> None:
    clients = [block for block in blocks("python") if "conversation_memory" in block]
    path = frameworks.environment()["PYTHONPATH"]

    followed, kept = [
        run([sys.executable, "-c", block.replace(DEFAULT_ADDRESS, stack.api_url)], stack, PYTHONPATH=path)
        for block in clients
    ]

    assert followed == "You said: Tell me about the sea.['user', 'assistant']\n"
    assert kept.startswith("[HumanMessage(content='Hi!'")
    assert "'2026-11-30'" in kept


def _documents(text: str) -> list[Any]:
    decoder, documents, place = json.JSONDecoder(), [], 0
    while place < len(text):
        document, place = decoder.raw_decode(text, place)
        documents.append(document)
    return documents


def _eventually(http: httpx.Client, path: str) -> Any:
    for _ in range(60):
        answer = http.get(path, params={"wait": 1})
        if answer.status_code == 200 and answer.json()["turn"]["status"] == "complete":
            return answer.json()
    raise AssertionError(answer.text)
