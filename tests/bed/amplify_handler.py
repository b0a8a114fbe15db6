"""Amplify's own conversation handler, unmodified: the bundle in its npm package, run by Node.js.

The package is fetched when it is first needed and kept in pytest's cache; it is not part of this repository.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NoReturn

import pytest

PACKAGE = "@aws-amplify/ai-constructs@1.7.0"
_BUNDLE = "package/lib/conversation/runtime/default_handler_bundled/index.js"
_RUNNER = Path(__file__).with_suffix(".js")
_FETCH_S = 90
_ANSWER_S = 120


def bundle(cache: Path) -> Path:
    """The bundled handler. Without it the test is skipped, and fails where tests must not be skipped (`CI`)."""
    kept = cache / f"{PACKAGE.rpartition('/')[2].replace('@', '-')}.js"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _fetch(Path(folder))
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as members:
                found = members.extractfile(_BUNDLE)
                assert found is not None
                unpacked = Path(folder) / "index.js"
                unpacked.write_bytes(found.read())
            unpacked.replace(kept)
    return kept


def _fetch(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        _unavailable("there is no npm here")
    command = [npm, "pack", PACKAGE, "--loglevel=error", "--pack-destination", str(folder)]
    try:
        packed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        _unavailable("npm did not answer in time")
    if packed.returncode:
        _unavailable(packed.stderr.strip()[:300])


def _unavailable(reason: str) -> NoReturn:
    told = f"{PACKAGE} cannot be fetched from npm: {reason}"
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)


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
def running(cache: Path, model_url: str) -> Iterator[AmplifyHandler]:
    """The handler, asking the model at this address (cleartext HTTP/2)."""
    node = shutil.which("node")
    if node is None:
        _unavailable("there is no Node.js here")
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model_url,
    }
    command = [node, str(_RUNNER), str(bundle(cache))]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield AmplifyHandler(process)
        finally:
            process.kill()
