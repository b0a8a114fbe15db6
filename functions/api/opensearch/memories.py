"""Routes of memories: our conversations."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from api.opensearch import bodies, paging, parameters, shapes, whole_pages
from api.opensearch.errors import MEMORY_INDEX, failure, no_access, not_found
from api.opensearch.parameters import PageAsked
from api.opensearch.requests import Action, Request
from api.opensearch.whole_pages import Viewer
from api.strict_json import escaped_size
from conversations import changing, creating, deleting
from conversations import memories as listing
from conversations.access import read_head
from conversations.codec import about_to_json, to_json
from conversations.creating import NewConversation
from conversations.errors import ForeignError, NotFoundError
from conversations.merging import merged
from conversations.model import About, Conversation

LARGEST_ABOUT_BYTES = 256 * 1024
"""What is said of a conversation is one item of DynamoDB, which has 400 KB."""


def create(request: Request) -> Action:
    about = bodies.new_memory(request)
    return lambda: {"memory_id": created(request, about).id}


def created(request: Request, about: About) -> Conversation:
    """A new memory of the caller's."""
    store, clock = request.memory.store, request.memory.clock
    return creating.create(store, clock, NewConversation(request.caller.owner, _checked(about)))[0]


def get(request: Request, memory_id: str) -> Action:
    return lambda: shapes.memory(head(request, memory_id, about=True))


def head(request: Request, memory_id: str, *, about: bool = False) -> Conversation:
    """The memory, if the caller may touch it.

    Raises:
        DialectError: it does not exist (404), or it is somebody else's (401).
    """
    store, clock = request.memory.store, request.memory.clock
    with access(request, memory_id):
        return read_head(store, clock, owner=request.caller.scope, conversation_id=memory_id, about=about)


@contextmanager
def access(request: Request, memory_id: str) -> Iterator[None]:
    """Tells of a memory that is somebody else's that it is, and of one that is not there that it is not."""
    try:
        yield
    except ForeignError as error:
        raise no_access(request.caller.owner, "memory", memory_id) from error
    except NotFoundError as error:
        raise not_found(f"Memory [{memory_id}] not found") from error


def page(request: Request) -> Action:
    asked = parameters.page(request)
    return lambda: _page(request, asked)


def _page(request: Request, asked: PageAsked) -> Mapping[str, Any]:
    asked.check(nothing="Can't list 0 or negative conversations", negative=None)
    if asked.token is not None and parameters.offset_of(asked.token) is None:
        return _whole_page(request, asked, asked.token)
    asked = parameters.by_offset(asked)
    asked.check_window(MEMORY_INDEX)
    store, clock = request.memory.store, request.memory.clock
    scope, caller = request.caller.scope, request.caller.owner
    found = listing.memories(store, clock, scope, offset=asked.offset, limit=asked.size, caller=caller)
    return paging.envelope("memories", paging.fitting(found, shapes.memory), asked)


def _whole_page(request: Request, asked: PageAsked, token: str) -> Mapping[str, Any]:
    """A page by a token that keeps pages whole while others write."""
    store, clock = request.memory.store, request.memory.clock
    viewing = Viewer(request.caller.owner, request.caller.scope)
    progress = whole_pages.decode(token, viewing) if token else whole_pages.begin(clock)
    replace(asked, offset=0).check_window(MEMORY_INDEX)
    asked = replace(asked, offset=progress.count)
    found = whole_pages.following(store, clock, viewing, progress, size=asked.size)
    fitting = paging.fitting(found, shapes.memory)
    body = paging.envelope("memories", fitting, asked)
    if "next_page_token" in body:
        progress = progress.with_shown(found[: len(fitting.shown)])
        body["next_page_token"] = whole_pages.encode(viewing, progress)
    return body


def change(request: Request, memory_id: str) -> Action:
    changed = bodies.memory_change(request)
    return lambda: _change(request, memory_id, changed)


def _change(request: Request, memory_id: str, changed: Mapping[str, Any]) -> Mapping[str, Any]:
    def about(old: About) -> About:
        name = changed["name"].strip() and changed["name"] if "name" in changed else old.name
        return _checked(
            replace(old, name=name or None, metadata=merged(old.metadata, changed.get("additional_info", {})))
        )

    store, clock = request.memory.store, request.memory.clock
    with access(request, memory_id):
        now = changing.change(
            store,
            clock,
            owner=request.caller.scope,
            conversation_id=memory_id,
            change=changing.Change(about),
        )
    return shapes.updated(MEMORY_INDEX, memory_id, now.version, now.version - 1)


def delete(request: Request, memory_id: str) -> Action:
    return lambda: _delete(request, memory_id)


def _delete(request: Request, memory_id: str) -> Mapping[str, Any]:
    store, clock = request.memory.store, request.memory.clock
    with access(request, memory_id):
        try:
            deleting.delete(store, clock, owner=request.caller.scope, conversation_id=memory_id)
        except ForeignError as error:
            reason = f"Resources not found. Failed to delete the memory for {memory_id}"
            raise failure(404, "status_exception", reason) from error
    return {"success": True}


def _checked(about: About) -> About:
    size = escaped_size(to_json(about_to_json(about)))
    if size > LARGEST_ABOUT_BYTES:
        reason = f"The memory is larger than {LARGEST_ABOUT_BYTES} bytes as an escaped JSON string"
        raise failure(413, "content_too_long_exception", reason)
    return about
