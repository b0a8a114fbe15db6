"""Packages in folders of their own, for what must not be in the environment of the functions."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conversation-memory"
_PIP = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile"]
_TIMEOUT_S = 600


def installed(requirements: Path, kept_as: str) -> Path:
    """The folder, filled once for these requirements and this Python, and kept from run to run."""
    known_by = f"{sys.version_info[:2]} {sys.platform}\n{requirements.read_text()}"
    folder = _CACHE / f"{kept_as}-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        partly = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            options = ["--no-deps", "--only-binary=:all:", "--target", str(partly), "-r", str(requirements)]
            subprocess.run([*_PIP, *options], check=True, timeout=_TIMEOUT_S)
            partly.rename(folder)
        except OSError:
            assert folder.exists()  # somebody else was quicker
        finally:
            shutil.rmtree(partly, ignore_errors=True)
    return folder
