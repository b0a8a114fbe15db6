"""How the functions are set up, invoked and retried."""

import json
from typing import Any

import pytest

from tests.infra.conftest import Synthesise
from tests.infra.template import Deployment

FUNCTIONS = {"ApiFunction": "api", "TurnsTurnFunction": "turn", "CleanupFunction": "cleanup"}


@pytest.fixture(scope="module")
def functions(default: Deployment) -> dict[str, Any]:
    return default.app.properties("AWS::Lambda::Function")


@pytest.fixture(scope="module")
def queues(default: Deployment) -> dict[str, Any]:
    return default.app.properties("AWS::SQS::Queue")


def test_all_functions_run_one_bundle_the_same_way(functions: dict[str, Any]) -> None:
    assert set(functions) == set(FUNCTIONS)
    for name, function in functions.items():
        assert function["Handler"] == f"{FUNCTIONS[name]}.handler.lambda_handler"
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == ["arm64"]
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
    assert len({json.dumps(function["Code"]) for function in functions.values()}) == 1


def test_environment_is_what_the_functions_read(synthesise: Synthesise) -> None:
    given = {"systemPrompt": "Be brief.", "historyTokens": "9000", "maxOutputTokens": "700"}
    given |= {"modelFields": '{"top_k": 5}', "guardrail": "abc123:7", "cachePoints": "true"}
    deployment = synthesise(stage="dev2", **given, graphqlHosts="api.example.com")
    everyone = {
        "MESSAGES_TABLE": "Messages",
        "CONVERSATIONS_TABLE": "Conversations",
        "BODIES_BUCKET": "Bodies",
        "STAGE": "dev2",
        "POWERTOOLS_METRICS_NAMESPACE": "ConversationMemory",
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }
    history = {
        "SYSTEM_PROMPT": "Be brief.",
        "HISTORY_TOKENS": "9000",
        "MODEL_ID": "amazon.nova-lite-v1:0",
        "MAX_OUTPUT_TOKENS": "700",
    }
    assert deployment.environment("ApiFunction") == {
        **everyone,
        **history,
        "POWERTOOLS_SERVICE_NAME": "conversation-memory-api",
        "AUTH": "jwt",
        "TURN_FUNCTION": "TurnsTurnFunction",
        "MESSAGE_UPDATED_TIME": "true",
    }
    assert deployment.environment("TurnsTurnFunction") == {
        **everyone,
        **history,
        "POWERTOOLS_SERVICE_NAME": "conversation-memory-turn",
        "GRAPHQL_HOSTS": "api.example.com",
        "TOOL_ROUNDS": "10",
        "MODEL_FIELDS": '{"top_k":5}',
        "GUARDRAIL": "abc123:7",
        "CACHE_POINTS": "true",
    }
    assert deployment.environment("CleanupFunction") == {
        **everyone,
        "POWERTOOLS_SERVICE_NAME": "conversation-memory-cleanup",
        "CLEANUP_QUEUE_URL": "CleanupQueue",
    }


def test_options_that_are_not_given_are_empty(default: Deployment) -> None:
    turn = default.environment("TurnsTurnFunction")
    assert (turn["SYSTEM_PROMPT"], turn["MAX_OUTPUT_TOKENS"], turn["HISTORY_TOKENS"]) == ("", "", "100000")
    assert (turn["MODEL_FIELDS"], turn["GUARDRAIL"], turn["CACHE_POINTS"]) == ("", "", "")


def test_the_api_ends_before_the_gateway_gives_up(functions: dict[str, Any]) -> None:
    assert functions["ApiFunction"]["Timeout"] == 29


def test_a_failed_turn_is_asked_again_twice_and_then_queued(default: Deployment) -> None:
    assert default.app.properties("AWS::Lambda::EventInvokeConfig")["TurnsTurnFunctionEventInvokeConfig"] == {
        "FunctionName": "TurnsTurnFunction",
        "Qualifier": "$LATEST",
        "MaximumEventAgeInSeconds": 15 * 60,
        "MaximumRetryAttempts": 2,
        "DestinationConfig": {"OnFailure": {"Destination": "TurnsFailures.Arn"}},
    }


def test_an_event_of_appsync_is_never_kept(default: Deployment) -> None:
    """It holds the user's token: Lambda neither delivers it again nor hands it to the queue of failures."""
    assert default.app.the_only("AWS::Lambda::Alias") == {
        "FunctionName": "TurnsTurnFunction",
        "FunctionVersion": "$LATEST",
        "Name": "appsync",
    }
    configurations = default.app.properties("AWS::Lambda::EventInvokeConfig").values()
    assert [each for each in configurations if each["Qualifier"] != "$LATEST"] == [
        {
            "FunctionName": "TurnsTurnFunction",
            "Qualifier": {"Fn::Select": [7, {"Fn::Split": [":", "TurnsAppSync"]}]},  # the name in the alias's ARN
            "MaximumEventAgeInSeconds": 60,
            "MaximumRetryAttempts": 0,
        }
    ]


def test_the_turn_function_reads_its_own_failures(default: Deployment) -> None:
    mapping = _mapping(default, "TurnsFailures.Arn")
    assert mapping["FunctionName"] == "TurnsTurnFunction"
    assert mapping["BatchSize"] == 1
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_cleanup_follows_deletions_clears_and_expiries_only(default: Deployment) -> None:
    mapping = _mapping(default, "Conversations.StreamArn")
    assert mapping["FunctionName"] == "CleanupFunction"
    patterns = [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]
    assert patterns == [
        {"dynamodb": {"NewImage": {"deletedAt": {"S": [{"exists": True}]}}}},
        {"dynamodb": {"NewImage": {"clearedAt": {"S": [{"exists": True}]}}}},
        {"eventName": ["REMOVE"]},
    ]


def test_a_bad_stream_record_does_not_block_its_shard(default: Deployment) -> None:
    mapping = _mapping(default, "Conversations.StreamArn")
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["MaximumRetryAttempts"] == 10
    assert mapping["MaximumRecordAgeInSeconds"] == 6 * 60 * 60
    assert mapping["DestinationConfig"] == {"OnFailure": {"Destination": "CleanupLostRecords.Arn"}}


def test_cleanup_works_on_its_queue(default: Deployment) -> None:
    mapping = _mapping(default, "CleanupQueue.Arn")
    assert mapping["FunctionName"] == "CleanupFunction"
    assert mapping["BatchSize"] == 1
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_cleanup_may_send_itself_more_messages_than_lambda_takes_for_a_loop(functions: dict[str, Any]) -> None:
    allowed = {name for name, function in functions.items() if function.get("RecursiveLoop") == "Allow"}
    assert allowed == {"CleanupFunction"}


def test_a_message_is_hidden_for_longer_than_its_function_runs(
    functions: dict[str, Any], queues: dict[str, Any]
) -> None:
    lease = 60
    assert queues["TurnsFailures"]["VisibilityTimeout"] == functions["TurnsTurnFunction"]["Timeout"] + lease
    assert queues["CleanupQueue"]["VisibilityTimeout"] == 6 * functions["CleanupFunction"]["Timeout"]


def test_work_that_fails_for_good_is_kept_for_two_weeks(queues: dict[str, Any]) -> None:
    behind = {
        name: (queue["RedrivePolicy"]["deadLetterTargetArn"], queue["RedrivePolicy"]["maxReceiveCount"])
        for name, queue in queues.items()
        if "RedrivePolicy" in queue
    }
    assert behind == {
        "TurnsFailures": ("TurnsDeadLetters.Arn", 5),
        "CleanupQueue": ("CleanupDeadLetters.Arn", 10),
    }
    assert {queue["MessageRetentionPeriod"] for queue in queues.values()} == {14 * 24 * 60 * 60}


def test_queues_are_encrypted_and_refuse_plain_http(default: Deployment, queues: dict[str, Any]) -> None:
    assert {queue["SqsManagedSseEnabled"] for queue in queues.values()} == {True}
    policies = default.app.properties("AWS::SQS::QueuePolicy").values()
    assert sorted(policy["Queues"][0] for policy in policies) == sorted(queues)
    for policy in policies:
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Effect"] == "Deny"
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize(("options", "days"), [({}, 30), ({"stage": "prod"}, 365), ({"logRetentionDays": "3"}, 3)])
def test_logs_end(synthesise: Synthesise, options: dict[str, str], days: int) -> None:
    groups = synthesise(**options).app.resources("AWS::Logs::LogGroup")
    assert set(groups) == {"ApiLogs", "TurnsTurnLogs", "CleanupLogs", "HttpAccessLog"}
    for group in groups.values():
        assert group["Properties"] == {"RetentionInDays": days}
        assert group["DeletionPolicy"] == ("Retain" if options.get("stage") == "prod" else "Delete")


def _mapping(deployment: Deployment, source: str) -> Any:
    mappings = deployment.app.properties("AWS::Lambda::EventSourceMapping").values()
    (mapping,) = (each for each in mappings if each["EventSourceArn"] == source)
    return mapping


def test_on_request_the_gateway_calls_the_api_as_it_starts_from_a_snapshot(synthesise: Synthesise) -> None:
    snapped = synthesise(snapStart="true").app
    functions = snapped.properties("AWS::Lambda::Function")
    started = {name: function["SnapStart"] for name, function in functions.items() if "SnapStart" in function}
    assert started == {"ApiFunction": {"ApplyOn": "PublishedVersions"}}

    alias = snapped.properties("AWS::Lambda::Alias")["ApiLive"]
    assert alias["FunctionName"] == "ApiFunction"
    (version,) = snapped.properties("AWS::Lambda::Version")
    assert alias["FunctionVersion"] == f"{version}.Version"
    assert snapped.the_only("AWS::ApiGatewayV2::Integration")["IntegrationUri"] == "ApiLive"
    called = [each["FunctionName"] for each in snapped.properties("AWS::Lambda::Permission").values()]
    assert "ApiLive" in called
    assert "ApiFunction.Arn" not in called


def test_without_it_there_is_no_version_to_pay_for(default: Deployment) -> None:
    assert default.app.properties("AWS::Lambda::Version") == {}
    assert not any("SnapStart" in each for each in default.app.properties("AWS::Lambda::Function").values())
