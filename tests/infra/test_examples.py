"""What the examples say of CDK is CDK, and grants what their policies say."""

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm

from tests.infra.conftest import Synthesise

EXAMPLES = Path(__file__).parents[2] / "examples"
CALLER = EXAMPLES / "caller"


def test_the_snippet_of_the_caller_grants_what_its_policy_says() -> None:
    [snippet] = re.findall(r"^```python\n(.*?)^```$", (CALLER / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    stack = cdk.Stack(cdk.App(), "Example")

    exec(snippet.replace('"caller"', repr(str(CALLER))), {"self": stack, "iam": iam, "lambda_": lambda_, "ssm": ssm})
    template = assertions.Template.from_stack(stack)
    [policy] = template.find_resources("AWS::IAM::Policy").values()

    assert _actions(policy["Properties"]["PolicyDocument"]) == _actions(
        json.loads((CALLER / "policy.json").read_text())
    )


def test_amplify_finds_its_handler_where_the_stack_says_that_it_is(synthesise: Synthesise) -> None:
    source = (EXAMPLES / "amplify" / "conversationMemory.ts").read_text()
    [stage] = re.findall(r"STAGE = '(\w+)'", source)
    [name] = re.findall(r"`(/[^`]+)`", source)

    parameters = synthesise(stage=stage).app.properties("AWS::SSM::Parameter").values()

    found = {parameter["Name"]: parameter["Value"] for parameter in parameters}
    assert found[name.replace("${STAGE}", stage)] == "TurnsAppSync"


def _actions(policy: dict[str, Any]) -> list[tuple[str, str]]:
    return [(statement["Effect"], statement["Action"]) for statement in policy["Statement"]]
