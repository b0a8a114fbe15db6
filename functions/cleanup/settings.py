"""What the cleanup function is told by its environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from conversations.settings import StoreSettings, require


@dataclass(frozen=True, slots=True)
class CleanupSettings:
    """Names of resources."""

    store: StoreSettings
    queue_url: str

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "CleanupSettings":
        """Raises ``KeyError`` that names every variable which is missing."""
        values = require(env, "CLEANUP_QUEUE_URL", *StoreSettings.NAMES)
        return cls(store=StoreSettings.from_values(values), queue_url=values["CLEANUP_QUEUE_URL"])
