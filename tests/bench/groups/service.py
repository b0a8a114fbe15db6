"""The deployed local stack under a load, beside the bare engine that it stores in: what the way there takes.

The engine is an emulator in Python, and so is the gateway before our function: the times are theirs more than ours.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from botocore.client import Config

from infra.local import sockets
from infra.local.local_stack import LocalStackSettings, running
from tests.bench import load, plain
from tests.bench.bed import ROLES, client, text
from tests.bench.load import CLIENTS, SECONDS, Load, Request
from tests.bench.measuring import Row

SIZE = 500
PAGE = 20
_ENGINE = {"read": "bare engine: Query", "append": "bare engine: PutItem"}
_OURS = {"read": "GET /messages, the last 20", "append": "POST /messages"}
_AS_DYNAMODB = {
    "content-type": "application/x-amz-json-1.0",
    # The engine reads the account of it, and checks no signature.
    "authorization": "AWS4-HMAC-SHA256 Credential=test/20261130/us-east-1/dynamodb/aws4_request",
}


@contextmanager
def rows(folder: Path) -> Iterator[list[Row]]:
    with sockets.listening() as front, running(LocalStackSettings(folder=folder, front=front)) as local:
        engine = local.emulator.endpoint_url
        conversations = [_filled(local.api_url) for _ in range(CLIENTS)]
        dynamodb = client("dynamodb", engine, Config())
        plain.make_table(dynamodb)
        for conversation_id in conversations:
            plain.fill(dynamodb, conversation_id, PAGE, SIZE)
        yield [row for kind in _OURS for row in _rows(kind, local.api_url, engine, conversations)]


def _rows(kind: str, api_url: str, engine: str, conversations: Sequence[str]) -> Iterator[Row]:
    """The rates come first: the loads that are run for them are those that the others tell of, too."""
    found: dict[str, Load] = {}

    def rate(name: str, url: str, requests: Sequence[Request]) -> float:
        found[name] = load.run(url, requests)
        return found[name].rate

    ours, theirs = _OURS[kind], _ENGINE[kind]
    sent = {
        theirs: (engine, [partial(_ENGINES[kind], conversation_id) for conversation_id in conversations]),
        ours: (api_url, [partial(_SERVICES[kind], conversation_id) for conversation_id in conversations]),
    }
    group = f"{CLIENTS} clients for {SECONDS:.0f} s, on one machine"
    for name, (url, requests) in sent.items():
        yield Row(f"{group}: a second", name, partial(rate, name, url, requests), _yardstick(name, theirs), "requests")
    for name in sent:
        yield Row(f"{group}: p50", name, partial(_p50, found, name), _yardstick(name, theirs), "ms")
        yield Row(f"{group}: p99", name, partial(_p99, found, name), _yardstick(name, theirs), "ms")


def _p50(found: Mapping[str, Load], name: str) -> float:
    return found[name].p50_ms


def _p99(found: Mapping[str, Load], name: str) -> float:
    return found[name].p99_ms


def _yardstick(name: str, theirs: str) -> str | None:
    return None if name == theirs else theirs


def _filled(api_url: str) -> str:
    """A new conversation of as many messages as are read."""
    with httpx.Client(base_url=api_url, timeout=60, trust_env=False) as http:
        conversation_id = http.post("/conversations", json={}).raise_for_status().json()["id"]
        said = [{"role": ROLES[place % 2], "content": [{"text": text(place, SIZE)}]} for place in range(PAGE)]
        http.post(f"/conversations/{conversation_id}/messages", json={"messages": said}).raise_for_status()
        return str(conversation_id)


def _read(conversation_id: str, http: httpx.Client) -> httpx.Response:
    return http.get(f"/conversations/{conversation_id}/messages", params={"limit": PAGE, "order": "desc"})


def _append(conversation_id: str, http: httpx.Client) -> httpx.Response:
    said = {"role": "user", "content": [{"text": text(PAGE, SIZE)}]}
    return http.post(f"/conversations/{conversation_id}/messages", json=said)


def _query(conversation_id: str, http: httpx.Client) -> httpx.Response:
    return _asked(http, "Query", plain.query(conversation_id) | {"Limit": PAGE, "ScanIndexForward": False})


def _put(conversation_id: str, http: httpx.Client) -> httpx.Response:
    return _asked(http, "PutItem", {"TableName": plain.TABLE, "Item": plain.item(conversation_id, PAGE, SIZE)})


def _asked(http: httpx.Client, operation: str, request: Mapping[str, Any]) -> httpx.Response:
    headers = {"x-amz-target": f"DynamoDB_20120810.{operation}", **_AS_DYNAMODB}
    return http.post("/", content=json.dumps(request), headers=headers)


_ENGINES = {"read": _query, "append": _put}
_SERVICES = {"read": _read, "append": _append}
