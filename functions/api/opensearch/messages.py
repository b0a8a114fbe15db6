"""Routes of messages: our interactions, and traces."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from api.opensearch import bodies, paging, parameters, shapes
from api.opensearch.errors import MESSAGE_INDEX, no_access, not_found
from api.opensearch.memories import access, head
from api.opensearch.parameters import PageAsked
from api.opensearch.requests import Action, Request
from conversations import interactions
from conversations import traces as stored_traces
from conversations.amending import InteractionChange, change_interaction
from conversations.errors import ForeignError, NotFoundError
from conversations.interactions import Interaction, NewInteraction
from conversations.model import Conversation, Trace
from conversations.traces import NewTrace


def create(request: Request, memory_id: str) -> Action:
    new = bodies.new_message(request)
    return lambda: {"message_id": _created(request, memory_id, new)}


def _created(request: Request, memory_id: str, new: NewInteraction | NewTrace) -> str:
    owner, store, clock = request.caller.scope, request.memory.store, request.memory.clock
    with access(request, memory_id):
        if isinstance(new, NewTrace):
            return stored_traces.add_trace(store, clock, owner=owner, conversation_id=memory_id, new=new)
        return interactions.add_interaction(store, clock, owner=owner, conversation_id=memory_id, new=new)


def page(request: Request, memory_id: str) -> Action:
    asked = parameters.page(request)
    return lambda: _page(request, memory_id, asked)


def _page(request: Request, memory_id: str, asked: PageAsked) -> Mapping[str, Any]:
    asked = parameters.by_offset(asked)
    asked.check(
        nothing="The number of interactions to retrieve must be positive",
        negative="The starting position must be nonnegative",
    )
    memory = head(request, memory_id)
    asked.check_window(MESSAGE_INDEX)
    found = interactions.interactions(request.memory.store, memory, offset=asked.offset, limit=asked.size)
    return _envelope(request, "messages", found, asked)


def get(request: Request, message_id: str) -> Action:
    return lambda: _shown(request, _read(request, message_id)[1])


def change(request: Request, message_id: str) -> Action:
    changed = bodies.message_change(request)
    return lambda: _change(request, message_id, changed)


def _change(request: Request, message_id: str, changed: InteractionChange) -> Mapping[str, Any]:
    store, clock = request.memory.store, request.memory.clock
    with _access(request, message_id, missing="message"):
        now = change_interaction(store, clock, owner=request.caller.scope, message_id=message_id, change=changed)
    return shapes.updated(MESSAGE_INDEX, message_id, now.version, now.version - 1)


def traces(request: Request, message_id: str) -> Action:
    asked = parameters.page(request)
    return lambda: _traces(request, message_id, asked)


def _traces(request: Request, message_id: str, asked: PageAsked) -> Mapping[str, Any]:
    asked = parameters.by_offset(asked)
    asked.check(
        nothing="The number of traces to retrieve must be positive",
        negative="The starting position must be nonnegative",
    )
    memory, _ = _read(request, message_id)
    asked.check_window(MESSAGE_INDEX)
    found = stored_traces.traces(request.memory.store, memory, message_id, offset=asked.offset, limit=asked.size)
    return _envelope(request, "traces", found, asked)


def _read(request: Request, message_id: str) -> tuple[Conversation, Interaction | Trace]:
    store, clock = request.memory.store, request.memory.clock
    with _access(request, message_id, missing="Message"):
        return interactions.read_interaction(store, clock, owner=request.caller.scope, message_id=message_id)


@contextmanager
def _access(request: Request, message_id: str, *, missing: str) -> Iterator[None]:
    """Tells of a message in somebody else's memory that it is there, and of one that is missing that it is."""
    try:
        yield
    except ForeignError as error:
        raise no_access(request.caller.owner, "message", message_id) from error
    except NotFoundError as error:
        raise not_found(f"{missing} [{message_id}] not found") from error


def _envelope(request: Request, name: str, found: Iterable[Interaction | Trace], asked: PageAsked) -> Mapping[str, Any]:
    return paging.envelope(name, paging.fitting(found, lambda one: _shown(request, one)), asked)


def _shown(request: Request, found: Interaction | Trace) -> dict[str, Any]:
    return shapes.message(found, with_updated_time=request.memory.message_updated_time)
