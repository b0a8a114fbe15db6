"""`stack.json`: where the running local stack is, for programs (tests, `make token`) and curious people.

It is there only while the service answers. After a kill it stays behind, so a reader asks `apiUrl` first.
"""

import json
from pathlib import Path

from infra.local import environment, state

NAME = "stack.json"

_OUTPUTS = {
    "messagesTable": "MessagesTable",
    "conversationsTable": "ConversationsTable",
    "bodiesBucket": "BodiesBucket",
    "apiFunctionName": "ApiFunctionName",
    "turnFunctionName": "TurnFunctionName",
    "cleanupFunctionName": "CleanupFunctionName",
    "cleanupQueueUrl": "CleanupQueueUrl",
    "turnFailuresQueueUrl": "TurnFailuresQueueUrl",
    "userPoolId": "UserPoolId",
    "userPoolClientId": "UserPoolClientId",
}


def write(folder: Path, *, api_url: str, aws_endpoint_url: str, auth: str, outputs: dict[str, str]) -> None:
    """Say where everything is, in one step."""
    found = {name: outputs[output] for name, output in _OUTPUTS.items() if output in outputs}
    addresses = {
        "apiUrl": api_url,
        "awsEndpointUrl": aws_endpoint_url,
        "region": environment.REGION,
        "auth": auth,
    }
    state.write_whole(folder / NAME, json.dumps(addresses | found, indent=2) + "\n")


def read(folder: Path) -> dict[str, str]:
    """What a running stack wrote; empty when none runs there."""
    file = folder / NAME
    return dict(json.loads(file.read_text())) if file.exists() else {}


def remove(folder: Path) -> None:
    """Nobody must be sent to what has stopped."""
    (folder / NAME).unlink(missing_ok=True)
