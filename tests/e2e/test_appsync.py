"""The deployed turn function answers events of an AppSync API, and keeps nothing of them."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from tests.bed.appsync import TOKEN, AppSync, Fault, ListedMessages
from tests.bed.messages import said
from tests.bed.replies import text
from tests.bed.stack import Stack

pytestmark = pytest.mark.stack

WITHIN_S = 30
QUESTION = {"id": "CUR", "conversationId": "C", "role": "user", "content": said("q")}


@pytest.fixture
def appsync() -> Iterator[AppSync]:
    with AppSync() as api:
        api.messages = ListedMessages([QUESTION])
        yield api


def _invoke(stack: Stack, function: str, appsync: AppSync) -> None:
    event = json.dumps(appsync.event("C", "CUR"))
    stack.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=event)


def _eventually(holds: Callable[[], object]) -> None:
    until = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def _queued(stack: Stack) -> int:
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.local.outputs["TurnFailuresQueueUrl"], AttributeNames=["All"]
    )["Attributes"]
    return int(attributes["ApproximateNumberOfMessages"]) + int(attributes["ApproximateNumberOfMessagesNotVisible"])


@pytest.mark.parametrize("output", ["AppSyncHandlerArn", "TurnFunctionName"])
def test_an_event_is_answered_through_its_api(output: str, stack: Stack, appsync: AppSync) -> None:
    stack.bedrock.script(text("all ", "is ", "well"))

    _invoke(stack, stack.local.outputs[output], appsync)

    _eventually(lambda: any("stopReason" in given for given in appsync.published))
    assert appsync.text == "all is well"
    assert stack.bedrock.requests[0].body["messages"] == [{"role": "user", "content": said("q")}]
    assert TOKEN not in stack.log_tail()


def test_an_event_that_fails_is_neither_repeated_nor_kept(stack: Stack, appsync: AppSync) -> None:
    appsync.otherwise = Fault(
        401, {"errors": [{"errorType": "UnauthorizedException", "message": "Token has expired."}]}
    )

    _invoke(stack, stack.local.outputs["AppSyncHandlerArn"], appsync)

    _eventually(lambda: appsync.errors)
    time.sleep(1.5)  # the emulator would ask again at once
    assert [request.operation for request in appsync.requests] == ["ListMessages", "PublishModelResponse"]
    assert _queued(stack) == 0
    assert TOKEN not in stack.log_tail()
