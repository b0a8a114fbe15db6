"""Routes of conversations."""

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from api import parameters
from api.errors import ForbiddenError
from api.identity import LONGEST_OWNER_BYTES, is_owner
from api.memory import Memory
from api.routes import Request, Routes, answer, no_content
from api.strict_json import LARGEST_ESCAPED_BYTES
from api.wire import conversation_json, conversation_size
from conversations.access import read_head
from conversations.changing import change
from conversations.creating import create
from conversations.deleting import delete, delete_many
from conversations.errors import InvalidRequestError
from conversations.ids import outcome_record_id
from conversations.model import Conversation
from conversations.reading import EVERYBODY, Room, list_all, list_conversations

_DELETE_ROUTE = "conversations/delete"
_ROOM = Room(conversation_size, LARGEST_ESCAPED_BYTES)


class ConversationRoutes(Routes):
    """Create, list, read, change and delete conversations."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory) -> None:
        super().__init__(app, memory)
        app.post("/conversations")(self.create)
        app.get("/conversations")(self.page)
        app.get("/conversations/<conversation_id>")(self.get)
        app.patch("/conversations/<conversation_id>")(self.change)
        app.delete("/conversations/<conversation_id>")(self.delete)
        app.post("/conversations/delete")(self.delete_many)

    def create(self) -> Response[str]:
        request = self.request()
        new = parameters.new_conversation(request.body, owner=request.caller.owner, key=request.key)
        conversation, is_new = create(self.memory.store, self.memory.clock, new)
        return answer(201 if is_new else 200, conversation_json(conversation))

    def page(self) -> Response[str]:
        request = self.request("limit", "cursor", "sessionId", "owner")
        owner = _listed_owner(request)
        limit, cursor = parameters.limit(request.query), request.query.get("cursor")
        store, clock = self.memory.store, self.memory.clock
        if "sessionId" in request.query:
            found, following = self._of_session(request, owner), None
        elif owner == EVERYBODY:
            found, following = list_all(store, clock, limit=limit, cursor=cursor, room=_ROOM)
        else:
            found, following = list_conversations(store, clock, owner=owner, limit=limit, cursor=cursor, room=_ROOM)
        return answer(200, {"conversations": [conversation_json(c) for c in found], "nextCursor": following})

    def get(self, conversation_id: str) -> Response[str]:
        request = self.request()
        conversation = read_head(
            self.memory.store,
            self.memory.clock,
            owner=request.caller.scope,
            conversation_id=conversation_id,
            about=True,
        )
        return answer(200, conversation_json(conversation))

    def change(self, conversation_id: str) -> Response[str]:
        request = self.request()
        changed = change(
            self.memory.store,
            self.memory.clock,
            owner=request.caller.scope,
            conversation_id=conversation_id,
            change=parameters.conversation_change(request.body),
        )
        return answer(200, conversation_json(changed))

    def delete(self, conversation_id: str) -> Response[str]:
        request = self.request()
        delete(self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id)
        return no_content()

    def delete_many(self) -> Response[str]:
        request = self.request()
        body, owner, key = request.body, request.caller.owner, request.key
        outcome = delete_many(
            self.memory.store,
            self.memory.clock,
            owner=request.caller.scope,
            conversation_ids=parameters.conversation_ids(body),
            outcome_id=outcome_record_id(owner, _DELETE_ROUTE, key) if key is not None else None,
            request_hash=parameters.request_hash(_DELETE_ROUTE, body),
        )
        return answer(200, outcome)

    def _of_session(self, request: Request, owner: str) -> list[Conversation]:
        """The one live conversation of the caller's own name for it, if there is one."""
        session_id = parameters.session_id(request.query["sessionId"]) or ""
        store = self.memory.store
        conversation_id = store.session(owner, session_id)
        if conversation_id is None:
            return []
        found = store.snapshot(conversation_id, about=True).conversation
        return [found] if found and found.stands(self.memory.clock.now_ns()) else []


def _listed_owner(request: Request) -> str:
    """Whose conversations are listed: the caller's own, or for an administrator those of another, or ``*`` for all.

    Raises:
        ForbiddenError: somebody else's are asked for by one who is no administrator.
        InvalidRequestError: nobody can be called that.
    """
    owner = request.query.get("owner", request.caller.owner)
    if owner != request.caller.owner and not request.caller.is_administrator:
        raise ForbiddenError("Only administrators list the conversations of others.", field="owner")
    if owner != EVERYBODY and not is_owner(owner):
        rule = f"must be 1 to {LONGEST_OWNER_BYTES} bytes, or {EVERYBODY} for everybody's"
        raise InvalidRequestError(f"owner {rule}.", field="owner")
    return owner
