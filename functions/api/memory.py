"""What the routes work with, put together once in ``handler``."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from api.identity import Auth
from api.searches import Searches
from conversations.asking import Invoker
from conversations.clock import Clock
from conversations.recall import Recall
from conversations.registration import RegisteredTool
from conversations.store import Store
from conversations.windows import Limits


@dataclass(frozen=True, slots=True)
class Memory:
    """The store, the clock and the way to start turns, with what the deployment says of histories."""

    store: Store
    clock: Clock
    invoker: Invoker
    auth: Auth
    searches: Searches
    system_prompt: str
    limits: Limits
    tools: Sequence[RegisteredTool] = ()
    recall: Recall | None = None
    message_updated_time: bool = True
    """Whether a message in OpenSearch's dialect says when it was changed last, which its published schema forbids."""

    @property
    def tool_names(self) -> Set[str]:
        """The names that no tool of a message may have."""
        return {tool.name for tool in self.tools}
