"""LangChain JS, unmodified: npm's packages for the tests that run it, installed once and kept from session to session.

``tests/clients/javascript/package.json`` names them, and its lock file pins all that they bring. Most of what
@langchain/community could be used with is left out: it stands among its peer dependencies.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests" / "clients" / "javascript"
_NAMED = ("package.json", "package-lock.json")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conversation-memory"
_INSTALL_S = 240


@cache
def installed() -> Path:
    """The folder that holds ``node_modules``, filled once for this lock file.

    Without npm, or npm's registry, the test is skipped, and fails where tests must not be skipped (`CI`).
    """
    known_by = b"".join((TESTS / name).read_bytes() for name in _NAMED)
    folder = _CACHE / f"node-{hashlib.sha256(known_by).hexdigest()[:16]}"
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        partly = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            _install(partly)
            partly.rename(folder)
        except OSError:
            assert folder.exists()  # somebody else was quicker
        finally:
            shutil.rmtree(partly, ignore_errors=True)
    return folder


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
    return shutil.which("node") or _unavailable("there is no Node.js here")


def _install(folder: Path) -> None:
    npm = shutil.which("npm") or _unavailable("there is no npm here")
    for name in _NAMED:
        shutil.copy(TESTS / name, folder)
    options = ["--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(
            [npm, "ci", *options], cwd=folder, capture_output=True, text=True, timeout=_INSTALL_S, check=False
        )
    except subprocess.TimeoutExpired:
        _unavailable("npm did not answer in time")
    if done.returncode:
        _unavailable(done.stderr.strip()[:300])


def _unavailable(reason: str) -> NoReturn:
    told = f"LangChain JS cannot be run: {reason}"
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)
