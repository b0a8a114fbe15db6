"""A second deployed stack, which wants tokens."""

from collections.abc import Iterator

import pytest

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
