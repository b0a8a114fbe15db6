"""Synthesises the app in this process, without bundling, and each set of options only once."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from app import build
from tests.infra.template import Deployment, Template

ROOT = Path(__file__).parents[2]
FLAGS: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
NO_BUNDLING: dict[str, Any] = {"aws:cdk:bundling-stacks": []}

Synthesise = Callable[..., Deployment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here need the CDK, whose kernel alone takes seconds to start."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def new_app(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., cdk.App]:
    """An app as the command line would start it, with these options."""

    def new(**options: str) -> cdk.App:
        return cdk.App(context=FLAGS | NO_BUNDLING | options, outdir=str(tmp_path_factory.mktemp("cdk.out")))

    return new


@pytest.fixture(scope="session")
def synthesise(new_app: Callable[..., cdk.App]) -> Synthesise:
    @cache
    def run(**options: str) -> Deployment:
        app = new_app(**options)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
            patch.delenv("CDK_DEFAULT_REGION", raising=False)
            build(app)
        assembly = Path(app.synth().directory)
        data = Template(_read(assembly / "ConversationMemory-Data.template.json"))
        return Deployment(data, Template(_read(assembly / "ConversationMemory-App.template.json"), data.exported()))

    return run


@pytest.fixture(scope="session")
def default(synthesise: Synthesise) -> Deployment:
    """What ``cdk deploy --all`` deploys without any option."""
    return synthesise()


@pytest.fixture(scope="session")
def production(synthesise: Synthesise) -> Deployment:
    return synthesise(stage="prod")


def _read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text())
    return document
