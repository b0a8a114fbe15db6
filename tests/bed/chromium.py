"""A headless Chromium for the tests: npm's @sparticuz/chromium carries the program and the libraries that a bare Linux
lacks, so that nothing of it is installed on the machine. It is fetched once and kept from session to session.
"""

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

PACKAGE = "@sparticuz/chromium@147.0.0"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "conversation-memory"
_FETCH_S = 240
_ON_OTHER_SYSTEMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_UNPACK = "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{folder}/fonts</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Chromium:
    """The program, and variables that it needs to find its own libraries and fonts."""

    program: Path
    variables: Mapping[str, str]


def installed() -> Chromium:
    """The pinned Chromium; on other systems than Linux on x86-64, for which there is none, one of the machine's own.

    Without either the test is skipped, and fails where tests must not be skipped (`CI`).
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        found = next(filter(None, map(shutil.which, _ON_OTHER_SYSTEMS)), None)
        return Chromium(Path(found or _unavailable("there is none on the PATH")), {})
    folder = _CACHE / f"chromium-{PACKAGE.rpartition('@')[2]}"
    if not folder.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        partly = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            _install(partly)
            (partly / "fonts.conf").write_text(_FONTS.format(folder=folder))
            partly.rename(folder)
        except OSError:
            assert folder.exists()  # somebody else was quicker
        finally:
            shutil.rmtree(partly, ignore_errors=True)
    variables = {"LD_LIBRARY_PATH": str(folder / "al2023" / "lib"), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    return Chromium(folder / "chromium", variables)


def _install(folder: Path) -> None:
    archive = _fetched(folder)
    with tarfile.open(archive) as package:
        for name in ("chromium", "al2023.tar", "fonts.tar"):
            packed = package.extractfile(f"package/bin/{name}.br")
            assert packed is not None
            with (folder / name).open("wb") as unpacked:
                _unpack(packed.read(), unpacked.fileno())
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(folder / name) as members:
            members.extractall(folder, filter="data")
        (folder / name).unlink()
    (folder / "chromium").chmod(0o755)
    archive.unlink()


def _fetched(folder: Path) -> Path:
    npm = shutil.which("npm") or _unavailable("there is no npm here")
    command = [npm, "pack", PACKAGE, "--loglevel=error", "--pack-destination", str(folder)]
    try:
        packed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        _unavailable("npm did not answer in time")
    if packed.returncode:
        _unavailable(packed.stderr.strip()[:300])
    (archive,) = folder.glob("*.tgz")
    return archive


def _unpack(packed: bytes, unpacked: int) -> None:
    """Undo Brotli, which Node.js knows and Python does not."""
    node = shutil.which("node") or _unavailable("there is no Node.js here")
    subprocess.run([node, "-e", _UNPACK], input=packed, stdout=unpacked, timeout=_FETCH_S, check=True)


def _unavailable(reason: str) -> NoReturn:
    told = f"no Chromium can be run here: {reason}"
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)
