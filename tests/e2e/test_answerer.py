"""`examples/answerer`: a function that answers messages itself, and needs no more than its policy says."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local import environment
from tests.bed.guarded import Guarded
from tests.bed.messages import said
from tests.e2e.calls import append, create, followed, messages
from tests.e2e.test_tools import TRUST

pytestmark = pytest.mark.stack

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "answerer"
PACKAGES = [ROOT / "functions" / name for name in ("conversations", "turn")]


@pytest.fixture
def answerer(guarded: Guarded) -> Guarded:
    """With the example deployed as its README says."""
    tables = {name: guarded.outputs[output] for name, output in _OUTPUTS.items()}
    text = (EXAMPLE / "policy.json").read_text()
    for placeholder, value in {"REGION": environment.REGION, "ACCOUNT": environment.ACCOUNT, **tables}.items():
        assert placeholder in text
        text = text.replace(placeholder, value)
    iam = guarded.client("iam")
    role = iam.create_role(RoleName="answerer", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.put_role_policy(RoleName="answerer", PolicyName="own", PolicyDocument=text)
    code = (EXAMPLE / "handler.py").read_text()
    guarded.make_function("answerer", role, code, tables, PACKAGES)
    return guarded


_OUTPUTS = {
    "MESSAGES_TABLE": "MessagesTable",
    "CONVERSATIONS_TABLE": "ConversationsTable",
    "BODIES_BUCKET": "BodiesBucket",
}


def _invoked(guarded: Guarded, event: dict[str, str]) -> Any:
    answer = guarded.client("lambda").invoke(FunctionName="answerer", Payload=json.dumps(event))
    return json.loads(answer["Payload"].read())


def test_the_example_answers_a_message_once(answerer: Guarded) -> None:
    with answerer.http() as http:
        path = create(http)
        append(http, path, said("one"))
        append(http, path, said("1"), role="assistant")
        message = append(http, path, said("x" * 40_000))  # so that the bucket is read
        event = {"conversationId": message["conversationId"], "currentMessageId": message["id"], "owner": "anonymous"}

        told = [_invoked(answerer, event) for _ in range(2)]
        turn = followed(http, path, message["id"])

        assert told == [{"answered": True}, {"answered": False}]
        assert turn["turn"]["status"] == "complete"
        assert turn["message"]["content"] == said(f"You have said 2 things: one; {'x' * 40_000}")
        assert len(messages(http, path)) == 4
    assert answerer.bedrock.requests == []
