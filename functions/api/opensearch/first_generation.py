"""The five routes of 2.10: conversations and interactions, by the names and in the orders of that time.

They show what the later routes show. ``additional_info`` was text then: it is kept as a member of that name, and an
object that came otherwise is shown as its JSON.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from api.opensearch import bodies, memories, paging, parameters, shapes
from api.opensearch.errors import MEMORY_INDEX, MESSAGE_INDEX, no_access, not_found
from api.opensearch.parameters import RESULT_WINDOW, PageAsked
from api.opensearch.requests import Action, Request
from conversations import deleting
from conversations import interactions as stored
from conversations import memories as listing
from conversations.access import read_head
from conversations.codec import to_json
from conversations.errors import ForeignError, NotFoundError
from conversations.interactions import Interaction, NewInteraction


def create(request: Request) -> Action:
    about = bodies.name_of_first_generation(request)
    return lambda: {"conversation_id": memories.created(request, about).id}


def conversations(request: Request) -> Action:
    asked = parameters.page(request, has_tokens=False)
    return lambda: _conversations(request, asked)


def _conversations(request: Request, asked: PageAsked) -> Mapping[str, Any]:
    """Newest first by creation, of which there is no index: all are read."""
    asked.check(nothing="Can't list 0 or negative conversations", negative=None)
    asked.check_window(MEMORY_INDEX)
    store, clock = request.memory.store, request.memory.clock
    scope, caller = request.caller.scope, request.caller.owner
    all_of_them = listing.memories(store, clock, scope, offset=0, limit=RESULT_WINDOW, caller=caller)
    newest_first = sorted(((one.created_at, one.id) for one in all_of_them), reverse=True)
    page = [id_ for _, id_ in newest_first[asked.offset : asked.offset + asked.size]]
    found = listing.read_memories(store, clock, page)
    return paging.envelope("conversations", paging.fitting(found, shapes.conversation), asked)


def add(request: Request, conversation_id: str) -> Action:
    new = bodies.first_generation_interaction(request)
    return lambda: {"interaction_id": _added(request, conversation_id, new)}


def _added(request: Request, conversation_id: str, new: NewInteraction) -> str:
    owner, store, clock = request.caller.scope, request.memory.store, request.memory.clock
    with _access(request, conversation_id):
        return stored.add_interaction(store, clock, owner=owner, conversation_id=conversation_id, new=new)


def interactions(request: Request, conversation_id: str) -> Action:
    asked = parameters.page(request, has_tokens=False)
    return lambda: _interactions(request, conversation_id, asked)


def _interactions(request: Request, conversation_id: str, asked: PageAsked) -> Mapping[str, Any]:
    """Newest first. A conversation that is not there, or not the caller's, has none."""
    asked.check(
        nothing="The number of interactions to retrieve must be positive",
        negative="The starting position must be nonnegative",
    )
    asked.check_window(MESSAGE_INDEX)
    store, clock = request.memory.store, request.memory.clock
    try:
        head = read_head(store, clock, owner=request.caller.scope, conversation_id=conversation_id)
    except NotFoundError:
        return {"interactions": []}
    found = stored.interactions(store, head, offset=asked.offset, limit=asked.size, newest_first=True)
    return paging.envelope("interactions", paging.fitting(found, _shown), asked)


def _shown(found: Interaction) -> dict[str, Any]:
    return shapes.interaction(found, _as_text(found.additional_info))


def _as_text(additional_info: Mapping[str, Any] | None) -> str | None:
    if not additional_info:
        return None
    told = additional_info.get("additional_info")
    return told if isinstance(told, str) and len(additional_info) == 1 else to_json(additional_info)


def delete(request: Request, conversation_id: str) -> Action:
    return lambda: _delete(request, conversation_id)


def _delete(request: Request, conversation_id: str) -> Mapping[str, Any]:
    store, clock = request.memory.store, request.memory.clock
    with _access(request, conversation_id):
        deleting.delete(store, clock, owner=request.caller.scope, conversation_id=conversation_id)
    return {"success": True}


@contextmanager
def _access(request: Request, conversation_id: str) -> Iterator[None]:
    try:
        yield
    except ForeignError as error:
        raise no_access(request.caller.owner, "conversation", conversation_id) from error
    except NotFoundError as error:
        raise not_found(f"Conversation [{conversation_id}] not found") from error
