"""Amplify's own conversation handler, unmodified: the bundle in its npm package, run by Node.js.

The package is fetched when it is first needed and kept; it is not part of this repository.
"""

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import pytest

from tests.bed import fetched

PACKAGE = "@aws-amplify/ai-constructs@1.7.0"
_BUNDLE = PurePosixPath("package/lib/conversation/runtime/default_handler_bundled/index.js")
_RUNNER = Path(__file__).with_suffix(".js")
_ANSWER_S = 120


def bundle() -> Path:
    """The bundled handler. Without it the test is skipped, and fails where tests must not be skipped (`CI`)."""
    return fetched.kept(f"amplify-{PACKAGE.rpartition('@')[2]}", _unpack) / _BUNDLE.name


def _unpack(folder: Path) -> None:
    archive = fetched.packed(PACKAGE, folder)
    with tarfile.open(archive) as members:
        found = members.extractfile(str(_BUNDLE))
        assert found is not None
        (folder / _BUNDLE.name).write_bytes(found.read())
    archive.unlink()


class AmplifyHandler:
    """A Node.js process that takes events one after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lines: SimpleQueue[str] = SimpleQueue()
        Thread(target=self._read, daemon=True).start()

    def answer(self, event: Mapping[str, Any]) -> str | None:
        """Let the handler answer; returns what it raised, if it did."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(event) + "\n")
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=_ANSWER_S)
        except Empty:
            pytest.fail("Amplify's handler did not end in time")
        error: str | None = json.loads(line)["error"]
        return error

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)


@contextmanager
def running(model_url: str) -> Iterator[AmplifyHandler]:
    """The handler, asking the model at this address (cleartext HTTP/2)."""
    node = fetched.program_called("node", PACKAGE)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model_url,
    }
    command = [node, str(_RUNNER), str(bundle())]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield AmplifyHandler(process)
        finally:
            process.kill()
