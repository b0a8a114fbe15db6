"""What the turn function is told by its environment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conversations.answering import MOST_ROUNDS
from conversations.language_model import PLAIN, Features
from conversations.settings import StoreSettings, require
from conversations.windows import Limits


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Names of resources, and how the deployment wants the model asked."""

    store: StoreSettings
    model_id: str
    system_prompt: str
    history_tokens: int
    max_output_tokens: int | None
    graphql_hosts: frozenset[str] = frozenset()
    tool_rounds: int = MOST_ROUNDS
    features: Features = PLAIN

    @property
    def limits(self) -> Limits:
        """What bounds a prompt."""
        return Limits(self.history_tokens, self.model_id, self.max_output_tokens)

    @property
    def inference_configuration(self) -> Mapping[str, Any]:
        """What Converse is told of every answer."""
        return {"maxTokens": self.max_output_tokens} if self.max_output_tokens else {}

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "TurnSettings":
        """Raises ``KeyError`` that names every variable which is missing."""
        names = ("MODEL_ID", "SYSTEM_PROMPT", "HISTORY_TOKENS", "MAX_OUTPUT_TOKENS", "GRAPHQL_HOSTS", "TOOL_ROUNDS")
        features = ("MODEL_FIELDS", "GUARDRAIL", "CACHE_POINTS")
        values = require(env, *names, *features, *StoreSettings.NAMES)
        return cls(
            store=StoreSettings.from_values(values),
            model_id=values["MODEL_ID"],
            system_prompt=values["SYSTEM_PROMPT"],
            history_tokens=int(values["HISTORY_TOKENS"]),
            max_output_tokens=int(values["MAX_OUTPUT_TOKENS"]) if values["MAX_OUTPUT_TOKENS"] else None,
            graphql_hosts=frozenset(filter(None, values["GRAPHQL_HOSTS"].split(","))),
            tool_rounds=int(values["TOOL_ROUNDS"]),
            features=_features(values),
        )


def _features(values: Mapping[str, str]) -> Features:
    """``MODEL_FIELDS`` is JSON, ``GUARDRAIL`` is ``<id or ARN>:<version>``, ``CACHE_POINTS`` is ``true`` or empty."""
    identifier, _, version = values["GUARDRAIL"].rpartition(":")
    return Features(
        additional_fields=json.loads(values["MODEL_FIELDS"] or "{}"),
        guardrail={"guardrailIdentifier": identifier, "guardrailVersion": version} if identifier else None,
        has_cache_points=values["CACHE_POINTS"] == "true",
    )
