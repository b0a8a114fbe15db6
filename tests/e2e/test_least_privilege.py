"""With IAM enforced, the functions do all of their work with what their roles hold, and nothing else."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from infra.local import environment
from infra.local.clients import client
from tests.bed.guarded import Guarded
from tests.bed.messages import said
from tests.bed.replies import text, throttled
from tests.bed.signing import SignedFor
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack

WITHIN_S = 60
ASSETS_BUCKET = f"cdk-hnb659fds-assets-{environment.ACCOUNT}-{environment.REGION}"


@pytest.fixture
def http(guarded: Guarded) -> Iterator[httpx.Client]:
    with guarded.http() as opened:
        yield opened


def test_the_main_job_needs_no_more_than_the_roles_hold(http: httpx.Client, guarded: Guarded) -> None:
    path = create(http, name="Long " * 100, sessionId="guarded")
    large = append(http, path, said("large " + os.urandom(50_000).hex()))
    http.patch(path, json={"metadata": {"a": 1}}).raise_for_status()
    first = ask(http, path, "first")
    answered = followed(http, path, first)
    guarded.bedrock.script(*[throttled()] * 3, text("in the second attempt"))
    second = ask(http, path, "second")
    retried = followed(http, path, second)

    assert answered["message"]["content"] == said("You said: first")
    assert (retried["turn"]["attempt"], retried["message"]["content"]) == (2, said("in the second attempt"))
    assert http.get(f"{path}/messages/{large['id']}").json() == large
    assert len(messages(http, path)) == 5
    assert http.get(f"{path}/history").json()["messages"][-1]["content"] == said("second")
    for query in ({}, {"owner": "*"}, {"sessionId": "guarded"}):
        listed = http.get("/conversations", params=query).json()["conversations"]
        assert [c["messageCount"] for c in listed if path.endswith(c["id"])] == [5]
    assert http.delete(f"{path}/messages").status_code == 204
    assert messages(http, path) == []


def test_what_failed_for_good_passes_the_queue_and_is_marked(http: httpx.Client, guarded: Guarded) -> None:
    path = create(http)
    guarded.bedrock.script(*[throttled()] * 9)
    failed = followed(http, path, ask(http, path, "q"))["turn"]

    assert (failed["status"], failed["error"]["code"]) == ("failed", "GivenUp")
    assert http.delete(f"{path}/turns/{failed['userMessageId']}").status_code == 409
    http.post(f"{path}/turns/{failed['userMessageId']}", json={}).raise_for_status()
    assert followed(http, path, failed["userMessageId"])["turn"]["status"] == "complete"


def test_what_is_deleted_is_cleaned(http: httpx.Client, guarded: Guarded) -> None:
    path = create(http, name="Long " * 100, sessionId=os.urandom(8).hex())
    append(http, path, said("large " + os.urandom(50_000).hex()))
    followed(http, path, ask(http, path, "q"))
    conversation_id = path.rpartition("/")[2]

    deleted = http.post("/conversations/delete", json={"ids": [conversation_id]}, headers={"Idempotency-Key": "k"})
    until = time.monotonic() + WITHIN_S
    while len(left := _left_of(guarded, conversation_id)) > 1 and time.monotonic() < until:
        time.sleep(0.5)

    assert deleted.json()["deleted"] == [conversation_id]
    assert left == [conversation_id]  # its tombstone


def _left_of(guarded: Guarded, conversation_id: str) -> list[str]:
    found = []
    for table in ("ConversationsTable", "MessagesTable"):
        for page in guarded.client("dynamodb").get_paginator("scan").paginate(TableName=guarded.outputs[table]):
            found += [item["id"]["S"] for item in page["Items"] if item["id"]["S"].startswith(conversation_id)]
    listed = guarded.client("s3").list_objects_v2(Bucket=guarded.outputs["BodiesBucket"], Prefix=conversation_id)
    return found + [entry["Key"] for entry in listed.get("Contents", ())]


def test_a_service_signs_with_the_rights_of_its_role(guarded: Guarded) -> None:
    keys = guarded.user("caller", {"Action": "execute-api:Invoke", "Resource": guarded.service_routes})
    stranger = guarded.user("stranger", {"Action": "s3:GetObject", "Resource": "*"})
    owner = {"x-owner": "ada"}

    with guarded.http(auth=SignedFor(*keys), headers=owner) as service:
        created = service.post("/service/conversations", json={"name": "by a service"})
        listed = service.get("/service/conversations", params={"limit": 7})
    with guarded.http(auth=SignedFor(keys[0], "not the key"), headers=owner) as forger:
        forged = forger.get("/service/conversations")
    with guarded.http(auth=SignedFor(*stranger), headers=owner) as other:
        refused = other.get("/service/conversations")

    assert (created.status_code, created.json()["owner"]) == (201, "ada")
    assert [conversation["id"] for conversation in listed.json()["conversations"]] == [created.json()["id"]]
    assert (forged.status_code, refused.status_code) == (403, 403)


# Denied


PROBE = """
import boto3
from botocore.exceptions import ClientError

def lambda_handler(calls, context):
    outcomes = []
    for service, operation, arguments in calls:
        try:
            getattr(boto3.client(service), operation)(**arguments)
            outcomes.append("done")
        except ClientError as error:
            outcomes.append(error.response["Error"]["Code"])
    return outcomes
"""


def _as_function(guarded: Guarded, function: str, calls: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """What comes of calls that are made with the role of a function."""
    configuration = guarded.client("lambda").get_function_configuration(FunctionName=guarded.outputs[function])
    outcomes: list[str] = guarded.call_function(f"probe-{function}", configuration["Role"], PROBE, calls)
    return outcomes


def test_without_encryption_the_queues_are_closed(guarded: Guarded) -> None:
    queues = client("sqs", guarded.unencrypted_url)

    for name in ("CleanupQueueUrl", "TurnFailuresQueueUrl"):
        with pytest.raises(queues.exceptions.ClientError, match="Denied"):
            queues.receive_message(QueueUrl=guarded.outputs[name])


FUNCTIONS = ["ApiFunctionName", "TurnFunctionName", "CleanupFunctionName"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_not_granted_is_denied(guarded: Guarded, function: str) -> None:
    outputs = guarded.outputs
    key = {"id": {"S": "nothing"}}
    tables = [outputs["MessagesTable"], outputs["ConversationsTable"]]
    granted: list[tuple[str, str, dict[str, Any]]] = [
        ("dynamodb", "get_item", {"TableName": table, "Key": key}) for table in tables
    ]
    denied: list[tuple[str, str, dict[str, Any]]] = [
        call
        for table in tables
        for call in (
            ("dynamodb", "scan", {"TableName": table}),
            ("dynamodb", "delete_table", {"TableName": table}),
            ("dynamodb", "delete_item", {"TableName": tables[0], "Key": key}),
            (
                "dynamodb",
                "query",
                {
                    "TableName": table,
                    "KeyConditionExpression": "id = :id",
                    "ExpressionAttributeValues": {":id": {"S": "nothing"}},
                },
            ),
        )
    ]
    denied += [
        ("s3", "list_buckets", {}),
        ("s3", "get_object", {"Bucket": ASSETS_BUCKET, "Key": "nothing"}),
        ("s3", "delete_bucket", {"Bucket": outputs["BodiesBucket"]}),
        ("lambda", "list_functions", {}),
        ("lambda", "invoke", {"FunctionName": outputs["CleanupFunctionName"]}),
        ("cognito-idp", "list_users", {"UserPoolId": outputs["UserPoolId"]}),
        ("iam", "list_roles", {}),
    ]
    if function != "CleanupFunctionName":
        denied.append(("sqs", "receive_message", {"QueueUrl": outputs["CleanupQueueUrl"]}))
    if function != "TurnFunctionName":
        denied.append(("sqs", "receive_message", {"QueueUrl": outputs["TurnFailuresQueueUrl"]}))

    outcomes = _as_function(guarded, function, [*granted, *denied])

    found = dict(zip([f"{call[1]} {number}" for number, call in enumerate([*granted, *denied])], outcomes, strict=True))
    assert outcomes[: len(granted)] == ["done"] * len(granted), found
    done = [name for name, outcome in found.items() if "Denied" not in outcome][len(granted) :]
    assert done == []


# Each action is needed


NOTHING = {"id": {"S": "nothing"}}
NEVER = {"ConditionExpression": "attribute_exists(nothing)"}
INDEX_KEYS = {
    "conversationId-createdAt": "conversationId",
    "traceConversationId-traceKey": "traceConversationId",
    "owner-updatedAt": "owner",
    "activeMonth-activeHour": "activeMonth",
}
NOT_CHECKED = {
    # The emulator checks the name of the operation, and AWS that of InvokeModelWithResponseStream.
    "bedrock:InvokeModelWithResponseStream",
    # The emulator has no X-Ray.
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
    # The emulator knows no resources of these: it would want them granted on all.
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
}


def _call_of(action: str, resource: str) -> tuple[str, str, dict[str, Any]]:
    """A call that needs the action on the resource, and changes nothing."""
    service, _, operation = action.partition(":")
    if service == "lambda":
        return "lambda", "invoke", {"FunctionName": resource, "InvocationType": "Event", "Payload": "{}"}
    make = {"dynamodb": _of_dynamodb, "s3": _of_s3, "sqs": _of_sqs}
    return make[service](operation, resource)


def _of_dynamodb(operation: str, arn: str) -> tuple[str, str, dict[str, Any]]:
    table, _, rest = arn.partition(":table/")[2].partition("/")
    index = rest.removeprefix("index/")
    query = {
        "IndexName": index,
        "KeyConditionExpression": f"{INDEX_KEYS.get(index)} = :x",
        "ExpressionAttributeValues": {":x": {"S": "nothing"}},
    }
    calls: dict[str, tuple[str, str, dict[str, Any]]] = {
        "GetItem": ("dynamodb", "get_item", {"TableName": table, "Key": NOTHING}),
        "BatchGetItem": ("dynamodb", "batch_get_item", {"RequestItems": {table: {"Keys": [NOTHING]}}}),
        "PutItem": ("dynamodb", "put_item", {"TableName": table, "Item": NOTHING, **NEVER}),
        "UpdateItem": ("dynamodb", "update_item", {"TableName": table, "Key": NOTHING, **NEVER}),
        "DeleteItem": ("dynamodb", "delete_item", {"TableName": table, "Key": NOTHING}),
        "BatchWriteItem": (
            "dynamodb",
            "batch_write_item",
            {"RequestItems": {table: [{"DeleteRequest": {"Key": NOTHING}}]}},
        ),
        "Query": ("dynamodb", "query", {"TableName": table, **query}),
    }
    return calls[operation]


def _of_s3(operation: str, arn: str) -> tuple[str, str, dict[str, Any]]:
    bucket = arn.rpartition(":")[2].removesuffix("/*")
    names = {"GetObject": "get_object", "PutObject": "put_object", "DeleteObject": "delete_object"}
    if operation == "ListBucket":
        return "s3", "list_objects_v2", {"Bucket": bucket, "Prefix": "nothing"}
    return "s3", names[operation], {"Bucket": bucket, "Key": "nothing"}


def _of_sqs(operation: str, arn: str) -> tuple[str, str, dict[str, Any]]:
    url = f"http://127.0.0.1/{environment.ACCOUNT}/{arn.rpartition(':')[2]}"
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "ReceiveMessage": ("receive_message", {"VisibilityTimeout": 0}),
        "DeleteMessage": ("delete_message", {"ReceiptHandle": "nothing"}),
        "GetQueueAttributes": ("get_queue_attributes", {"AttributeNames": ["QueueArn"]}),
        "SendMessage": ("send_message", {"MessageBody": "\0"}),  # which no queue takes
    }
    name, arguments = calls[operation]
    return "sqs", name, {"QueueUrl": url, **arguments}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_without_any_one_action_its_call_is_denied(guarded: Guarded, function: str) -> None:
    """So no action is granted twice, and none is spelt in a way that grants nothing."""
    configuration = guarded.client("lambda").get_function_configuration(FunctionName=guarded.outputs[function])
    role, probe = configuration["Role"].rpartition("/")[2], f"each-{function}"
    guarded.make_function(probe, configuration["Role"], PROBE)
    iam = guarded.client("iam")
    [policy] = iam.list_role_policies(RoleName=role)["PolicyNames"]
    whole = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    allowed = list(_allowed(whole))
    calls = [_call_of(action, resource) for action, resource in allowed if action not in NOT_CHECKED]
    tried = [pair for pair in allowed if pair[0] not in NOT_CHECKED]

    with_all = guarded.invoke(probe, calls)
    without = []
    try:
        for (action, resource), call in zip(tried, calls, strict=True):
            document = json.dumps(_without(whole, action, resource))
            iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=document)
            without += guarded.invoke(probe, [call])
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(whole))

    assert [pair for pair, outcome in zip(tried, with_all, strict=True) if "Denied" in outcome] == []
    assert [pair for pair, outcome in zip(tried, without, strict=True) if "Denied" not in outcome] == []
    assert len(tried) > 10


def _allowed(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every pair of action and resource."""
    for statement in document["Statement"]:
        for resource in _listed(statement["Resource"]):
            for action in _listed(statement["Action"]):
                yield action, resource


def _without(document: Mapping[str, Any], action: str, resource: str) -> Mapping[str, Any]:
    """A copy of a policy that grants each pair in a statement of its own, but for this one."""
    statements = [
        {"Effect": "Allow", "Action": allowed, "Resource": on}
        for allowed, on in _allowed(document)
        if (allowed, on) != (action, resource)
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value
