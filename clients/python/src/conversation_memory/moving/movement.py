"""Moving all sessions of a source, some at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cached_property

from conversation_memory import Client
from conversation_memory.calls import to_json
from conversation_memory.moving.arriving import Arrival
from conversation_memory.moving.found import Session, Source, key_of
from conversation_memory.moving.report import Report
from conversation_memory.moving.target import origins
from conversation_memory.sessions import check_session_id
from conversation_memory.types import Conversation


def move(
    source: Source,
    client: Client,
    *,
    is_dry: bool = False,
    at_once: int = 8,
    report: Callable[[Report], None] | None = None,
) -> Report:
    """Move what is missing of each session into the service, and say what has come of it.

    Moving again changes nothing but what the source has more by then; so a run that ended anywhere is just begun
    again. Nothing in the target is removed or changed that others wrote.

    Arguments:
        is_dry: read everything, on both sides, and write nothing. What the service alone can refuse is not known then.
        at_once: how many sessions are on their way at the same time.
        report: called with the report so far whenever it changes, by one thread at a time.

    Raises:
        UnauthorizedError, ForbiddenError, NoAnswerError, BadAnswerError: the service cannot be written to.
    """
    so_far = Report(is_dry=is_dry, on_change=report)
    finding = _Finding(client)
    with ThreadPoolExecutor(at_once, thread_name_prefix="moving") as pool:
        under_way: set[Future[None]] = set()
        try:
            for session in _sound(source, so_far):
                under_way.add(pool.submit(Arrival(client, session, so_far, finding.find).run))
                if len(under_way) >= at_once:
                    under_way = _some_done(under_way)
            while under_way:
                under_way = _some_done(under_way)
        except BaseException:
            so_far.is_stopped = True
            for future in under_way:
                future.cancel()
            raise
    so_far.count()
    return so_far


def _some_done(under_way: set[Future[None]]) -> set[Future[None]]:
    done, others = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return others


def _sound(source: Source, report: Report) -> Iterator[Session]:
    """The sessions that can be moved; the others are reported."""
    seen: set[str] = set()
    for session in source.sessions():
        report.count(sessions=int(session.source != ""), gone=int(session.is_gone))
        problem = session.problem or _problem_of(session)
        if session.is_gone:
            report.note(session.key, "has expired")
        elif problem:
            report.skip(session.key, problem)
        elif session.session_id is not None and (name := key_of(session.session_id)) in seen:
            report.skip(session.key, "another session of the source has the same session id")
        else:
            if session.session_id is not None:
                seen.add(name)
            yield session


def _problem_of(session: Session) -> str:
    try:
        if session.session_id is not None:
            check_session_id(session.session_id)
    except ValueError as error:
        return str(error)
    try:
        to_json([session.key, session.name, session.metadata, session.origin])
    except (ValueError, TypeError, RecursionError) as error:
        return f"cannot be written as JSON: {error}"
    return ""


class _Finding:
    """Looks for conversations without making them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def find(self, session: Session) -> Conversation | None:
        if session.session_id is not None:
            return self._client.find_conversation(session.session_id)
        return self._nameless.get(key_of(session.source, session.key))

    @cached_property
    def _nameless(self) -> dict[str, Conversation]:
        """What was moved before without a session id."""
        found: dict[str, Conversation] = {}
        for conversation in self._client.conversations(page_size=200):
            for origin in origins(conversation["metadata"]):
                if isinstance(origin, dict) and "sessionId" not in conversation:
                    found[key_of(str(origin.get("source")), str(origin.get("key")))] = conversation
        return found
