"""The frameworks that the clients serve, in a folder of their own: they need Pydantic, and the functions must not come
to need that unnoticed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests" / "clients" / "frameworks"
REQUIREMENTS = TESTS / "requirements.txt"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conversation-memory"


def installed() -> Path:
    """The folder, filled once for these requirements and this Python, and kept from session to session."""
    known_by = f"{sys.version_info[:2]} {sys.platform}\n{REQUIREMENTS.read_text()}"
    folder = _CACHE / f"frameworks-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        partly = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
            options = ["--no-deps", "--only-binary=:all:", "--target", str(partly), "-r", str(REQUIREMENTS)]
            subprocess.run([*pip, *options], check=True, timeout=240)
            partly.rename(folder)
        except OSError:
            assert folder.exists()  # somebody else was quicker
        finally:
            shutil.rmtree(partly, ignore_errors=True)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """Variables with which a Python of ours finds the frameworks and the clients."""
    path = os.pathsep.join(map(str, (installed(), ROOT / "clients" / "python" / "src", ROOT)))
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**ours, "PYTHONPATH": path, **variables}
