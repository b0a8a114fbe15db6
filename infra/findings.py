"""Findings of cdk-nag that stand, each acknowledged beside its resource with the reason. A test runs cdk-nag itself."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(construct: IConstruct, finding: str, *, because: str) -> None:
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=f"AwsSolutions-{finding}", reason=because))
