"""What the turn function does with an event of AppSync.

Such an event holds the user's token, and Lambda would keep what is raised: to deliver it again, and at last in the
queue of failures. So nothing is ever raised here. What passes is tried again within the invocation, and what fails is
told to the client.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import Any

from aws_lambda_powertools.logging import Logger
from urllib3 import PoolManager

from conversations.answering import PAUSES_S, Answered, Asking, answer
from conversations.arrange import WHOLE
from conversations.clock import NANOSECONDS, Clock
from conversations.errors import BusyError, ModelUnavailableError, ServiceError
from conversations.language_model import Model
from conversations.quiet import told_of
from conversations.tool_use import EMPTY, Tool, Toolbox
from conversations.turns import Question
from conversations.windows import Learned, window_for
from turn.appsync.attempt import AppSyncAttempt, tell_error
from turn.appsync.client import GraphQLClient
from turn.appsync.data_tools import DataTool
from turn.appsync.event import Channel, Task, parse_channel, parse_task
from turn.appsync.token import subject_of
from turn.reporting import Reports
from turn.settings import TurnSettings

_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class AppSyncWorker:
    """Answers messages with a model over the AppSync API that an event names."""

    pool: PoolManager
    clock: Clock
    model: Model
    settings: TurnSettings
    logger: Logger
    reports: Reports
    toolbox: Toolbox = EMPTY

    def answer(self, event: Mapping[str, Any], give_up_at_ns: int) -> dict[str, Any]:
        """Answer the message of an event. Raises nothing, whatever happens."""
        try:
            return self._answer(event, give_up_at_ns)
        except ServiceError as error:
            self.logger.warning("refused", extra={"code": error.code, "field": error.field})
            return {"outcome": "refused", "code": error.code}
        except Exception as error:
            self._log_fault(error)
            return {"outcome": "failed", "code": ServiceError.code}

    def _answer(self, event: Mapping[str, Any], give_up_at_ns: int) -> dict[str, Any]:
        channel = parse_channel(event, self.settings.graphql_hosts)
        self.logger.append_keys(conversation_id=channel.conversation_id, message_id=channel.current_message_id)
        client = GraphQLClient(self.pool, self.clock, channel, give_up_at_ns=give_up_at_ns)
        try:
            answered = self._answered(client, channel, parse_task(event), give_up_at_ns)
        except ServiceError as error:
            tell_error(client, self.clock, channel, error, self.logger)
            raise
        except Exception:
            unknown = ServiceError("The answer failed.")
            tell_error(client, self.clock, channel, unknown, self.logger)
            raise
        self.reports.report(answered)
        return {"outcome": answered.outcome, "attempt": answered.attempt}

    def _answered(self, client: GraphQLClient, channel: Channel, task: Task, give_up_at_ns: int) -> Answered:
        asking = self._asking(client, channel, task)
        for number, pause_s in enumerate((*PAUSES_S, None), start=1):
            attempt = self._attempt(client, channel, task, asking.tools, number)
            try:
                return answer(attempt, self.clock, self.model, asking, give_up_at_ns=give_up_at_ns)
            except (ModelUnavailableError, BusyError) as error:
                left_s = (give_up_at_ns - self.clock.now_ns()) / NANOSECONDS
                if not attempt.may_begin_anew or pause_s is None or pause_s >= left_s:
                    attempt.fail(error)
                    return Answered("failed", number, error_code=error.code)
                self.clock.sleep(_random.uniform(pause_s / 2, pause_s))
        raise AssertionError("the last attempt ends the loop")

    def _attempt(
        self, client: GraphQLClient, channel: Channel, task: Task, tools: Sequence[Tool], number: int
    ) -> AppSyncAttempt:
        prompt = self.settings.system_prompt if task.system_prompt is None else task.system_prompt
        limits = replace(
            self.settings.limits,
            model_id=task.model_id or self.settings.model_id,
            answer_tokens=task.inference_configuration.get("maxTokens") or self.settings.max_output_tokens,
        )
        return AppSyncAttempt(
            client,
            self.clock,
            channel,
            task,
            system_prompt=prompt,
            tools=tools,
            window=window_for(WHOLE, limits, Learned()),
            logger=self.logger,
            number=number,
        )

    def _asking(self, client: GraphQLClient, channel: Channel, task: Task) -> Asking:
        question = Question(channel.conversation_id, channel.current_message_id, subject_of(channel.token))
        data_tools = [DataTool(client, definition) for definition in task.data_tools]
        return Asking(
            model_id=task.model_id or self.settings.model_id,
            region=task.region,
            inference_configuration=self.settings.inference_configuration,
            inference_asked=task.inference_configuration,
            features=self.settings.features,
            client_tools=task.client_tools,
            tools=[*data_tools, *self.toolbox.tools_for(question)],
            most_rounds=self.settings.tool_rounds,
            keeps_tool_calls=False,  # AppSync stores what its client sees
        )

    def _log_fault(self, error: Exception) -> None:
        """Where it happened, and no words of the error itself: they may repeat what the event holds."""
        self.logger.error("failed", extra=told_of(error))
