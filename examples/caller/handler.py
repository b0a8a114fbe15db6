"""A Lambda function of yours that has the conversation memory answer a message: copy it, or the two calls in it.

It hands over three ids and waits for nothing. The turn function fetches the history, asks the model and stores the
answer, which is read at `GET /conversations/{conversationId}/turns/{messageId}?wait=20`.

Environment: `TURN_FUNCTION_PARAMETER`, the name of the SSM parameter with the ARN of the turn function,
`/conversation-memory/<stage>/turn-function-arn`. Permissions: the statements of `policy.json`, in the function's role.
"""

import json
import os
from functools import cache
from typing import Any

import boto3

_parameters = boto3.client("ssm")
_functions = boto3.client("lambda")


@cache
def _turn_function() -> str:
    """Its ARN, read once for the life of this process."""
    parameter = _parameters.get_parameter(Name=os.environ["TURN_FUNCTION_PARAMETER"])
    return str(parameter["Parameter"]["Value"])


def lambda_handler(event: dict[str, str], context: Any) -> dict[str, bool]:
    """`{conversationId, messageId, owner}` of a stored message; `owner` is the `sub` of the conversation's owner.

    The same event may be sent twice: a message is answered once.
    """
    descriptor = {
        "conversationId": event["conversationId"],
        "currentMessageId": event["messageId"],
        "owner": event["owner"],
    }
    accepted = _functions.invoke(
        FunctionName=_turn_function(), InvocationType="Event", Payload=json.dumps(descriptor).encode()
    )
    return {"accepted": accepted["StatusCode"] == 202}
