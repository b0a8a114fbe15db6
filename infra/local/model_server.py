"""An OpenAI-compatible server behind the stand-in for Bedrock (`MODEL_URL=`).

The server is asked first, so that a person who named one that does not answer hears of it at once. What it fails to
answer later fails the turn (`model_failures.py`).
"""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

_LIST_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 120.0  # the first request may load the model
_TURN_TIMEOUT_S = 600


class ModelServerError(Exception):
    """The server does not answer, or does not have the model."""


@dataclass(frozen=True)
class ModelServer:
    """A server that was asked for one token and gave it."""

    url: str
    model: str

    @property
    def variables(self) -> dict[str, str]:
        """What MiniStack wants to know."""
        return {
            "MINISTACK_BEDROCK_PROXY_URL": self.url,
            "MINISTACK_BEDROCK_PROXY_TIMEOUT_SECONDS": str(_TURN_TIMEOUT_S),
        }


def probe(url: str, model: str | None) -> ModelServer:
    """Ask the server at `url` (with or without its `/v1`) for one token of the model, or of its first one."""
    base = url.rstrip("/").removesuffix("/v1")
    chosen = model or _first_model(base)
    question = {"model": chosen, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    answer = _ask(f"{base}/v1/chat/completions", _ANSWER_TIMEOUT_S, question)
    if not isinstance(answer, dict) or not answer.get("choices"):
        raise ModelServerError(f"{base} answers, but not as an OpenAI-compatible server: {str(answer)[:200]}")
    return ModelServer(base, chosen)


def _first_model(base: str) -> str:
    listed = _ask(f"{base}/v1/models", _LIST_TIMEOUT_S)
    try:
        return str(listed["data"][0]["id"])
    except (TypeError, KeyError, IndexError):
        raise ModelServerError(f"{base}/v1/models names no model: say which with MODEL=") from None


def _ask(url: str, timeout_s: float, body: dict[str, Any] | None = None) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ModelServerError(f"MODEL_URL must be an http address, not {url}")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})  # noqa: S310 - checked above
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # as MiniStack will ask it
    try:
        with direct.open(request, timeout=timeout_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ModelServerError(f"{url} answered {error.code}: {error.read(300).decode(errors='replace')}") from error
    except (OSError, ValueError) as error:
        raise ModelServerError(f"{url} does not answer: {error}") from error
