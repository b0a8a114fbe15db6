"""Writing conversations down, page by page: however long they are, little is held in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from conversation_memory import Client
from conversation_memory.errors import InvalidCursorError, NotFoundError
from conversation_memory.moving.formats import Format
from conversation_memory.moving.report import Report
from conversation_memory.moving.traces import line_of, traces_of
from conversation_memory.types import Conversation

_PAGE = 200
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?Z?)?")
_GONE = "It was cleared or deleted while it was read."


def export(
    client: Client,
    form: Format,
    write: Callable[[str], object],
    *,
    ids: Iterable[str] = (),
    session_ids: Iterable[str] = (),
    since: str | None = None,
    owner: str | None = None,
    traces: bool = False,
    report: Callable[[Report], None] | None = None,
) -> Report:
    """Write conversations in that form; all of the caller's, unless some are named.

    Arguments:
        write: takes the text as it comes.
        ids, session_ids: which conversations.
        since: only those with activity at this time or later, in RFC 3339 (``2026-11-30`` is its first moment).
        owner: whose, for administrators; ``*`` for everybody's.
        traces: the traces of each conversation, too, which takes a search in it.
        report: called with the report so far: ``moved`` messages were written.
    """
    if since is not None:
        check_time(since)
    so_far = Report(on_change=report)
    ids, session_ids = list(ids), list(session_ids)
    some = _named(client, ids, session_ids, so_far) if ids or session_ids else _all(client, owner)
    write(form.begin())
    for conversation in some:
        if since is None or conversation["updatedAt"] >= since.removesuffix("Z"):
            _write(client, form, write, conversation, so_far, with_traces=traces)
    write(form.end(so_far.sessions, so_far.moved))
    so_far.count()
    return so_far


def check_time(text: str) -> None:
    """Raises ``ValueError`` for what is no time as the API has it, or the beginning of one."""
    with suppress(ValueError):  # there is no such day, or hour
        if _TIME.fullmatch(text) and datetime.fromisoformat(text.removesuffix("Z")[:19]):
            return
    raise ValueError(f"{text} is no time in UTC, such as 2026-11-30 or 2026-11-30T12:00:00Z")


def _write(
    client: Client,
    form: Format,
    write: Callable[[str], object],
    conversation: Conversation,
    report: Report,
    *,
    with_traces: bool,
) -> None:
    write(form.conversation(conversation))
    report.count(sessions=1, empty=int(not conversation["messageCount"]))
    try:
        for message in client.messages(conversation["id"], page_size=_PAGE):
            write(form.message(message))
            report.count(moved=1)
        for trace in traces_of(client, conversation["id"]) if with_traces else ():
            write(form.trace(line_of(trace)))
            report.count(traces=1)
    except (NotFoundError, InvalidCursorError):
        write(form.broken(_GONE))
        report.skip(conversation["id"], _GONE)


def _named(client: Client, ids: list[str], session_ids: list[str], report: Report) -> Iterator[Conversation]:
    for conversation_id in ids:
        try:
            yield client.get_conversation(conversation_id)
        except NotFoundError:
            report.skip(conversation_id, "There is no such conversation.")
    for session_id in session_ids:
        found = client.find_conversation(session_id)
        if found is None:
            report.skip(session_id, "There is no session of this id.")
        else:
            yield found


def _all(client: Client, owner: str | None) -> Iterator[Conversation]:
    """All conversations, each once: those, too, that were not listed because they became active meanwhile."""
    listed = [(one["id"], one["updatedAt"]) for one in client.conversations(page_size=_PAGE, owner=owner)]
    seen = {conversation_id for conversation_id, _ in listed}
    for conversation_id in dict.fromkeys(conversation_id for conversation_id, _ in listed):
        try:
            yield client.get_conversation(conversation_id)
        except NotFoundError:
            continue  # it was deleted, so it is none of those that there are
    began = max((updated_at for _, updated_at in listed), default="")
    for conversation in client.conversations(page_size=_PAGE, owner=owner):
        if conversation["updatedAt"] <= began:
            return
        if conversation["id"] not in seen:
            yield conversation
