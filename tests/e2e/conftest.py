"""Two more deployed stacks: one wants tokens, one stands in an account that enforces IAM."""

from collections.abc import Iterator

import pytest

from tests.bed.guarded import Guarded, guarded_stack
from tests.bed.stack import Stack, deployed


@pytest.fixture(scope="session")
def _deployed_secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with deployed(tmp_path_factory.mktemp("secured"), auth="jwt") as stack:
        yield stack


@pytest.fixture
def secured(_deployed_secured: Stack) -> Stack:
    """The deployed service with `auth=jwt`, with nothing scripted and nothing recorded yet."""
    _deployed_secured.reset()
    return _deployed_secured


@pytest.fixture(scope="session")
def _deployed_guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_stack(tmp_path_factory.mktemp("guarded")) as stack:
        yield stack


@pytest.fixture
def guarded(_deployed_guarded: Guarded) -> Guarded:
    """The deployed service in an account that enforces IAM, with nothing scripted yet."""
    _deployed_guarded.bedrock.reset()
    return _deployed_guarded
