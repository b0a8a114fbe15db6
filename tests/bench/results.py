"""The results of a run as one JSON document: ratios and counts, with what they were taken with."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.measuring import Count, Measured

_VERSIONS = ("botocore", "aws-lambda-powertools", "ministack")
Document = dict[str, Any]


def document(results: Sequence[Measured | Count]) -> Document:
    """Everything a table or a picture needs; nothing in it tells whose machine it was."""
    rounds = [result.rounds for result in results if isinstance(result, Measured)]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "rounds": max(rounds, default=0),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}},
        "machine": f"{platform.system()} {platform.machine()}",
        "results": [_counted(result) if isinstance(result, Count) else _measured(result) for result in results],
    }


def write(found: Document, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


def read(path: Path) -> Document:
    found: Document = json.loads(path.read_text())
    return found


def _counted(count: Count) -> Document:
    return asdict(count)


def _measured(result: Measured) -> Document:
    row = result.row
    return {
        "group": row.group,
        "name": row.name,
        "at": row.at,
        "unit": row.unit,
        "yardstick": row.yardstick,
        "value": asdict(result.value),
        "ratio": asdict(result.ratio) if result.ratio else None,
    }
