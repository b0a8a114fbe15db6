"""What the turn function does with an event: answer one message, or mark failed what was given up."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics

from conversations import turns
from conversations.answering import Answered, Asking, answer
from conversations.attempt import StoredAttempt
from conversations.clock import Clock
from conversations.errors import LeasedError, NotFoundError, ServiceError, SupersededError
from conversations.history_query import HistoryQuery
from conversations.language_model import Model
from conversations.recall import Recall
from conversations.store import Store
from conversations.tool_use import EMPTY, Toolbox
from turn.descriptor import Descriptor, is_of_appsync, parse_descriptor
from turn.reporting import Reports
from turn.settings import TurnSettings

_RESERVE_MS = 10_000
_RESERVED_PART = 5
_GIVEN_UP = {"code": "GivenUp", "message": "The answer failed several times; it may be asked again."}


@dataclass(frozen=True, slots=True)
class Worker:
    """Answers messages with a model over a store."""

    store: Store
    clock: Clock
    model: Model
    settings: TurnSettings
    logger: Logger
    metrics: Metrics
    toolbox: Toolbox = EMPTY
    recall: Recall | None = None

    def answer(self, event: object, remaining_ms: int) -> dict[str, Any]:
        """Answer the message of a descriptor.

        Raises:
            InvalidRequestError: the event is malformed.
            LeasedError, ModelUnavailableError, BusyError: Lambda is to deliver the event again.
        """
        descriptor = parse_descriptor(event, self.settings.features)
        self.logger.append_keys(conversation_id=descriptor.conversation_id, message_id=descriptor.current_message_id)
        give_up_at_ns = time_to_give_up(self.clock, remaining_ms)
        try:
            attempt = self._claimed(descriptor)
        except NotFoundError as error:
            self.logger.warning("refused", extra={"code": error.code})
            return {"outcome": "refused", "code": error.code}
        except SupersededError:
            answered = Answered("superseded")
        else:
            answered = answer(attempt, self.clock, self.model, self._asking(descriptor), give_up_at_ns=give_up_at_ns)
        Reports(self.logger, self.metrics).report(answered)
        return {"outcome": answered.outcome, "attempt": answered.attempt}

    def give_up(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Mark failed the turns of invocations that Lambda has given up (records of the failure queue).

        Returns Lambda's partial batch answer: a turn that an attempt may still hold stays in the queue.
        """
        left = [record["messageId"] for record in records if not self._given_up(record)]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in left]}

    def _given_up(self, record: Mapping[str, Any]) -> bool:
        event = _invoked_with(record["body"])
        if is_of_appsync(event):  # it holds a token, which must not stay in the queue; the client cannot be reached
            self.logger.warning("an event of AppSync was given up by Lambda")
            return True
        try:
            descriptor = parse_descriptor(event)
            asked_key = descriptor.asked_key
            if turns.give_up(self.store, self.clock, _question(descriptor), _GIVEN_UP, asked_key=asked_key):
                Reports(self.logger, self.metrics).count("failed")
        except LeasedError:
            return False
        except ServiceError as error:
            self.logger.warning("not given up", extra={"code": error.code, "field": error.field})
            return error.code != "Busy"
        return True

    def _claimed(self, descriptor: Descriptor) -> StoredAttempt:
        question = _question(descriptor)
        claimed = turns.claim(self.store, self.clock, question)
        prompt = self.settings.system_prompt if descriptor.system_prompt is None else descriptor.system_prompt
        query = HistoryQuery(
            current_message_id=descriptor.current_message_id,
            list_limit=descriptor.list_limit,
            window=descriptor.options.window,
            recall=descriptor.options.recall,
            system_prompt=prompt,
            limits=replace(
                self.settings.limits,
                model_id=descriptor.model_id or self.settings.model_id,
                answer_tokens=descriptor.inference_configuration.get("maxTokens") or self.settings.max_output_tokens,
            ),
            tools=[*descriptor.client_tools, *(tool.specification for tool in self.toolbox.tools_for(question))],
        )
        return StoredAttempt(
            self.store,
            self.clock,
            question,
            query,
            claimed=claimed,
            keeps_partial_text=descriptor.stream_response,
            recall=self.recall,
        )

    def _asking(self, descriptor: Descriptor) -> Asking:
        return Asking(
            model_id=descriptor.model_id or self.settings.model_id,
            region=descriptor.region,
            inference_configuration=self.settings.inference_configuration,
            inference_asked=descriptor.inference_configuration,
            features=descriptor.features,
            client_tools=descriptor.client_tools,
            tools=self.toolbox.tools_for(_question(descriptor)),
            most_rounds=self.settings.tool_rounds,
        )


def time_to_give_up(clock: Clock, remaining_ms: int) -> int:
    """When, in nanoseconds since the epoch, a turn must begin to end so that it ends in order: ten seconds before the
    function does, or a fifth of its time if that is less.
    """
    return clock.now_ns() + (remaining_ms - min(_RESERVE_MS, remaining_ms // _RESERVED_PART)) * 1_000_000


def _invoked_with(body: str) -> object:
    """The event of the invocation that a record of the failure queue is about; ``None`` if it is about none.

    What nobody can work on must not keep the rest of its batch in the queue.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document.get("requestPayload") if isinstance(document, dict) else None


def _question(descriptor: Descriptor) -> turns.Question:
    return turns.Question(descriptor.conversation_id, descriptor.current_message_id, descriptor.owner)
