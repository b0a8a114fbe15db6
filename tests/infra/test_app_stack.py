"""What people and other stacks find the service by, and what tells when it is unwell."""

from pathlib import Path
from typing import Any

import pytest

from tests.infra.conftest import Synthesise
from tests.infra.template import Deployment

URL = "https://HttpApi.execute-api.<AWS::Region>.<AWS::URLSuffix>"


def test_outputs_say_where_everything_is(default: Deployment) -> None:
    assert default.app.outputs() == {
        "ApiUrl": "HttpApi.ApiEndpoint",
        "ApiId": "HttpApi",
        "ApiFunctionName": "ApiFunction",
        "TurnFunctionName": "TurnsTurnFunction",
        "TurnFunctionArn": "TurnsTurnFunction.Arn",
        "AppSyncHandlerArn": "TurnsAppSync",
        "CleanupFunctionName": "CleanupFunction",
        "MessagesTable": "Messages",
        "ConversationsTable": "Conversations",
        "BodiesBucket": "Bodies",
        "UserPoolId": "UsersPool",
        "UserPoolClientId": "UsersPoolClient",
        "CleanupQueueUrl": "CleanupQueue",
        "TurnFailuresQueueUrl": "TurnsFailures",
    }


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_other_stacks_find_the_service_by_its_stage(synthesise: Synthesise, stage: str) -> None:
    parameters = synthesise(stage=stage).app.properties("AWS::SSM::Parameter").values()
    assert {parameter["Name"]: parameter["Value"] for parameter in parameters} == {
        f"/conversation-memory/{stage}/api-url": "HttpApi.ApiEndpoint",
        f"/conversation-memory/{stage}/turn-function-arn": "TurnsTurnFunction.Arn",
        f"/conversation-memory/{stage}/appsync-handler-arn": "TurnsAppSync",
    }


def test_nothing_else_has_a_name_of_its_own(default: Deployment) -> None:
    """A resource with a physical name cannot be replaced, and cannot stand twice in an account."""
    named = {
        key
        for template in (default.data, default.app)
        for resource in template.document["Resources"].values()
        for key in resource.get("Properties", {})
        if key.endswith("Name") and resource["Type"] not in {"AWS::SSM::Parameter", "AWS::CloudWatch::Alarm"}
    }
    # Names of others, of parts, or for people to read.
    assert named <= {"FunctionName", "StageName", "GroupName", "DisplayName", "Name"}
    functions = default.app.properties("AWS::Lambda::Function").values()
    assert not any("FunctionName" in function for function in functions)


def test_templates_fit_any_account_and_region(default: Deployment) -> None:
    assert "us-east-1" not in str(default.app.document) + str(default.data.document)


def test_every_alarm_reaches_the_topic(default: Deployment) -> None:
    for alarm in default.app.properties("AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == ["AlarmsTopic"]
        assert alarm["TreatMissingData"] == "notBreaching"


def test_alarms_may_publish_and_nobody_else(default: Deployment) -> None:
    statements = default.app.the_only("AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    (allow,) = (statement for statement in statements if statement["Effect"] == "Allow")
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Action"] == "sns:Publish"
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": "<AWS::AccountId>"}}


def test_alarms_watch_what_can_go_wrong(default: Deployment) -> None:
    alarms = default.app.properties("AWS::CloudWatch::Alarm").values()
    assert sorted(_watched(alarm) for alarm in alarms) == sorted(
        [
            ("5xx", "HttpApi", 5),
            ("TurnsFailed", "conversation-memory-turn", 3),
            ("ApproximateNumberOfMessagesVisible", "TurnsDeadLetters.QueueName", 1),
            ("ApproximateNumberOfMessagesVisible", "CleanupDeadLetters.QueueName", 1),
            ("ApproximateNumberOfMessagesVisible", "CleanupLostRecords.QueueName", 1),
            ("ApproximateAgeOfOldestMessage", "TurnsFailures.QueueName", 3600),
            ("ApproximateAgeOfOldestMessage", "CleanupQueue.QueueName", 3600),
            ("IteratorAge", "CleanupFunction", 3_600_000),
            *(("Errors", function, 5) for function in ("ApiFunction", "TurnsTurnFunction", "CleanupFunction")),
            *(("Throttles", function, 1) for function in ("ApiFunction", "TurnsTurnFunction", "CleanupFunction")),
            *(
                (f"{kind}ThrottleEvents", place, 10)
                for kind in ("Read", "Write")
                for place in (
                    "Messages",
                    "Messages conversationId-createdAt",
                    "Messages traceConversationId-traceKey",
                    "Conversations",
                    "Conversations owner-updatedAt",
                    "Conversations activeMonth-activeHour",
                )
            ),
        ]
    )


def test_the_readme_says_what_they_cost(default: Deployment) -> None:
    number = len(default.app.properties("AWS::CloudWatch::Alarm"))
    assert f"{number} alarms (${number * 0.10:.2f} a month" in (Path(__file__).parents[2] / "README.md").read_text()


def test_an_address_can_be_told(synthesise: Synthesise, default: Deployment) -> None:
    assert default.app.resources("AWS::SNS::Subscription") == {}
    subscription = synthesise(alarmEmail="me@example.com").app.the_only("AWS::SNS::Subscription")
    assert subscription == {"Protocol": "email", "Endpoint": "me@example.com", "TopicArn": "AlarmsTopic"}


def _watched(alarm: dict[str, Any]) -> tuple[str, str, int]:
    dimensions = " ".join(sorted((each["Value"] for each in alarm["Dimensions"]), key=lambda value: "-" in value))
    return alarm["MetricName"], dimensions, alarm["Threshold"]
