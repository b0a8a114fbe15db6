"""Traces: the steps on the way to an answer, which only OpenSearch's API shows. Here they are read and written over it.

That API has no idempotency keys, so which traces are there already is told by the id that each keeps in its
``additional_info`` as ``movedFrom``. Two who move the same at once may write one twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from conversation_memory import Client
from conversation_memory.calls import read, to_json
from conversation_memory.errors import ApiError
from conversation_memory.moving import searching
from conversation_memory.moving.found import MOVED_FROM, Session, SourceError, Trace
from conversation_memory.moving.report import Report
from conversation_memory.moving.target import moved_from
from conversation_memory.steps import Request, Steps

_PAGE = 100
_JSON = {"content-type": "application/json"}
_TEXTS = ("input", "prompt_template", "response", "origin")


@dataclass(frozen=True)
class _There:
    """A trace in the target, and what it says of itself."""

    id: str
    info: Mapping[str, Any]


def trace_of(hit: Mapping[str, Any]) -> Trace:
    """A search's hit as a trace.

    Raises:
        SourceError: it is none.
    """
    stored = hit["_source"]
    info = stored.get("additional_info") or {}
    texts = {name: stored[name] for name in _TEXTS if stored.get(name)}
    try:
        return Trace(hit["_id"], str(stored["parent_message_id"]), int(stored["trace_number"]), texts, dict(info))
    except (ValueError, TypeError, LookupError) as error:
        raise SourceError(f"the trace {hit['_id']} cannot be read") from error


def traces_of(client: Client, conversation_id: str) -> Iterator[Trace]:
    """The traces of a conversation, in the order in which they were written."""
    path = searching.path_of(conversation_id)

    def post(path: str, body: Mapping[str, Any]) -> Any:
        return client.run(_written("POST", path, body))

    for hit in searching.found(post, path, searching.TRACES, _PAGE):
        yield trace_of(hit)


def bring_traces(client: Client, session: Session, conversation_id: str | None, report: Report) -> None:
    """Write the traces of a session that are not there yet."""
    if session.traces is None:
        return
    traces = session.traces()
    first = next(traces, None)
    if first is None:
        return
    there = {} if conversation_id is None else _there(client, conversation_id)
    parents = {} if conversation_id is None else _parents(client, conversation_id, session.source)
    for trace in (first, *traces):
        known = there.get(trace.id)
        if report.is_dry:
            report.count(traces=int(known is None))
        elif trace.parent not in parents or conversation_id is None:
            report.skip(session.key, f"the trace {trace.id} belongs to no message that was moved")
        else:
            _bring(client, session, conversation_id, parents[trace.parent], trace, known, report)


def _bring(
    client: Client,
    session: Session,
    conversation_id: str,
    parent_id: str,
    trace: Trace,
    known: _There | None,
    report: Report,
) -> None:
    new = {**trace.texts, "parent_message_id": parent_id, "trace_number": trace.number}
    path = f"{searching.path_of(conversation_id)}/messages"
    try:
        if known is None:
            created = client.run(_written("POST", path, {**new, "additional_info": {MOVED_FROM: trace.id}}))
            known = _There(created["message_id"], {MOVED_FROM: trace.id})
            report.count(traces=1)
        wanted = {**trace.info, MOVED_FROM: trace.id}
        if wanted != {name: known.info.get(name) for name in wanted}:  # creating made texts of all values
            own = f"{searching.ROOT}/message/{quote(known.id, safe='')}"
            client.run(_written("PUT", own, {"additional_info": wanted}))
    except ApiError as error:
        report.skip(session.key, f"the trace {trace.id}: {error}")


def _there(client: Client, conversation_id: str) -> dict[str, _There]:
    """The traces that were moved before, by what they were in the source."""
    moved = ((trace.info.get(MOVED_FROM), trace) for trace in traces_of(client, conversation_id))
    return {origin: _There(trace.id, trace.info) for origin, trace in moved if isinstance(origin, str)}


def _parents(client: Client, conversation_id: str, source: str) -> dict[str, str]:
    """The messages that were moved, by what they were in the source; of a question and its answer the question."""
    found: dict[str, str] = {}
    for message in client.messages(conversation_id, page_size=1000):
        moved = moved_from(message, source)
        if moved is not None and isinstance(moved.get("id"), str):
            found.setdefault(moved["id"], message["id"])
    return found


def _written(method: str, path: str, body: Mapping[str, Any]) -> Steps[Any]:
    answer = yield Request(method, path, _JSON, to_json(body))
    return read(answer)


def line_of(trace: Trace) -> dict[str, Any]:
    """A trace as an export holds it."""
    return {
        "id": trace.id,
        "parentId": trace.parent,
        "number": trace.number,
        **trace.texts,
        "additionalInfo": trace.info,
    }


def trace_in(line: Mapping[str, Any]) -> Trace:
    """The trace that ``line_of`` wrote.

    Raises:
        ValueError, TypeError, LookupError, OverflowError: nobody wrote it like this.
    """
    if not isinstance(line, Mapping):
        raise TypeError("it is no object")
    to_json(line)  # what it refuses cannot be sent
    texts = {name: str(line[name]) for name in _TEXTS if line.get(name)}
    info = line.get("additionalInfo")
    return Trace(
        str(line["id"]), str(line["parentId"]), int(line["number"]), texts, info if isinstance(info, dict) else {}
    )
