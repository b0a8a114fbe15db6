"""The example for LangChain JS, in Node.js with npm's own packages, on the deployed service."""

import re
from pathlib import Path

import pytest

from tests.bed import node_packages
from tests.bed.stack import Stack
from tests.bed.troubling import Troubler, cut, excused

pytestmark = pytest.mark.stack

EXAMPLE = node_packages.ROOT / "examples" / "langchain-js"
CASES_FILE = node_packages.TESTS / "history_cases.js"
CASES = re.findall(r'^  async "(.+)"\(\)', CASES_FILE.read_text(), re.MULTILINE)
README = (EXAMPLE / "README.md").read_text()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node_packages.workplace(tmp_path_factory.mktemp("langchain-js"), CASES_FILE, *EXAMPLE.glob("*.js"))


@pytest.mark.parametrize("case", CASES)
def test_history(stack: Stack, workplace: Path, case: str) -> None:
    node_packages.run(workplace / CASES_FILE.name, case, variables={"MEMORY_URL": stack.api_url})


def test_trouble_on_the_way(stack: Stack, workplace: Path) -> None:
    with Troubler() as proxy:
        proxy.upstream = stack.api_url
        proxy.troubles.extend([cut, excused(503, retry_after_s=0), excused(429, retry_after_s=0), cut])
        node_packages.run(
            workplace / CASES_FILE.name,
            "trouble on the way does nothing twice",
            variables={"MEMORY_URL": proxy.url},
        )
        statuses = proxy.statuses

    assert len(statuses) == 4 + 4
    assert set(statuses) <= {200, 201}


def test_what_the_readme_shows_runs_as_it_stands(stack: Stack, workplace: Path) -> None:
    [block] = re.findall(r"^```js\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert "http://127.0.0.1:8080" in block
    program = workplace / "readme.js"
    program.write_text(block.replace("http://127.0.0.1:8080", stack.api_url))

    printed = node_packages.run(program, variables={})

    assert printed.splitlines() == ["I was sent 3. 4 are stored."]
