"""`examples/caller`: another team's function has a message answered, and needs no more than its policy says."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local import environment
from tests.bed.guarded import Guarded
from tests.bed.messages import said
from tests.e2e.calls import append, create, messages

pytestmark = pytest.mark.stack

EXAMPLE = Path(__file__).parents[2] / "examples" / "caller"
PARAMETER = "/conversation-memory/local/turn-function-arn"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def _policy(guarded: Guarded) -> dict[str, Any]:
    """The example's, with its placeholders filled in as its README says."""
    values = {
        "REGION": environment.REGION,
        "ACCOUNT": environment.ACCOUNT,
        "STAGE": "local",
        "TURN_FUNCTION_ARN": guarded.outputs["TurnFunctionArn"],
    }
    text = (EXAMPLE / "policy.json").read_text()
    for placeholder, value in values.items():
        assert placeholder in text
        text = text.replace(placeholder, value)
    policy: dict[str, Any] = json.loads(text)
    return policy


def _called(guarded: Guarded, policy: dict[str, Any], event: dict[str, str]) -> Any:
    """What the example answers when its role holds this policy."""
    iam = guarded.client("iam")
    name = f"caller-{len(iam.list_roles()['Roles'])}"
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
    code = (EXAMPLE / "handler.py").read_text()
    return guarded.call_function(name, role, code, event, TURN_FUNCTION_PARAMETER=PARAMETER)


def test_the_example_has_a_message_answered_once(guarded: Guarded) -> None:
    with guarded.http() as http:
        path = create(http)
        message = append(http, path, said("asked by another function"))
        event = {"conversationId": message["conversationId"], "messageId": message["id"], "owner": "anonymous"}

        accepted = [_called(guarded, _policy(guarded), event) for _ in range(2)]
        turn = http.get(f"{path}/turns/{message['id']}", params={"wait": 20})

        assert accepted == [{"accepted": True}] * 2
        assert turn.json()["message"]["content"] == said("You said: asked by another function")
        assert len(messages(http, path)) == 2
    assert [request.body["messages"] for request in guarded.bedrock.requests] == [
        [{"role": "user", "content": message["content"]}]
    ]


def test_every_statement_of_the_example_is_needed(guarded: Guarded) -> None:
    event = {"conversationId": "made-up-made-up-1234", "messageId": "made-up-made-up-1234.m", "owner": "anonymous"}
    policy = _policy(guarded)

    assert _called(guarded, policy, event) == {"accepted": True}
    for place in range(len(policy["Statement"])):
        without = policy | {"Statement": policy["Statement"][:place] + policy["Statement"][place + 1 :]}
        assert "AccessDenied" in _called(guarded, without, event)["errorMessage"]
