"""LangChain JS, unmodified: npm's packages for the tests that run it, installed once and kept from session to session.

``tests/clients/javascript/package.json`` names them, and its lock file pins all that they bring. Most of what
@langchain/community could be used with is left out: it stands among its peer dependencies.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.bed import fetched

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests" / "clients" / "javascript"
_NAMED = ("package.json", "package-lock.json")
_WANTED = "LangChain JS"


@cache
def installed() -> Path:
    """The folder that holds ``node_modules``, filled once for this lock file.

    Without npm, or npm's registry, the test is skipped, and fails where tests must not be skipped (`CI`).
    """
    known_by = b"".join((TESTS / name).read_bytes() for name in _NAMED)
    return fetched.kept(f"node-{hashlib.sha256(known_by).hexdigest()[:16]}", _install)


def workplace(folder: Path, *programs: Path) -> Path:
    """The folder, with copies of these programs and the packages beside them: that is where Node.js looks for both."""
    for program in programs:
        shutil.copy(program, folder)
    shutil.copy(TESTS / "package.json", folder)  # says that they are modules
    (folder / "node_modules").symlink_to(installed() / "node_modules", target_is_directory=True)
    return folder


def run(program: Path, *arguments: str, variables: Mapping[str, str], timeout_s: float = 60, said: str = "") -> str:
    """What a program of a workplace prints. Fails with what it complains of if it does not end well."""
    ran = subprocess.run(
        [node(), str(program), *arguments],
        cwd=program.parent,
        env={"PATH": os.environ.get("PATH", os.defpath), **variables},
        input=said,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-5_000:]
    return ran.stdout


def node() -> str:
    """Node.js; see ``installed`` for what becomes of a test without it."""
    return fetched.program_called("node", _WANTED)


def _install(folder: Path) -> None:
    for name in _NAMED:
        shutil.copy(TESTS / name, folder)
    options = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
    fetched.npm("ci", *options, folder=folder, wanted=_WANTED)
