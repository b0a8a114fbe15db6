"""The conversational memory of OpenSearch (ML Commons, 2.12 and later), over its HTTP API.

A memory becomes a conversation whose session id is the memory's id. A message of OpenSearch, which is a question with
its answer, becomes two messages; its ``prompt_template``, ``origin`` and ``additional_info`` go with the first, and so
do its traces. Memories belong to users: what is moved is what the user sees whose credentials are given.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from conversation_memory.moving import searching
from conversation_memory.moving.formats import NOTHING
from conversation_memory.moving.found import Row, Session, SourceError, Trace
from conversation_memory.moving.traces import trace_of
from conversation_memory.types import NewMessage

if TYPE_CHECKING:
    import httpx

_AGAIN = (429, 502, 503, 504)
_ATTEMPTS = 5
_TIMEOUT_S = 60
Signer = Callable[[str, str, Mapping[str, str], bytes], Mapping[str, str]]
"""Takes method, URL, headers and body of a request; returns the headers that sign it."""


class OpenSearchMemory:
    """The memories of a cluster that a user sees.

    Arguments:
        url: the cluster's address.
        user, password: for basic authentication.
        sign: for what signs its requests otherwise, such as ``conversation_memory.moving.signing.signer``.
        ca_file: the certificates that the cluster's is checked against, if it is not signed by a public authority.
        page_size: how many documents a search gives at once.
        http: an httpx client of your own, which stays yours.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str = "",
        sign: Signer | None = None,
        ca_file: str | None = None,
        page_size: int = 200,
        http: httpx.Client | None = None,
    ) -> None:
        import httpx  # noqa: PLC0415 - a quarter of a second that nobody else needs

        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("The address of the cluster is an http(s) URL.")
        if address.username is not None:
            raise ValueError("The user and the password are no part of the address: it is shown in errors.")
        self._url = url.rstrip("/")
        self._auth = httpx.Auth() if user is None else httpx.BasicAuth(user, password)
        self._sign = sign
        self._page_size = page_size
        verify = ssl.create_default_context(cafile=ca_file)
        self._http = http or httpx.Client(timeout=_TIMEOUT_S, verify=verify)

    def sessions(self) -> Iterator[Session]:
        """The memories, those first that were created first."""
        for hit in searching.found(self._post, searching.ROOT, searching.ALL, self._page_size):
            yield self._session(hit["_id"], hit["_source"])

    def _session(self, memory_id: str, stored: Mapping[str, Any]) -> Session:
        info = stored.get("additional_info")
        kept = {"createdAt": "create_time", "updatedAt": "updated_time"}
        kept |= {"user": "user", "applicationType": "application_type"}
        return Session(
            source=f"opensearch:{memory_id}",
            key=memory_id,
            rows=partial(self._rows, memory_id),
            session_id=memory_id,
            name=stored.get("name") or None,
            metadata=info if isinstance(info, dict) else {},
            origin={"id": memory_id, **{ours: stored[name] for ours, name in kept.items() if stored.get(name)}},
            is_kept_empty=True,
            traces=partial(self._traces, memory_id),
        )

    def _rows(self, memory_id: str) -> Iterator[Row]:
        place = 0
        for hit in searching.found(self._post, searching.path_of(memory_id), searching.MESSAGES, self._page_size):
            for row in _rows_of(hit["_id"], hit["_source"], place):
                place += 1
                yield row

    def _traces(self, memory_id: str) -> Iterator[Trace]:
        for hit in searching.found(self._post, searching.path_of(memory_id), searching.TRACES, self._page_size):
            yield trace_of(hit)

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        content = json.dumps(body).encode()
        for attempt in range(1, _ATTEMPTS + 1):
            answer = self._sent(path, content)
            if answer is not None and answer.status_code not in _AGAIN:
                break
            if attempt < _ATTEMPTS:
                time.sleep(0.5 * 2**attempt)
        return _read(answer, self._url + path)

    def _sent(self, path: str, content: bytes) -> httpx.Response | None:
        """The answer; ``None`` if there was none."""
        import httpx  # noqa: PLC0415

        url, headers = self._url + path, {"content-type": "application/json"}
        if self._sign is not None:
            headers |= self._sign("POST", url, headers, content)
        try:
            return self._http.post(url, content=content, headers=headers, auth=self._auth)
        except httpx.RequestError:
            return None


def _read(answer: httpx.Response | None, url: str) -> Any:
    if answer is None:
        raise SourceError(f"No answer from {url} in {_ATTEMPTS} attempts")
    if answer.status_code != 200:
        raise SourceError(f"{answer.status_code} from {url}: {answer.text[:300]}")
    try:
        return answer.json()
    except ValueError as error:
        raise SourceError(f"{url} does not answer as OpenSearch does") from error


def _rows_of(message_id: str, stored: Mapping[str, Any], place: int) -> Iterator[Row]:
    """A message of OpenSearch as a question and its answer, as far as there are both."""
    asked, answered = _text(stored.get("input")), _text(stored.get("response"))
    kept = {"createdAt": "create_time", "updatedAt": "updated_time"}
    origin = {"id": message_id, **{ours: stored[name] for ours, name in kept.items() if stored.get(name)}}
    told = {"promptTemplate": _text(stored.get("prompt_template")), "origin": _text(stored.get("origin"))}
    leading: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
    if stored.get("additional_info"):
        leading["metadata"] = stored["additional_info"]
    said = asked or answered
    leading["content"] = [NOTHING] if said is None else [{"text": said}]
    leading["role"] = "user" if asked or not answered else "assistant"
    yield Row(place, f"{message_id} input".encode(), cast("NewMessage", leading), origin=origin)
    if asked and answered:
        answer: NewMessage = {"role": "assistant", "content": [{"text": answered}]}
        yield Row(place + 1, f"{message_id} response".encode(), answer, origin={"id": message_id}, answers=place)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
