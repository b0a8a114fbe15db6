"""Routes of turns: ask for an answer, and follow it."""

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from api import parameters
from api.memory import Memory
from api.routes import Routes, answer
from api.wire import check_can_be_given_back, message_json, turn_json
from conversations.appending import Appending
from conversations.asking import ask, follow
from conversations.tools import refuse_registered
from conversations.turn_controls import ask_again, cancel
from conversations.turns import Question

_ROUTE = "turns"
LONGEST_WAIT_S = 20  # the gateway ends a request after 30 s
MOST_CHARACTERS = 10_000_000


class TurnRoutes(Routes):
    """Start, follow, cancel and ask again."""

    def __init__(self, app: APIGatewayHttpResolver, memory: Memory, metrics: Metrics) -> None:
        super().__init__(app, memory)
        self._metrics = metrics
        app.post("/conversations/<conversation_id>/turns")(self.start)
        app.get("/conversations/<conversation_id>/turns/<message_id>")(self.follow)
        app.post("/conversations/<conversation_id>/turns/<message_id>")(self.ask_again)
        app.delete("/conversations/<conversation_id>/turns/<message_id>")(self.cancel)

    def start(self, conversation_id: str) -> Response[str]:
        request = self.request()
        body = request.body
        local = parameters.local_id(_ROUTE, request.key)
        draft = parameters.turn_draft(body, local=local)
        refuse_registered(draft.tool_configuration, self.memory.tool_names)
        check_can_be_given_back([draft])
        keyed = local if request.key is not None else None
        request_hash = parameters.request_hash(_ROUTE, body)
        asked = Appending(request.caller.scope, conversation_id, [draft], request_hash, keyed)
        message, turn = ask(self.memory.store, self.memory.clock, self.memory.invoker, asked)
        self._metrics.add_metric("TurnsAsked", MetricUnit.Count, 1)
        return answer(202, {"message": message_json(message), "turn": turn_json(turn)})

    def ask_again(self, conversation_id: str, message_id: str) -> Response[str]:
        request = self.request()
        parameters.known_members(request.body, frozenset())
        question = Question(conversation_id, message_id, request.caller.scope)
        memory = self.memory
        message, turn = ask_again(memory.store, memory.clock, memory.invoker, question, key=request.key)
        self._metrics.add_metric("TurnsAsked", MetricUnit.Count, 1)
        return answer(202, {"message": message_json(message), "turn": turn_json(turn)})

    def cancel(self, conversation_id: str, message_id: str) -> Response[str]:
        request = self.request()
        question = Question(conversation_id, message_id, request.caller.scope)
        return answer(200, {"turn": turn_json(cancel(self.memory.store, self.memory.clock, question))})

    def follow(self, conversation_id: str, message_id: str) -> Response[str]:
        request = self.request("wait", "after")
        turn, message = follow(
            self.memory.store,
            self.memory.clock,
            Question(conversation_id, message_id, request.caller.scope),
            wait_s=parameters.integer_parameter(request.query, "wait", least=0, most=LONGEST_WAIT_S) or 0,
            after=parameters.integer_parameter(request.query, "after", least=0, most=MOST_CHARACTERS),
        )
        shown = {"message": message_json(message)} if message else {}
        return answer(200, {"turn": turn_json(turn), **shown})
