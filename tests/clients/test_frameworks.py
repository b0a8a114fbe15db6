"""The clients inside LangChain, LangGraph and the OpenAI Agents SDK: tests in an environment of their own, on the
deployed service.
"""

import subprocess
import sys

import pytest

from infra.local.environment import aws_settings
from tests.bed import frameworks
from tests.bed.stack import Stack

pytestmark = pytest.mark.stack


def test_in_the_frameworks(stack: Stack) -> None:
    """One process runs all of ``tests/clients/frameworks``; what fails there is shown here."""
    variables = {
        **aws_settings(),
        "MEMORY_URL": stack.api_url,
        "AWS_ENDPOINT_URL": stack.endpoint_url,
        "CONVERSATIONS_TABLE": stack.conversations_table,
        "BODIES_BUCKET": stack.bodies_bucket,
    }
    pytest_there = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(frameworks.TESTS / "pytest.ini"),
        "-p",
        "no:cacheprovider",
    ]

    ran = subprocess.run(
        [*pytest_there, f"--confcutdir={frameworks.TESTS}", "--durations=5", str(frameworks.TESTS)],
        env=frameworks.environment(**variables),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    print(ran.stdout[-20_000:], ran.stderr[-5_000:])
    assert ran.returncode == 0
