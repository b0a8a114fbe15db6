"""The command line on a service that wants tokens."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bed.stack import Stack

pytestmark = pytest.mark.stack
ROOT = Path(__file__).parent.parent.parent


def run(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "conversation_memory", *arguments, "--local", str(stack.folder)]
    path = f"{ROOT}:{ROOT / 'clients' / 'python' / 'src'}"
    return subprocess.run(
        program, env={"PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )


def test_who_has_no_token_is_told_how_to_get_one(secured: Stack) -> None:
    sign_in = shlex.join([sys.executable, "-m", "infra.local.sign_in", "--local-dir", str(secured.folder)])

    refused = run(secured, "list")
    forged = run(secured, "list", "--token", "forged")
    let_in = run(secured, "chat", "Who am I?", "--token-command", f"{sign_in} --user ada")

    assert (refused.returncode, forged.returncode) == (4, 4)
    assert refused.stderr.startswith("Error: 401 from the gateway: Unauthorized. Get a token with `make -s token ")
    assert f"LOCAL_DIR={secured.folder}`" in refused.stderr
    assert (let_in.returncode, let_in.stdout) == (0, "You said: Who am I?\n")
