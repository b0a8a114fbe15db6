"""A headless Chromium for the tests: npm's @sparticuz/chromium carries the program and the libraries that a bare Linux
lacks, so that nothing of it is installed on the machine. It is fetched once and kept from session to session.
"""

import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bed import fetched

PACKAGE = "@sparticuz/chromium@147.0.0"
_UNPACK_S = 60
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
        return Chromium(Path(found or fetched.unavailable("a Chromium", "there is none on the PATH")), {})
    folder = fetched.kept(f"chromium-{PACKAGE.rpartition('@')[2]}", _install)
    fonts = folder / "fonts.conf"
    fonts.write_text(_FONTS.format(folder=folder))
    variables = {"LD_LIBRARY_PATH": str(folder / "al2023" / "lib"), "FONTCONFIG_FILE": str(fonts)}
    return Chromium(folder / "chromium", variables)


def _install(folder: Path) -> None:
    archive = fetched.packed(PACKAGE, folder)
    with tarfile.open(archive) as package:
        for name in ("chromium", "al2023.tar", "fonts.tar"):
            packed = package.extractfile(f"package/bin/{name}.br")
            assert packed is not None
            with (folder / name).open("wb") as unpacked:
                _unpack(packed.read(), unpacked.fileno())
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(folder / name) as members:
            members.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.0 to 3.11.3 have no filters
            members.extractall(folder)
        (folder / name).unlink()
    (folder / "chromium").chmod(0o755)
    archive.unlink()


def _unpack(packed: bytes, unpacked: int) -> None:
    """Undo Brotli, which Node.js knows and Python does not."""
    node = fetched.program_called("node", PACKAGE)
    subprocess.run([node, "-e", _UNPACK], input=packed, stdout=unpacked, timeout=_UNPACK_S, check=True)
