"""Schemathesis, in an environment of its own under `.local`, which is made when it is first needed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_REQUIREMENTS = _ROOT / "tests" / "faults" / "fuzzer-requirements.txt"
_HOOKS = _REQUIREMENTS.with_name("fuzzer_hooks.py")
_INSTALL_TIMEOUT_S = 240
_PHASES = "examples,fuzzing,stateful"  # its phase of coverage meets a fault of Python 3.11 (AST recursion in threads)


def schemathesis() -> Path:
    """The program; its environment is made anew when its requirements change."""
    version = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = _ROOT / ".local" / "tools" / f"fuzzer-{version}"
    program = folder / "bin" / "schemathesis"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, timeout=_INSTALL_TIMEOUT_S)
        pip: list[str | Path] = [
            folder / "bin" / "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        subprocess.run([*pip, "-r", str(_REQUIREMENTS)], check=True, timeout=_INSTALL_TIMEOUT_S, env=environment)
        (folder / "installed").touch()
    return program


def fuzz(document_url: str, *, seed: int, most_s: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Call every documented operation in many ways; what it found, as the program tells it."""
    checks = (
        "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
        "response_schema_conformance"
    )
    bounds = ["--seed", str(seed), "--max-time", str(most_s), "--request-timeout", "60", "--workers", "2"]
    tried = ["--phases", _PHASES, "--checks", checks, "--no-color", "--warnings", "off"]
    return subprocess.run(
        [schemathesis(), "run", document_url, *bounds, *tried],
        capture_output=True,
        text=True,
        check=False,
        timeout=most_s + 240,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(_HOOKS.parent),
            "SCHEMATHESIS_HOOKS": _HOOKS.stem,
        },
    )
