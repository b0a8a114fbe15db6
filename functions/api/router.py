"""Which handler a request of our own API is for: by its method, and by the steps of its path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Event = Mapping[str, Any]
"""A request as the gateway hands it to Lambda (HTTP API, payload version 2.0)."""
Answer = dict[str, Any]
"""An answer as Lambda hands it to the gateway."""
Handler = Callable[..., Answer]
"""Takes the event, and the ids of the path by the names they have in the route."""


@dataclass(frozen=True, slots=True)
class Route:
    """A handler with its method and its path, in which ``<name>`` stands for an id."""

    method: str
    path: str
    handler: Handler

    def ids_of(self, path: str) -> dict[str, str] | None:
        """The ids in a path, by name, as they stand there (no id is encoded); ``None`` if it is another route's."""
        steps, own = path.split("/"), self.path.split("/")
        if len(steps) != len(own):
            return None
        ids = {}
        for step, wanted in zip(steps, own, strict=True):
            if wanted.startswith("<") and step:
                ids[wanted[1:-1]] = step
            elif step != wanted:
                return None
        return ids


class Router:
    """All routes, in the order in which they are asked."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def add(self, method: str, path: str, handler: Handler) -> None:
        """One more route."""
        self.routes.append(Route(method, path, handler))

    def find(self, method: str, path: str) -> tuple[Handler, Mapping[str, str]] | None:
        """The handler for a request, and the ids that it is to be called with."""
        for route in self.routes:
            if route.method == method and (ids := route.ids_of(path)) is not None:
                return route.handler, ids
        return None
