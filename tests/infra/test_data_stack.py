"""What is stored, and what happens to it when its stack goes."""

from typing import Any

import pytest

from conversations import schema
from tests.infra.template import Deployment

TABLE = "AWS::DynamoDB::GlobalTable"
STATEFUL = (TABLE, "AWS::S3::Bucket", "AWS::Cognito::UserPool")


@pytest.fixture(scope="module")
def tables(default: Deployment) -> dict[str, Any]:
    return default.data.properties(TABLE)


def test_tables_have_the_keys_and_indexes_that_the_functions_use(tables: dict[str, Any]) -> None:
    assert {name: _shape(table) for name, table in tables.items()} == {
        "Messages": {
            "": [schema.ID],
            schema.MESSAGES_INDEX: [schema.CONVERSATION_ID, schema.CREATED_AT, "ALL"],
            schema.TRACES_INDEX: [schema.TRACE_CONVERSATION_ID, schema.TRACE_KEY, "ALL"],
        },
        "Conversations": {
            "": [schema.ID],
            schema.OWNER_INDEX: [schema.OWNER, schema.UPDATED_AT, "KEYS_ONLY"],
            schema.ACTIVITY_INDEX: [schema.ACTIVE_MONTH, schema.ACTIVE_HOUR, "KEYS_ONLY"],
        },
    }


def test_every_key_is_text(tables: dict[str, Any]) -> None:
    for table in tables.values():
        assert {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]} == {"S"}


def test_items_expire_by_the_attribute_that_the_functions_write(tables: dict[str, Any]) -> None:
    for table in tables.values():
        assert table["TimeToLiveSpecification"] == {"AttributeName": schema.EXPIRES_AT, "Enabled": True}


def test_only_conversations_are_streamed(tables: dict[str, Any]) -> None:
    assert tables["Conversations"]["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert "StreamSpecification" not in tables["Messages"]


def test_tables_are_billed_by_request_and_can_be_restored(default: Deployment, production: Deployment) -> None:
    for deployment in (default, production):
        for table in deployment.data.properties(TABLE).values():
            assert table["BillingMode"] == "PAY_PER_REQUEST"
            (replica,) = table["Replicas"]
            assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_production_is_protected_from_deletion(default: Deployment, production: Deployment) -> None:
    for deployment, protected in ((default, False), (production, True)):
        for table in deployment.data.properties(TABLE).values():
            assert table["Replicas"][0]["DeletionProtectionEnabled"] is protected
        pool = deployment.data.the_only("AWS::Cognito::UserPool")
        assert (pool.get("DeletionProtection") == "ACTIVE") is protected


def test_data_outlives_its_stack_in_production_only(default: Deployment, production: Deployment) -> None:
    for deployment, policy in ((default, "Delete"), (production, "Retain")):
        for resource_type in STATEFUL:
            for resource in deployment.data.resources(resource_type).values():
                assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == policy


def test_bodies_are_private(default: Deployment) -> None:
    bucket = default.data.the_only("AWS::S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    policy = default.data.the_only("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    denied = [statement["Condition"] for statement in policy if statement["Effect"] == "Deny"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied
    assert all(statement["Effect"] == "Deny" for statement in policy)


def test_deleted_bodies_can_be_restored_as_long_as_tables(default: Deployment, production: Deployment) -> None:
    assert "VersioningConfiguration" not in default.data.the_only("AWS::S3::Bucket")
    bucket = production.data.the_only("AWS::S3::Bucket")
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 35}
    assert rule["ExpiredObjectDeleteMarker"] is True


def test_nobody_signs_up_by_themselves(default: Deployment) -> None:
    pool = default.data.the_only("AWS::Cognito::UserPool")
    assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
    assert pool["UsernameConfiguration"] == {"CaseSensitive": False}
    assert default.data.the_only("AWS::Cognito::UserPoolGroup")["GroupName"] == "admin"


def test_command_lines_and_browsers_can_sign_in(default: Deployment) -> None:
    client = default.data.the_only("AWS::Cognito::UserPoolClient")
    assert set(client["ExplicitAuthFlows"]) == {
        "ALLOW_REFRESH_TOKEN_AUTH",
        "ALLOW_USER_PASSWORD_AUTH",
        "ALLOW_USER_SRP_AUTH",
    }
    assert client["GenerateSecret"] is False
    assert "AllowedOAuthFlows" not in client


def _shape(table: dict[str, Any]) -> dict[str, list[str]]:
    shape = {"": _keys(table)}
    for index in table["GlobalSecondaryIndexes"]:
        shape[index["IndexName"]] = [*_keys(index), index["Projection"]["ProjectionType"]]
    return shape


def _keys(keyed: dict[str, Any]) -> list[str]:
    return [key["AttributeName"] for key in keyed["KeySchema"]]
