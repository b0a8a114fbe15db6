"""The bucket of bodies that are too large for an item."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.findings import acknowledge
from infra.options import Options

# As far back as DynamoDB's point-in-time recovery goes.
RECOVERY: Final = cdk.Duration.days(35)


class Bodies(s3.Bucket):
    """Private, encrypted, reachable over TLS only.

    In production an object that was deleted can be brought back for as long as the tables can, since a restored table
    points to it. Elsewhere the bucket goes with its stack; CloudFormation refuses to delete one that still holds
    objects and says so, which is better than a forgotten bucket of people's messages: empty it and destroy again.
    (CDK can empty it through a custom resource; that is one more function, with the right to delete everything.)
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(
            scope,
            construct_id,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=options.production,
            lifecycle_rules=[_forget_deleted_objects()] if options.production else [],
            removal_policy=cdk.RemovalPolicy.RETAIN if options.production else cdk.RemovalPolicy.DESTROY,
        )
        trail = "Only the functions use it; who needs a trail of that turns on CloudTrail's data events for it"
        acknowledge(self, "S1", because=trail)


def _forget_deleted_objects() -> s3.LifecycleRule:
    """First the versions, then the markers that stand in their place and would stay for ever."""
    return s3.LifecycleRule(noncurrent_version_expiration=RECOVERY, expired_object_delete_marker=True)
