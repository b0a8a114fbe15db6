"""Settings that several functions share, made from a mapping that is passed in: nothing here reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


def require(env: Mapping[str, str], *names: str) -> dict[str, str]:
    """The values of these variables.

    Raises:
        KeyError: some are missing; it names all of them.
    """
    missing = sorted(name for name in names if name not in env)
    if missing:
        raise KeyError(f"missing in the environment: {', '.join(missing)}")
    return {name: env[name] for name in names}


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the store keeps its items and objects."""

    NAMES: ClassVar = ("MESSAGES_TABLE", "CONVERSATIONS_TABLE", "BODIES_BUCKET")

    messages_table: str
    conversations_table: str
    bodies_bucket: str

    @classmethod
    def from_values(cls, values: Mapping[str, str]) -> "StoreSettings":
        return cls(*(values[name] for name in cls.NAMES))
