"""A model id decides what the turn function may invoke; a mistake here is an AccessDenied at the first message."""

import pytest

from infra.models import ModelAccess, model_access

PROFILE = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/"
ANYWHERE = "arn:aws:bedrock:*::foundation-model/"


@pytest.mark.parametrize(
    ("model_id", "access"),
    [
        ("amazon.nova-lite-v1:0", ModelAccess(("arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-lite-v1:0",))),
        ("zai.glm-4.7", ModelAccess(("arn:aws:bedrock:eu-west-1::foundation-model/zai.glm-4.7",))),
        (
            "us.amazon.nova-lite-v1:0",
            ModelAccess((f"{ANYWHERE}amazon.nova-lite-v1:0",), f"{PROFILE}us.amazon.nova-lite-v1:0"),
        ),
        *(
            (
                f"{geography}.anthropic.claude-x",
                ModelAccess((f"{ANYWHERE}anthropic.claude-x",), f"{PROFILE}{geography}.anthropic.claude-x"),
            )
            for geography in ("eu", "apac", "jp", "au", "ca", "us-gov")
        ),
        (
            "global.anthropic.claude-x",
            ModelAccess(
                (f"{ANYWHERE}anthropic.claude-x", "arn:aws:bedrock:::foundation-model/anthropic.claude-x"),
                f"{PROFILE}global.anthropic.claude-x",
            ),
        ),
        (
            "arn:aws:bedrock:us-east-1:999999999999:inference-profile/us.anthropic.claude-x",
            ModelAccess(
                (f"{ANYWHERE}anthropic.claude-x",),
                "arn:aws:bedrock:us-east-1:999999999999:inference-profile/us.anthropic.claude-x",
            ),
        ),
        (
            "arn:aws-us-gov:bedrock:us-gov-west-1:999999999999:inference-profile/us-gov.anthropic.claude-x",
            ModelAccess(
                ("arn:aws-us-gov:bedrock:*::foundation-model/anthropic.claude-x",),
                "arn:aws-us-gov:bedrock:us-gov-west-1:999999999999:inference-profile/us-gov.anthropic.claude-x",
            ),
        ),
        (
            "arn:aws:bedrock:us-east-1:999999999999:application-inference-profile/abc123",
            ModelAccess(
                (f"{ANYWHERE}*",), "arn:aws:bedrock:us-east-1:999999999999:application-inference-profile/abc123"
            ),
        ),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
            ModelAccess(("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",)),
        ),
        (
            "arn:aws:bedrock:us-east-1:999999999999:provisioned-model/abc123",
            ModelAccess(("arn:aws:bedrock:us-east-1:999999999999:provisioned-model/abc123",)),
        ),
    ],
)
def test_what_a_model_id_stands_for(model_id: str, access: ModelAccess) -> None:
    assert model_access(model_id, partition="aws", region="eu-west-1", account="123456789012") == access
