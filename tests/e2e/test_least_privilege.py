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
    keys = _user(guarded, "caller", {"Action": "execute-api:Invoke", "Resource": _service_routes(guarded)})
    stranger = _user(guarded, "stranger", {"Action": "s3:GetObject", "Resource": "*"})
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


def _service_routes(guarded: Guarded) -> str:
    """As the README says."""
    return f"arn:aws:execute-api:{environment.REGION}:{environment.ACCOUNT}:{guarded.outputs['ApiId']}/*/*/service/*"


def _user(guarded: Guarded, name: str, statement: Mapping[str, str]) -> tuple[str, str]:
    """The keys of a new user who may do this."""
    iam = guarded.client("iam")
    iam.create_user(UserName=name)
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]}
    iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


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
