"""What the API's function is told by its environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from api.identity import Auth
from conversations.settings import StoreSettings, require
from conversations.windows import Limits


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Names of resources, and how the deployment was made."""

    store: StoreSettings
    auth: Auth
    turn_function: str
    system_prompt: str
    limits: Limits
    message_updated_time: bool
    stage: str
    region: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "ApiSettings":
        """Raises ``KeyError`` that names every variable which is missing."""
        names = ("AUTH", "TURN_FUNCTION", "MESSAGE_UPDATED_TIME", "STAGE", "AWS_REGION")
        prompts = ("SYSTEM_PROMPT", "HISTORY_TOKENS", "MODEL_ID", "MAX_OUTPUT_TOKENS")
        values = require(env, *names, *prompts, *StoreSettings.NAMES)
        return cls(
            store=StoreSettings.from_values(values),
            auth="none" if values["AUTH"] == "none" else "jwt",
            turn_function=values["TURN_FUNCTION"],
            system_prompt=values["SYSTEM_PROMPT"],
            limits=Limits(
                int(values["HISTORY_TOKENS"]),
                values["MODEL_ID"],
                int(values["MAX_OUTPUT_TOKENS"]) if values["MAX_OUTPUT_TOKENS"] else None,
            ),
            message_updated_time=values["MESSAGE_UPDATED_TIME"] == "true",
            stage=values["STAGE"],
            region=values["AWS_REGION"],
        )
