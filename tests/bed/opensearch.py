"""The memory API of OpenSearch without a gateway: what a client of OpenSearch sends, over the in-process API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.bed.in_process import Api

ROOT = "/_plugins/_ml/memory"
JSON = "application/json; charset=UTF-8"


def instant(shown: str) -> str:
    """A time of an answer as text whose order is that of time: zeros at the end are not shown."""
    return shown.removesuffix("Z").ljust(len("2026-11-30T20:39:58.123456789"), "0")


@dataclass(frozen=True)
class Reply:
    """An answer; ``text`` is its body as it came."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> tuple[int, str, str]:
        """Status, type and reason of an error in OpenSearch's envelope, which is held to its form."""
        body = self.body
        assert body.keys() == {"error", "status"}, body
        assert body["status"] == self.status
        error = body["error"]
        assert error["root_cause"]
        assert self.headers["Content-Type"] == JSON
        return self.status, error["type"], error["reason"]


class Cluster:
    """Calls the dialect as one user; paths are below the prefix of memories."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def call(
        self,
        method: str,
        path: str = "",
        body: Any = None,
        *,
        raw: str | None = None,
        headers: Mapping[str, str] | None = None,
        root: str = ROOT,
        **query: Any,
    ) -> Reply:
        text = raw if raw is not None else None if body is None else json.dumps(body)
        sent = {"content-type": "application/json"} if headers is None else dict(headers)
        answer = self.api.send(method, f"{root}{path}", text, {name: str(of) for name, of in query.items()}, sent)
        return Reply(answer["statusCode"], answer["headers"], answer["body"])

    def get(self, path: str = "", **query: Any) -> Any:
        """The body of a GET that succeeds."""
        return _body(self.call("GET", path, **query))

    def put(self, path: str, body: Any) -> Any:
        return _body(self.call("PUT", path, body))

    def delete(self, path: str) -> Any:
        return _body(self.call("DELETE", path))

    def memory(self, **body: Any) -> str:
        """A new memory's id."""
        created = _body(self.call("POST", "", body or None))
        assert created.keys() == {"memory_id"}
        return str(created["memory_id"])

    def message(self, memory_id: str, **body: Any) -> str:
        """A new message's id."""
        created = _body(self.call("POST", f"/{memory_id}/messages", body))
        assert created.keys() == {"message_id"}
        return str(created["message_id"])

    def messages(self, memory_id: str, **query: Any) -> Any:
        """The answer to a list of messages."""
        return self.get(f"/{memory_id}/messages", **query)

    def search(self, path: str, query: Any = None, **rest: Any) -> Any:
        """The hits of a search."""
        body = {"query": query or {"match_all": {}}, **rest}
        return _body(self.call("POST", f"{path}/_search", body))["hits"]

    def refusal(self, method: str, path: str = "", body: Any = None, **rest: Any) -> tuple[int, str, str]:
        """Status, type and reason of an error."""
        return self.call(method, path, body, **rest).error


def _body(reply: Reply) -> Any:
    assert reply.status == 200, reply
    assert reply.headers["Content-Type"] == JSON
    return reply.body
