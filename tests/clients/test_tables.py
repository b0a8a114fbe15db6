"""Tables of LangChain's own classes are moved into the real API: tests that need LangChain, so they run in the
environment of the frameworks.
"""

import os
import subprocess
import sys

import pytest

from infra.local.environment import aws_settings
from tests.bed import frameworks

TESTS = frameworks.ROOT / "tests"


@pytest.mark.slow
def test_tables_of_langchain() -> None:
    """One process runs all of ``tests/clients/tables``; what fails there is shown here."""
    variables = frameworks.environment(**aws_settings())
    variables["PYTHONPATH"] += f"{os.pathsep}{frameworks.ROOT / 'functions'}"
    options = ["-c", str(frameworks.TESTS / "pytest.ini"), "-p", "no:cacheprovider", f"--confcutdir={TESTS}"]

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--durations=5", str(TESTS / "clients" / "tables")],
        cwd=frameworks.ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    print(ran.stdout[-20_000:], ran.stderr[-5_000:])
    assert ran.returncode == 0
