"""Packages in folders of their own, for what must not be in the environment of the functions."""

import hashlib
import subprocess
import sys
from pathlib import Path

from tests.bed.fetched import kept

_PIP = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile"]
_TIMEOUT_S = 600


def installed(requirements: Path, kept_as: str) -> Path:
    """The folder, filled once for these requirements and this Python."""

    def install(folder: Path) -> None:
        options = ["--no-deps", "--only-binary=:all:", "--target", str(folder), "-r", str(requirements)]
        subprocess.run([*_PIP, *options], check=True, timeout=_TIMEOUT_S)

    known_by = f"{sys.version_info[:2]} {sys.platform}\n{requirements.read_text()}"
    return kept(f"{kept_as}-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}", install)
