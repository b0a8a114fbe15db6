"""Lets all processes of a function share its code, which is unzipped once.

MiniStack (1.5.33) unzips a function's code, here a thousand files, for each of its processes, and removes it again when
it stops. Forty requests at once then take up to a minute, and stopping after them so long that the state is not saved
in time. With this, each process finds links to what was unzipped for the first. (In Lambda, too, code is read-only.)
"""

import hashlib
import shutil
import tempfile
import threading
import types
import zipfile
from pathlib import Path
from typing import Any

from ministack.core import lambda_runtime

_lock = threading.Lock()


class SharedZip(zipfile.ZipFile):
    """An archive whose files are unzipped once for all who ask for all of them."""

    def extractall(self, path: Any = None, members: Any = None, pwd: Any = None) -> None:
        if path is None or members is not None or self.filename is None:
            super().extractall(path, members, pwd)
            return
        for entry in self._unzipped(Path(self.filename), pwd).iterdir():
            (Path(path) / entry.name).symlink_to(entry)

    def _unzipped(self, archive: Path, pwd: Any) -> Path:
        with archive.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        folder = Path(tempfile.gettempdir()) / "code" / digest
        with _lock:
            if not folder.exists():
                unfinished = folder.with_suffix(".new")
                shutil.rmtree(unfinished, ignore_errors=True)
                super().extractall(unfinished, None, pwd)
                unfinished.rename(folder)
        return folder


def share() -> None:
    """From here on the functions of this process's MiniStack share their code."""
    names = {name: getattr(zipfile, name) for name in zipfile.__all__}
    lambda_runtime.zipfile = types.SimpleNamespace(**names | {"ZipFile": SharedZip})
