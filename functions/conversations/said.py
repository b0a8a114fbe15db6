"""All that a model has said for one answer: in one message, or in several with the results of tools between them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from conversations.codec import to_json
from conversations.content import TOOL_USE
from conversations.converse import sendable
from conversations.errors import ModelError
from conversations.language_model import Event
from conversations.model import Block, ToolCall
from conversations.reply import Reply
from conversations.tool_use import ToolResult, ToolUse

_CUT_OFF = frozenset(
    (
        "content_filtered",
        "guardrail_intervened",
        "malformed_model_output",
        "malformed_tool_use",
        "max_tokens",
        "model_context_window_exceeded",
    )
)
"""Reasons to stop after which what is asked of tools is not meant to be done."""
LARGEST_RESULTS_BYTES = 4_000_000
"""What the results of one answer may take together, as an escaped JSON string: the API must be able to show it."""
_BETWEEN_ROUNDS = "\n\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it is kept. ``content`` is what the user sees, and the tools that the client is to use.

    ``usage`` and ``latency_ms`` are of all rounds together. ``measured`` is for the next prompt (``windows``),
    ``guardrail_trace`` of the last round, if it was asked for.
    """

    content: Sequence[Block]
    model_id: str
    tool_calls: Sequence[ToolCall] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    stop_reason: str | None = None
    latency_ms: int | None = None
    measured: Mapping[str, Any] | None = None
    guardrail_trace: Mapping[str, Any] | None = None


class Said:
    """What has been said so far, round by round."""

    def __init__(self) -> None:
        self.rounds = 0
        self._ended_round: int | None = None
        self._reply = Reply()
        self._content: list[Block] = []  # of the rounds that are over
        self._tool_calls: list[ToolCall] = []
        self._kept_bytes = 0
        self._text = ""
        self._usages: list[Mapping[str, Any]] = []
        self._latencies: list[int] = []

    # What is coming in

    def begin_round(self) -> None:
        """The model is asked again, with the results that were taken."""
        self._text = self.text
        self._usages, self._latencies = self._with_reply()
        self._reply = Reply()
        self.rounds += 1

    def feed(self, event: Event) -> None:
        """Take in one event of the model's stream."""
        self._reply.feed(event)

    def take_results(self, given: Sequence[ToolResult]) -> list[Block]:
        """Keep what tools have come to, which ends the round; returns the blocks that the model is told."""
        results = [self._fitting(result) for result in given]
        self.end_round(without=[result.use for result in results])
        self._tool_calls += [
            {
                "toolUseId": result.use.tool_use_id,
                "name": result.use.name,
                "input": result.use.input,
                "status": result.status,
                "content": result.content,
                "round": self.rounds,
                "contentIndex": len(self._content),
            }
            for result in results
        ]
        return [result.block for result in results]

    def end_round(self, *, without: Sequence[ToolUse]) -> None:
        """Nothing more comes of this round; what is shown of it is all but these uses."""
        left_out = {use.tool_use_id for use in without}
        self._content += [block for block in self._blocks() if _tool_use_id(block) not in left_out]
        self._ended_round = self.rounds

    def _fitting(self, result: ToolResult) -> ToolResult:
        """The result, if there is room for it beside those that are kept already."""
        size = len(to_json(to_json(result.content)).encode())
        if self._kept_bytes + size > LARGEST_RESULTS_BYTES:
            return result.use.refused(
                "The tools have told so much that no more can be kept: answer with what is known."
            )
        self._kept_bytes += size
        return result

    # What has come of it

    @property
    def is_complete(self) -> bool:
        """Whether the model said why it stopped."""
        return self._reply.is_complete

    @property
    def has_begun(self) -> bool:
        """Whether something has come of this round."""
        return bool(self._reply.content)

    @property
    def text(self) -> str:
        """All text so far."""
        return _BETWEEN_ROUNDS.join(filter(None, (self._text, self._reply.text)))

    @property
    def so_far(self) -> list[Block]:
        """The content so far, in its order: text as far as it has come, and uses of tools without their input."""
        return self._content if self._is_taken else [*self._content, *self._reply.so_far]

    @property
    def length(self) -> int:
        """The characters of the text so far (counted, not put together)."""
        between = len(_BETWEEN_ROUNDS) if self._text and self._reply.length else 0
        return len(self._text) + between + self._reply.length

    @property
    def first_usage(self) -> Mapping[str, Any] | None:
        """What the model counted of the first round, whose prompt is the history as it was arranged."""
        return next(iter(self._with_reply()[0]), None)

    @property
    def usage(self) -> Mapping[str, Any]:
        """What the model counted, over all rounds."""
        return _summed(self._with_reply()[0])

    @property
    def sent(self) -> list[Block]:
        """The message of this round as the model is sent it again."""
        sent = (sendable(block) for block in self._blocks())
        return [block for block in sent if block is not None]

    def tool_uses(self, *, but_for: Set[str]) -> list[ToolUse]:
        """What this round asks of tools, but for those of these names.

        Raises:
            ModelError: the input for one of those is no JSON object, which nobody could mend, or a use has a name or id
            that no request can hold.
        """
        uses = [] if self._reply.stop_reason in _CUT_OFF else self._reply.tool_uses
        for use in uses:
            if use.name in but_for and use.problem is not None:
                raise ModelError(use.problem)
            if sendable({TOOL_USE: {"toolUseId": use.tool_use_id, "name": use.name, "input": {}}}) is None:
                raise ModelError(f"The model asked for a tool by a name or id that cannot be: {use.name[:64]!r}.")
        return [use for use in uses if use.name not in but_for]

    def asks_client(self, names: Set[str]) -> bool:
        """Whether this round asks for one of the tools of these names."""
        return any(use.name in names for use in self._reply.tool_uses)

    def answer(self, model_id: str, measured: Mapping[str, Any] | None = None) -> Answer:
        """The answer, when nothing more is asked."""
        usages, latencies = self._with_reply()
        return Answer(
            content=self._content if self._is_taken else [*self._content, *self._blocks()],
            model_id=model_id,
            tool_calls=self._tool_calls,
            usage=_summed(usages),
            stop_reason=self._reply.stop_reason,
            latency_ms=sum(latencies) if latencies else None,
            measured=measured,
            guardrail_trace=self._reply.guardrail_trace,
        )

    @property
    def _is_taken(self) -> bool:
        """Whether the content of this round stands with that of the rounds before it."""
        return self._ended_round == self.rounds

    def _blocks(self) -> list[Block]:
        blocks = self._reply.content
        if self._reply.stop_reason in _CUT_OFF:
            return [block for block in blocks if TOOL_USE not in block]
        return blocks

    def _with_reply(self) -> tuple[list[Mapping[str, Any]], list[int]]:
        usage, latency_ms = self._reply.usage, self._reply.latency_ms
        usages = [*self._usages, *([usage] if usage is not None else [])]
        return usages, [*self._latencies, *([latency_ms] if latency_ms is not None else [])]


def _tool_use_id(block: Block) -> str | None:
    return block[TOOL_USE]["toolUseId"] if TOOL_USE in block else None


def _summed(usages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    summed: dict[str, Any] = {}
    for usage in usages:
        for name, value in usage.items():
            is_count = isinstance(value, int) and isinstance(summed.get(name, 0), int)
            summed[name] = summed.get(name, 0) + value if is_count else value
    return summed
