"""Cuts botocore's data down to what the functions use.

It describes some 400 services in 20 MB, and a client is not made without reading them: it lists the folders of all
services, and parses the endpoints of all and the whole model of its own, most of which is documentation and operations
that nothing here calls.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, Final

OPERATIONS: Final = {
    "bedrock-runtime": {"ConverseStream"},
    "dynamodb": {
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "TransactWriteItems",
        "UpdateItem",
    },
    "lambda": {"Invoke"},
    # HeadBucket is botocore's own: it asks where a bucket is when another region answers.
    "s3": {"DeleteObject", "DeleteObjects", "GetObject", "HeadBucket", "ListObjectsV2", "PutObject"},
    "sqs": {"SendMessage"},
}
SERVICES: Final = OPERATIONS.keys()

# Beside the service's model: where its endpoints are. Not its examples, paginators and waiters, which nothing uses.
MODEL: Final = "service-2"
FILES: Final = (MODEL, "endpoint-rule-set-1")
Document = dict[str, Any]


def trim(data: Path) -> None:
    for folder in data.iterdir():
        if folder.is_dir():
            if folder.name in SERVICES:
                _trim_service(folder)
            else:
                shutil.rmtree(folder)
    _trim_endpoints(data / "endpoints.json")


def _trim_service(folder: Path) -> None:
    """Leave the newest version of the API, which is the one that clients are made of."""
    *older, newest = sorted(folder.iterdir())
    for version in older:
        shutil.rmtree(version)
    for file in newest.iterdir():
        name = file.name.split(".")[0]
        if name in FILES and file.suffix == ".gz":
            _unpack(file, operations=OPERATIONS[folder.name] if name == MODEL else None)
        if name not in FILES or file.suffix == ".gz":  # what is not packed amends a model: it is small, and stays
            file.unlink()


def _unpack(file: Path, *, operations: Set[str] | None) -> None:
    """The loader takes both; what is not packed needs no unpacking at a cold start, and the bundle's zip packs it."""
    document = _without_documentation(json.loads(gzip.decompress(file.read_bytes())))
    if operations is not None:
        _keep(operations, document)
    _write(file.with_suffix(""), document)


def _keep(operations: Set[str], model: Document) -> None:
    """Leave these operations, and the shapes that they are made of."""
    kept = {name: model["operations"][name] for name in sorted(operations)}
    shapes: dict[str, Document] = {}
    wanted = list(_shapes_of(kept))
    while wanted:
        name = wanted.pop()
        if name not in shapes:
            shapes[name] = model["shapes"][name]
            wanted += _shapes_of(shapes[name])
    model["operations"], model["shapes"] = kept, dict(sorted(shapes.items()))


def _shapes_of(node: Any) -> Iterator[str]:
    """The names of the shapes that are referred to anywhere within."""
    if isinstance(node, dict):
        if isinstance(node.get("shape"), str):
            yield node["shape"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _shapes_of(item)


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
