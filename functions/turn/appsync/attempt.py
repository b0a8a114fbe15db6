"""An attempt over an AppSync API: its history comes from the API's queries, and the answer goes out in chunks."""

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aws_lambda_powertools.logging import Logger

from conversations import tokens
from conversations.arrange import Window
from conversations.clock import NANOSECONDS, Clock
from conversations.content import TOOL_USE
from conversations.errors import ServiceError
from conversations.history import History
from conversations.language_model import Event
from conversations.model import Block
from conversations.said import Answer, Said
from conversations.tool_use import Tool
from turn.appsync import documents
from turn.appsync.chunks import SLOW_NS, Chunk, Chunks, Pace, as_input
from turn.appsync.client import GraphQLClient, ResponseType
from turn.appsync.errors import GraphQLError
from turn.appsync.event import Channel, Task
from turn.appsync.history import read_history

_IDLE_S = 60.0
_LAST_TEXT_WITHIN_S = 3.0
_ERROR_WITHIN_S = 5.0
"""Together within what is kept of the function's time to end the turn in order."""


class AppSyncAttempt:
    """Implements ``answering.Attempt``. AppSync knows no turns: nothing is claimed, and what fails is told."""

    def __init__(
        self,
        client: GraphQLClient,
        clock: Clock,
        channel: Channel,
        task: Task,
        *,
        system_prompt: str,
        window: Window,
        tools: Sequence[Tool],
        logger: Logger,
        number: int = 1,
    ) -> None:
        """``tools`` are those that are called here."""
        self.number = number
        self._client = client
        self._clock = clock
        self._channel = channel
        self._task = task
        self._system_prompt = system_prompt
        self._window = window
        self._logger = logger
        self._specifications = [*task.client_tools, *(tool.specification for tool in tools)]
        self._own_tools = {str(tool.specification["name"]) for tool in tools}
        self._chunks = Chunks(channel.conversation_id, channel.current_message_id)
        self._pace = Pace(sent_ns=clock.now_ns())
        self._length = 0
        self._said = Said()

    @property
    def may_begin_anew(self) -> bool:
        """Whether the client has been shown nothing yet, and no tool been used that another attempt would use again."""
        return not self._chunks.have_begun and self._said.rounds <= 1

    def history(self, most: int | None = None) -> History:
        window = self._window if most is None else replace(self._window, max_tokens=most)
        return read_history(
            self._client,
            self._channel,
            self._task,
            system_prompt=self._system_prompt,
            window=window,
            spent=sum(map(tokens.of_json, self._specifications)),
        )

    def follow(self, said: Said, event: Event | None) -> None:
        """Send what is new, where that is due."""
        self._said, self._length = said, said.length
        if self._task.streams and self._pace.is_due(self._length, self._clock.now_ns()):
            self._send(self._chunks.grown(_growing(said.so_far, self._own_tools)), "streaming")
            self._pace.is_sent(self._length, self._clock.now_ns())

    def seconds_to_wait(self) -> float:
        """Until a piece that is too short now may be sent, because nothing else came."""
        until_slow_s = (self._pace.sent_ns + SLOW_NS - self._clock.now_ns()) / NANOSECONDS
        return until_slow_s if until_slow_s > 0 and self._length > self._pace.sent else _IDLE_S

    def finish(self, answer: Answer) -> None:
        shown = visible(answer.content, self._own_tools)
        if self._task.streams:
            self._send(self._chunks.finished(shown, answer.stop_reason or ""), "streaming")
        else:
            self._send([{**self._names, "content": [as_input(block) for block in shown]}], "single")

    def fail(self, error: ServiceError, said: Said | None = None) -> None:
        """Show what was said to the last, and tell the error. What was stored of the answer stays as it is."""
        reason = error.reason if isinstance(error, GraphQLError) else None
        self._logger.warning("failed", extra={"code": error.code, "reason": reason})
        if self._task.streams and not isinstance(error, GraphQLError):
            shown = _growing((said or self._said).so_far, self._own_tools)
            with suppress(GraphQLError):
                self._send(self._chunks.grown(shown), "streaming", last_within_s=_LAST_TEXT_WITHIN_S)
        tell_error(self._client, self._clock, self._channel, error, self._logger)

    def give_back(self) -> None:
        """There is nothing to give back."""

    @property
    def _names(self) -> Mapping[str, str]:
        return names_of(self._channel)

    def _send(
        self, chunks: Iterable[Chunk], response_type: ResponseType, *, last_within_s: float | None = None
    ) -> None:
        until_ns = None if last_within_s is None else self._clock.now_ns() + int(last_within_s * NANOSECONDS)
        for chunk in chunks:
            publish(self._client, self._channel, chunk, response_type, give_up_at_ns=until_ns)


def names_of(channel: Channel) -> Mapping[str, str]:
    """What every input of the mutation says."""
    return {
        "conversationId": channel.conversation_id,
        "associatedUserMessageId": channel.current_message_id,
    }


def publish(
    client: GraphQLClient,
    channel: Channel,
    given: Mapping[str, Any],
    response_type: ResponseType,
    *,
    give_up_at_ns: int | None = None,
) -> None:
    """Send one input to the mutation that takes the answer."""
    document = documents.publish_response(channel.response)
    client.ask(document, {"input": given}, response_type=response_type, give_up_at_ns=give_up_at_ns)


def tell_error(client: GraphQLClient, clock: Clock, channel: Channel, error: ServiceError, logger: Logger) -> None:
    """Tell the client that the turn has failed; if even that fails, the log alone knows."""
    given = {**names_of(channel), "errors": [{"errorType": error.code, "message": error.message}]}
    until_ns = clock.now_ns() + int(_ERROR_WITHIN_S * NANOSECONDS)
    try:
        publish(client, channel, given, "error", give_up_at_ns=until_ns)
    except GraphQLError as refusal:
        logger.warning("error not told", extra={"code": refusal.code, "reason": refusal.reason})


def visible(blocks: Iterable[Block], own_tools: Set[str]) -> list[Block]:
    """What of an answer the client sees: text, and what is asked of tools of its own."""
    return [block for block in blocks if block.get("text") or _is_for_client(block, own_tools)]


def _is_for_client(block: Block, own_tools: Set[str]) -> bool:
    return TOOL_USE in block and block[TOOL_USE].get("name") not in own_tools


def _growing(blocks: Iterable[Block], own_tools: Set[str]) -> list[Block]:
    """What can be shown of an answer that is coming in. What a tool is asked is whole only at the end, and nothing that
    comes after it has its place before.
    """
    shown = visible(blocks, own_tools)
    whole = next((place for place, block in enumerate(shown) if TOOL_USE in block), len(shown))
    return shown[:whole]
