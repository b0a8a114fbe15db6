"""What tests need beyond ``requirements.txt``: fetched from PyPI or npm when it is first needed, and kept from session
to session.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conversation-memory"


def kept(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of this name, which was filled once. The name has to say what is in it, versions included."""
    folder = _CACHE / name
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        partly = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            fill(partly)
            partly.rename(folder)
        except OSError:
            assert folder.exists()  # somebody else was quicker
        finally:
            shutil.rmtree(partly, ignore_errors=True)
    return folder


def npm(*arguments: str, folder: Path, wanted: str, timeout_s: float = 240) -> None:
    """Run npm in a folder; see ``unavailable`` for what becomes of a test when that does not work."""
    program = program_called("npm", wanted)
    command = [program, *arguments, "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        unavailable(wanted, "npm did not answer in time")
    if done.returncode:
        unavailable(wanted, done.stderr.strip()[:300])


def packed(package: str, folder: Path) -> Path:
    """The archive of an npm package, in a folder that holds no other."""
    npm("pack", package, "--pack-destination", str(folder), folder=folder, wanted=package)
    (archive,) = folder.glob("*.tgz")
    return archive


def program_called(name: str, wanted: str) -> str:
    """Where a program is that is needed for what is wanted."""
    return shutil.which(name) or unavailable(wanted, f"there is no {name} here")


def unavailable(wanted: str, reason: str) -> NoReturn:
    """Skip the test; fail where tests must not be skipped (``CI``)."""
    told = f"{wanted} cannot be had: {reason}"
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)
