"""A function started as Lambda starts it: AWS's runtime client under the emulator of the interface that it speaks.

What is measured is the process of the runtime alone, from the start of the interpreter until the first answer is there.
"""

import http.client
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local import environment, sockets
from tests.bed.installed import installed

_MACHINES = {"x86_64": "x86_64", "aarch64": "arm64"}
_LIMIT_S = 60
_PROCESS_CLOCK = 2  # of the Linux kernel's clocks of a process: the time that all its threads ran


@dataclass(frozen=True, slots=True)
class Start:
    """What a process took up to its first answer, and the answer."""

    cpu_ms: float
    peak_mb: float
    answer: Any


def start(handler: str, event: Any, path: Sequence[Path], variables: Mapping[str, str], log: Path) -> Start:
    """Run a function of these folders in a new process, and have it answer one event."""
    runtime = installed(Path(__file__).parent / "lambda_runtime.txt", "lambda-runtime")
    emulator = runtime / "samcli" / "local" / "rapid" / f"aws-lambda-rie-{_MACHINES[platform.machine()]}"
    emulator.chmod(0o755)
    port, api_port = _free_port(), _free_port()
    command = [str(emulator), "--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
    command += ["--runtime-api-address", f"127.0.0.1:{api_port}", sys.executable, "-m", "awslambdaric", handler]
    folders = os.pathsep.join(map(str, [*path, runtime]))
    given = environment.for_emulator(os.environ) | {"PYTHONPATH": folders, "PYTHONDONTWRITEBYTECODE": "1"}
    given |= {"AWS_LAMBDA_FUNCTION_TIMEOUT": str(_LIMIT_S), **variables}
    with log.open("a") as printed, subprocess.Popen(command, env=given, stdout=printed, stderr=printed) as process:
        try:
            answer = _asked(port, event)
            runtime_id = _child_of(process.pid)
            return Start(_cpu_ms(runtime_id), _peak_mb(runtime_id), answer)
        finally:
            process.terminate()


def _asked(port: int, event: Any) -> Any:
    until = time.monotonic() + _LIMIT_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LIMIT_S)
        try:
            connection.request("POST", "/2015-03-31/functions/function/invocations", json.dumps(event))
            return json.loads(connection.getresponse().read())
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)  # the emulator does not listen yet
        finally:
            connection.close()


def _child_of(process_id: int) -> int:
    """The runtime: the only process that the emulator has started."""
    found = set()
    for thread in Path(f"/proc/{process_id}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            found |= set((thread / "children").read_text().split())
    (child,) = found
    return int(child)


def _cpu_ms(process_id: int) -> float:
    return time.clock_gettime_ns(~process_id << 3 | _PROCESS_CLOCK) / 1e6


def _peak_mb(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _free_port() -> int:
    with sockets.listening() as opened:
        return sockets.port_of(opened)
