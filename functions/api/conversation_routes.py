"""Routes of conversations."""

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from api import parameters
from api.memory import Memory
from api.routes import Request, Routes, answer
from api.wire import conversation_json
from conversations.access import read_head
from conversations.creating import create
from conversations.deleting import delete
from conversations.model import Conversation
from conversations.reading import list_conversations


class ConversationRoutes(Routes):
    """Create, list, read and delete conversations."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory) -> None:
        super().__init__(app, memory)
        app.post("/conversations")(self.create)
        app.get("/conversations")(self.page)
        app.get("/conversations/<conversation_id>")(self.get)
        app.delete("/conversations/<conversation_id>")(self.delete)

    def create(self) -> Response[str]:
        request = self.request()
        new = parameters.new_conversation(request.body, owner=request.caller.owner, key=request.key)
        conversation, is_new = create(self.memory.store, self.memory.clock, new)
        return answer(201 if is_new else 200, conversation_json(conversation))

    def page(self) -> Response[str]:
        request = self.request("limit", "cursor", "sessionId")
        if "sessionId" in request.query:
            found, cursor = self._of_session(request), None
        else:
            found, cursor = list_conversations(
                self.memory.store,
                self.memory.clock,
                owner=request.caller.owner,
                limit=parameters.limit(request.query),
                cursor=request.query.get("cursor"),
            )
        return answer(200, {"conversations": [conversation_json(c) for c in found], "nextCursor": cursor})

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

    def delete(self, conversation_id: str) -> Response[str]:
        request = self.request()
        delete(self.memory.store, self.memory.clock, owner=request.caller.scope, conversation_id=conversation_id)
        return Response(status_code=204, body="")

    def _of_session(self, request: Request) -> list[Conversation]:
        """The one live conversation of the caller's own name for it, if there is one."""
        session_id = parameters.session_id(request.query["sessionId"]) or ""
        store = self.memory.store
        conversation_id = store.session(request.caller.owner, session_id)
        if conversation_id is None:
            return []
        found = store.snapshot(conversation_id, about=True).conversation
        return [found] if found and found.stands(self.memory.clock.now_ns()) else []
