"""The frameworks that the clients serve, in a folder of their own: they need Pydantic, and the functions must not come
to need that unnoticed.
"""

import os
from pathlib import Path

from tests.bed import installed

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests" / "clients" / "frameworks"
REQUIREMENTS = TESTS / "requirements.txt"


def environment(**variables: str) -> dict[str, str]:
    """Variables with which a Python of ours finds the frameworks and the clients."""
    folder = installed.installed(REQUIREMENTS, "frameworks")
    path = os.pathsep.join(map(str, (folder, ROOT / "clients" / "python" / "src", ROOT)))
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**ours, "PYTHONPATH": path, **variables}
