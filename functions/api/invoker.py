"""Starting turns by invoking the turn function asynchronously."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from conversations.codec import to_json
from conversations.errors import BusyError


class LambdaInvoker:
    """Implements ``asking.Invoker``: an ``Event`` invocation that carries the descriptor and nothing of the history."""

    def __init__(self, client: Callable[[], Any], function_name: str) -> None:
        self._client = client
        self._function_name = function_name

    def invoke(self, descriptor: Mapping[str, Any]) -> None:
        try:
            self._client().invoke(
                FunctionName=self._function_name, InvocationType="Event", Payload=to_json(descriptor).encode()
            )
        except (ClientError, BotoCoreError) as error:
            raise BusyError("The message is stored, but its turn could not be started; send it again.") from error
