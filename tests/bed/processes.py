"""Processes of this machine, found in /proc by what they are, never by a name that others may have."""

from contextlib import suppress
from pathlib import Path

_ESTABLISHED = "01"  # a state in /proc/net/tcp


def workers(folder: Path, function_name: str) -> list[int]:
    """The ids of the processes that run a function of the stack in this folder: they start from folders of its own."""
    mark = str(folder / "tmp" / f"ministack-lambda-{function_name}-")
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if mark in (process / "cmdline").read_text():
                found.append(int(process.name))
    return found


def is_connected_to(process_id: int, port: int) -> bool:
    """Whether a process has a connection to this port."""
    process = Path("/proc") / str(process_id)
    rows = [line.split() for line in (process / "net" / "tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if int(row[2].rpartition(":")[2], 16) == port and row[3] == _ESTABLISHED}
    descriptors = set()
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            descriptors.add(str(descriptor.readlink()))
    return any(f"socket:[{inode}]" in descriptors for inode in inodes)


def resident_kb(process_id: int) -> int:
    """How much memory a process has in hand."""
    status = (Path("/proc") / str(process_id) / "status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1])
