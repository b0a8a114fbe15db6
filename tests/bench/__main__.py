"""The bench: what the service costs and how fast it is, beside bare botocore and its peers, in one run.

    make bench    # or .venv/bin/python -m tests.bench --help

Every file of ``groups`` is a group: ``rows(folder)`` is a context manager that makes ready what the group needs, in
that folder, and gives its rows and counts. All are made ready first; then all rows are measured by turns.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

_BENCH = Path(__file__).parent
_ROOT = _BENCH.parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "functions"), str(_ROOT / "clients" / "python" / "src")]

from infra.local import environment  # noqa: E402 - the paths above come first
from tests.bed.installed import installed  # noqa: E402
from tests.bench import results, tables  # noqa: E402
from tests.bench.measuring import Count, Measured, Row, in_rounds, report  # noqa: E402

_LAST = "peers"  # so that their rows stand below ours
GROUPS = sorted((path.stem for path in (_BENCH / "groups").glob("*.py")), key=lambda name: (name == _LAST, name))


def main() -> None:
    """Measure, or show what was measured."""
    options = _options()
    if options.list:
        print("\n".join(GROUPS))
        return
    if not options.show:
        results.write(results.document(_run(options)), options.out)
    shown = options.show or options.out
    print(tables.markdown(results.read(shown)))
    if options.into:
        tables.put_into(options.into, results.read(shown))
    _draw(shown, options.pictures)
    report(f"the results are in {shown}, the pictures in {options.pictures}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench",
        description="What the service costs and how fast it is, beside bare botocore and its peers.",
        epilog="Search and turns of AppSync have benches of their own: tests/bench/search, tests/bench/appsync.",
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often every row is measured (%(default)s)")
    parser.add_argument("--groups", type=_groups, default=GROUPS, help="only these, by comma (see --list)")
    parser.add_argument("--minutes", type=float, default=25, help="after which no new round begins (%(default)s)")
    parser.add_argument("--out", type=Path, default=_ROOT / ".local" / "bench.json", help="where the results go")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing: the tables of an earlier run")
    parser.add_argument("--into", type=Path, metavar="README", help="put the tables that it has into this file")
    parser.add_argument("--pictures", type=Path, default=_ROOT / ".local", help="the folder for the pictures")
    parser.add_argument("--list", action="store_true", help="the names of the groups")
    return parser.parse_args()


def _groups(given: str) -> Sequence[str]:
    names = given.split(",")
    if unknown := set(names) - set(GROUPS):
        raise argparse.ArgumentTypeError(f"no such group: {', '.join(sorted(unknown))}")
    return names


def _run(options: argparse.Namespace) -> list[Measured | Count]:
    """Everything that the groups have, in their order."""
    environment.forget_aws_settings(os.environ)
    until = time.monotonic() + options.minutes * 60
    given: list[Row | Count] = []
    with ExitStack() as ready, tempfile.TemporaryDirectory() as folder:
        for name in options.groups:
            report(f"making ready: {name}")
            own = Path(folder) / name
            own.mkdir()
            given += ready.enter_context(importlib.import_module(f"tests.bench.groups.{name}").rows(own))
        rows = {entry.key: entry for entry in given if isinstance(entry, Row)}  # a yardstick that two bring counts once
        measured = in_rounds(list(rows.values()), rounds=options.rounds, until=until, report=report)
    return [*measured, *(entry for entry in given if isinstance(entry, Count))]


def _draw(shown: Path, folder: Path) -> None:
    """Where matplotlib is, which is not here."""
    path = os.pathsep.join((str(installed(_BENCH / "requirements.txt", "pictures")), str(_ROOT)))
    command = [sys.executable, "-m", "tests.bench.drawing", str(shown.resolve()), str(folder.resolve())]
    subprocess.run(command, cwd=_ROOT, env={**os.environ, "PYTHONPATH": path}, check=True, timeout=120)


if __name__ == "__main__":
    main()
