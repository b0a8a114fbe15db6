"""What the turn function is told by its environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from conversations.answering import MOST_ROUNDS
from conversations.settings import StoreSettings, require


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

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "TurnSettings":
        """Raises ``KeyError`` that names every variable which is missing."""
        names = ("MODEL_ID", "SYSTEM_PROMPT", "HISTORY_TOKENS", "MAX_OUTPUT_TOKENS", "GRAPHQL_HOSTS", "TOOL_ROUNDS")
        values = require(env, *names, *StoreSettings.NAMES)
        return cls(
            store=StoreSettings.from_values(values),
            model_id=values["MODEL_ID"],
            system_prompt=values["SYSTEM_PROMPT"],
            history_tokens=int(values["HISTORY_TOKENS"]),
            max_output_tokens=int(values["MAX_OUTPUT_TOKENS"]) if values["MAX_OUTPUT_TOKENS"] else None,
            graphql_hosts=frozenset(filter(None, values["GRAPHQL_HOSTS"].split(","))),
            tool_rounds=int(values["TOOL_ROUNDS"]),
        )
