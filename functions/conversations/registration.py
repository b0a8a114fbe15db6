"""The tools that are registered with the deployment: a file beside the code, which the infrastructure has checked.

It lies in the bundle, so that the function of the API and that of the turns always agree, nothing is asked for at a
cold start, and the 4 KB of an environment are no limit.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FILE = "tools.json"


@dataclass(frozen=True)
class RegisteredTool:
    """A function that a model may have called. ``function`` is its name or its ARN."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    function: str
    timeout_s: float

    @cached_property
    def specification(self) -> Mapping[str, Any]:
        """What a model is told of it."""
        return {"name": self.name, "description": self.description, "inputSchema": {"json": self.input_schema}}


def registered_tools(bundle: Path) -> tuple[RegisteredTool, ...]:
    """The tools of the file in the bundle; none without one.

    The file is a list of ``{name, description, inputSchema, function, timeoutSeconds}``.
    """
    file = bundle / FILE
    if not file.is_file():
        return ()
    return tuple(
        RegisteredTool(
            name=tool["name"],
            description=tool["description"],
            input_schema=tool["inputSchema"],
            function=tool["function"],
            timeout_s=tool["timeoutSeconds"],
        )
        for tool in json.loads(file.read_text())
    )
