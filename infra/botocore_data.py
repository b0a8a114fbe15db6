"""Cuts botocore's data down to what the functions use.

It describes some 400 services in 20 MB, and a client is not made without reading them: it lists the folders of all
services, and parses the endpoints of all and the model of its own, half of which is documentation.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any, Final

SERVICES: Final = frozenset({"bedrock-runtime", "dynamodb", "lambda", "s3", "sqs"})

# Beside the service's model: where its endpoints are, and its paginators and waiters. Not its examples.
FILES: Final = ("service-2", "endpoint-rule-set-1", "paginators-1", "waiters-2")


def trim(data: Path) -> None:
    for folder in data.iterdir():
        if folder.is_dir() and folder.name not in SERVICES:
            shutil.rmtree(folder)
    for file in [*data.glob("*/*/*.json"), *data.glob("*/*/*.json.gz")]:
        if file.name.split(".")[0] not in FILES:
            file.unlink()
        elif file.suffix == ".gz":
            _unpack(file)
    _trim_endpoints(data / "endpoints.json")


def _unpack(file: Path) -> None:
    """The loader takes both; what is not packed needs no unpacking at a cold start, and the bundle's zip packs it."""
    document = json.loads(gzip.decompress(file.read_bytes()))
    _write(file.with_suffix(""), _without_documentation(document))
    file.unlink()


def _without_documentation(node: Any) -> Any:
    """Texts become empty, but stay: botocore reads some. (A shape may have a member that is called so, too.)"""
    if isinstance(node, dict):
        return {
            key: "" if key == "documentation" and isinstance(value, str) else _without_documentation(value)
            for key, value in node.items()
        }
    return [_without_documentation(item) for item in node] if isinstance(node, list) else node


def _trim_endpoints(file: Path) -> None:
    document = json.loads(file.read_text())
    for partition in document["partitions"]:
        services = partition["services"]
        partition["services"] = {name: services[name] for name in sorted(services.keys() & SERVICES)}
    _write(file, document)


def _write(file: Path, document: Any) -> None:
    file.write_text(json.dumps(document, separators=(",", ":")))
