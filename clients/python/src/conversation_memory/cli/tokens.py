"""A token that a command prints, such as one that signs in: asked for when needed, and again before it ends."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from base64 import urlsafe_b64decode

from conversation_memory.cli.exits import Failure

_PATIENCE_S = 60
_BEFORE_THE_END_S = 60
_UNKNOWN_LIFE_S = 300
"""How long a token is used that does not say when it ends."""


class TokenOfCommand:
    """Calls the command, without a shell, and keeps what it prints as long as it lasts."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._token = ""
        self._until_s = 0.0

    def __call__(self) -> str:
        if time.time() >= self._until_s:
            self._token = _printed(self._command)
            self._until_s = _end_s(self._token) or time.time() + _UNKNOWN_LIFE_S
        return self._token


def _printed(command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - it is the caller's own
            shlex.split(command), stdout=subprocess.PIPE, text=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Failure(f"The token command cannot be run: {error}") from error
    token = done.stdout.strip()
    if done.returncode != 0:
        raise Failure(f"The token command ended with {done.returncode}.")
    if not token.isascii() or not token.isprintable() or not token:
        raise Failure("The token command is to print a token, on one line.")
    return token


def _end_s(token: str) -> float | None:
    """When to ask for another, if the token is a JWT that says when it ends."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"]) - _BEFORE_THE_END_S
    except (ValueError, LookupError, TypeError):
        return None
