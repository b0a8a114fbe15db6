"""What a language model is asked, and what it must be able to do. The adapter in ``bedrock`` is the one that exists."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from conversations.model import Block

Event = Mapping[str, Any]
"""An event of ConverseStream, as botocore gives it but for bytes, which are base64 text."""


@dataclass(frozen=True, slots=True)
class Features:
    """What models can do beside answering. ``additional_fields`` are the model's own parameters, ``guardrail`` is
    Converse's ``GuardrailStreamConfiguration``.
    """

    additional_fields: Mapping[str, Any] = field(default_factory=dict)
    guardrail: Mapping[str, Any] | None = None
    has_cache_points: bool = False


PLAIN = Features()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked, in the terms of the Converse API; ``region`` is ``None`` for the function's own."""

    model_id: str
    messages: Sequence[Mapping[str, Any]]
    system: Sequence[Block] = ()
    tool_configuration: Mapping[str, Any] | None = None
    inference_configuration: Mapping[str, Any] = field(default_factory=dict)
    region: str | None = None
    features: Features = PLAIN


class Model(Protocol):
    """A model that streams."""

    def ask(self, request: ModelRequest) -> Iterable[Event]:
        """The events of its answer. They are read by another thread, and nothing is asked before the first is.

        Reading them raises:
            ModelUnavailableError: it is throttled or down.
            ModelError: it refuses this request, or its stream broke.
        """


@runtime_checkable
class Stoppable(Protocol):
    """Events that somebody who does not read them may end."""

    def stop(self) -> None:
        """Close the stream, so that whoever waits for its next event is let go and nothing more is paid for."""
