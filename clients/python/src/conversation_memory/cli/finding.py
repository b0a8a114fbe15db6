"""Where the service is: at an address, in an AWS account, or on this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conversation_memory.cli.exits import NOT_FOUND, USAGE, Failure

_FOLDER = ".local"
_FILE = "stack.json"
_TOKENS = "pass a token by CONVERSATION_MEMORY_TOKEN or --token, or what prints one by --token-command"


@dataclass(frozen=True)
class Target:
    """A service to ask: its address, how it was found, and what to say when it is silent or refuses."""

    url: str
    found: str
    region: str | None = None
    if_silent: str = ""
    if_refused: str = f"To sign in, {_TOKENS}."


def named(url: str) -> Target:
    """The service at an address that the caller names."""
    return Target(url, "by --url or CONVERSATION_MEMORY_URL")


def local(folder: Path | None) -> Target:
    """The local stack that keeps its state in a folder; without one, in the nearest ``.local`` from here upward.

    Raises:
        Failure: none runs there.
    """
    file = folder / _FILE if folder else _nearest()
    if file is None:
        raise Failure("No service is found: start one with `make run`, or name one by --url or --stage.", USAGE)
    described = _read(file)
    url = str(described["apiUrl"])
    if not _is_on_this_machine(url):  # it is sent the caller's token
        raise Failure(f"{file} names {url}, which is not on this machine; --url goes to any address.")
    return Target(
        url,
        f"by {file}",
        described.get("region"),
        if_silent="Its stack seems to have ended: start it with `make run`.",
        if_refused=f"Get a token with `make -s token USER=alice LOCAL_DIR={file.parent}`, and {_TOKENS}.",
    )


def deployed(stage: str, region: str | None, profile: str | None) -> Target:
    """The service of a stage in an AWS account, by the parameter that its deployment wrote."""
    from conversation_memory.cli import aws  # noqa: PLC0415 - needs botocore

    url, region = aws.api_url(stage, region, profile)
    return Target(url, f"by the parameters of the stage {stage} in {region}", region)


def _nearest() -> Path | None:
    here = Path.cwd()
    files = (folder / _FOLDER / _FILE for folder in (here, *here.parents))
    return next((file for file in files if file.is_file()), None)


def _read(file: Path) -> dict[str, Any]:
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(f"No local stack runs on {file.parent}: start it with `make run`.", NOT_FOUND) from None
    except (OSError, ValueError) as error:
        raise Failure(f"{file} cannot be read: {error}") from None
    if not isinstance(described, dict) or not isinstance(described.get("apiUrl"), str):
        raise Failure(f"{file} does not say where a service is.")
    return described


def _is_on_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
