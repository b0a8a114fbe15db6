"""The exact actions of every function. A change here is a change of what a stolen function could do."""

import json
from pathlib import Path

import pytest

from tests.infra.conftest import Synthesise
from tests.infra.template import Deployment

READ_AND_WRITE = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
QUERY = {"dynamodb:Query"}
OBJECTS = {"s3:DeleteObject", "s3:GetObject", "s3:PutObject"}
LIST = {"s3:ListBucket"}
CONSUME = {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
TRACE = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
ANSWER = {"bedrock:InvokeModelWithResponseStream"}


def test_the_api_reads_and_writes_and_starts_turns(default: Deployment) -> None:
    assert default.allowed("ApiRole") == {
        "Messages.Arn": READ_AND_WRITE,
        "Conversations.Arn": READ_AND_WRITE,
        "Messages.Arn/index/conversationId-createdAt": QUERY,
        "Messages.Arn/index/traceConversationId-traceKey": QUERY,
        "Conversations.Arn/index/owner-updatedAt": QUERY,
        "Conversations.Arn/index/activeMonth-activeHour": QUERY,
        "Bodies.Arn/*": OBJECTS,
        "Bodies.Arn": LIST,
        "TurnsTurnFunction.Arn": {"lambda:InvokeFunction"},
        "ApiLogs.Arn": LOG,
        "*": TRACE,
    }


def test_the_turn_reads_and_writes_and_asks_one_model(default: Deployment) -> None:
    assert default.allowed("TurnsTurnRole") == {
        "Messages.Arn": READ_AND_WRITE,
        "Conversations.Arn": READ_AND_WRITE,
        "Messages.Arn/index/conversationId-createdAt": QUERY,
        "Messages.Arn/index/traceConversationId-traceKey": QUERY,
        "Bodies.Arn/*": OBJECTS,
        "Bodies.Arn": LIST,
        "arn:<AWS::Partition>:bedrock:<AWS::Region>::foundation-model/amazon.nova-lite-v1:0": ANSWER,
        "TurnsFailures.Arn": CONSUME | {"sqs:SendMessage"},
        "TurnsTurnLogs.Arn": LOG,
        "*": TRACE,
    }


def test_the_turn_calls_the_tools_that_are_registered_and_no_other(synthesise: Synthesise, tmp_path: Path) -> None:
    elsewhere = "arn:aws:lambda:eu-west-1:123456789012:function:clock:live"
    tools = [
        {"name": name, "description": "d", "inputSchema": {"type": "object"}, "function": function}
        for name, function in (("weather", "weather-function"), ("time", elsewhere), ("also_time", elsewhere))
    ]
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(tools))
    with_tools = synthesise(tools=str(file))
    call = {"lambda:InvokeFunction"}
    here = "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:weather-function"

    allowed = with_tools.allowed("TurnsTurnRole")
    assert {on: actions for on, actions in allowed.items() if actions & call} == {here: call, elsewhere: call}
    assert with_tools.allowed("ApiRole") == synthesise().allowed("ApiRole")


@pytest.mark.parametrize(
    ("given", "resource"),
    [
        ("abc123:7", "arn:<AWS::Partition>:bedrock:<AWS::Region>:<AWS::AccountId>:guardrail/abc123"),
        (
            "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc123:DRAFT",
            "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc123",
        ),
    ],
)
def test_the_turn_applies_the_guardrail_that_is_deployed(synthesise: Synthesise, given: str, resource: str) -> None:
    assert synthesise(guardrail=given).allowed("TurnsTurnRole")[resource] == {"bedrock:ApplyGuardrail"}


def test_cleanup_deletes_and_reads_its_sources(default: Deployment) -> None:
    read = {"dynamodb:BatchGetItem", "dynamodb:GetItem"}
    assert default.allowed("CleanupRole") == {
        "Messages.Arn": read | {"dynamodb:BatchWriteItem"},
        "Conversations.Arn": read | {"dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
        "Messages.Arn/index/conversationId-createdAt": QUERY,
        "Messages.Arn/index/traceConversationId-traceKey": QUERY,
        "Bodies.Arn/*": {"s3:DeleteObject"},
        "Bodies.Arn": LIST,
        "CleanupQueue.Arn": CONSUME | {"sqs:SendMessage"},
        "CleanupLostRecords.Arn": {"sqs:SendMessage"},
        "Conversations.StreamArn": {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"},
        "Conversations.Arn/stream/*": {"dynamodb:ListStreams"},
        "CleanupLogs.Arn": LOG,
        "*": TRACE,
    }


def test_nothing_is_allowed_outside_these_roles(default: Deployment) -> None:
    roles = default.app.properties("AWS::IAM::Role")
    assert set(roles) == {"ApiRole", "TurnsTurnRole", "CleanupRole"}
    assert not any("ManagedPolicyArns" in role for role in roles.values())
    assert default.app.resources("AWS::IAM::Policy") == {}
    assert default.data.resources("AWS::IAM::Role") == {}


@pytest.mark.parametrize(
    ("profile_id", "models"),
    [
        ("us.amazon.nova-lite-v1:0", ["arn:<AWS::Partition>:bedrock:*::foundation-model/amazon.nova-lite-v1:0"]),
        (
            "global.anthropic.claude-x",
            [
                "arn:<AWS::Partition>:bedrock:*::foundation-model/anthropic.claude-x",
                "arn:<AWS::Partition>:bedrock:::foundation-model/anthropic.claude-x",
            ],
        ),
    ],
)
def test_a_profiles_models_are_allowed_through_it_only(
    synthesise: Synthesise, profile_id: str, models: list[str]
) -> None:
    allowed = synthesise(modelId=profile_id).allowed("TurnsTurnRole")
    profile = f"arn:<AWS::Partition>:bedrock:<AWS::Region>:<AWS::AccountId>:inference-profile/{profile_id}"
    condition = {"ArnEquals": {"bedrock:InferenceProfileArn": profile}}
    bedrock = {resource: actions for resource, actions in allowed.items() if ":bedrock:" in resource}
    assert bedrock == {profile: ANSWER, **{f"{model} if {condition}": ANSWER for model in models}}
