"""The rules of others: cdk-nag's AWS Solutions pack, and cfn-lint."""

from collections.abc import Callable
from pathlib import Path

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_s3 as s3
from cfnlint.api import ManualArgs, lint_file  # type: ignore[import-untyped]

from app import build

OPTIONS = [
    {},
    {"auth": "none", "corsOrigins": "*"},
    {"stage": "prod", "issuer": "https://login.example.com", "audience": "web", "alarmEmail": "me@example.com"},
    {"modelId": "global.anthropic.claude-x", "snapStart": "true"},
]

# W3005: CDK adds DependsOn where a reference would do. W6001: the app stack repeats names of the data stack among its
# outputs, so that people find all of them in one place.
ACCEPTED = ["W3005", "W6001"]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def assembly(request: pytest.FixtureRequest, new_app: Callable[..., cdk.App]) -> Path:
    """Passes only if every finding of cdk-nag is acknowledged beside its resource: synthesis fails otherwise."""
    return _checked_by_cdk_nag(new_app(**request.param))


def test_cdk_nag_is_really_asked(new_app: Callable[..., cdk.App]) -> None:
    app = new_app()
    s3.Bucket(cdk.Stack(app, "Another"), "Careless")
    with pytest.raises(RuntimeError, match="AwsSolutions-S10"):
        _checked_by_cdk_nag(app)


def test_cfn_lint_has_nothing_to_say(assembly: Path) -> None:
    templates = sorted(assembly.glob("*.template.json"))
    assert len(templates) == 2
    settings = ManualArgs(ignore_checks=ACCEPTED)
    assert [str(finding) for template in templates for finding in lint_file(template, settings)] == []


def _checked_by_cdk_nag(app: cdk.App) -> Path:
    cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app))
    build(app)
    return Path(app.synth().directory)
