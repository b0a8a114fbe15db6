"""What is shipped: the wheel, in an environment that has nothing but what it asks for."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.bed import frameworks

CLIENTS = frameworks.ROOT / "clients" / "python"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
MOST_CPU_S = 0.15


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(CLIENTS)]
    subprocess.run([*PIP, *build], check=True, timeout=120)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel and what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    clean = folder / "bin" / "python"
    subprocess.run([*PIP, "--python", str(clean), "install", str(wheel)], check=True, timeout=120)
    return clean


def _run(python: Path, program: str, **variables: str) -> str:
    done = subprocess.run(
        [str(python), "-W", "error", "-c", program],
        env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_holds_the_sources_with_their_types(wheel: Path) -> None:
    sources = CLIENTS / "src"
    expected = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.suffix in (".py", ".typed")}

    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert held == expected
    assert "conversation_memory/py.typed" in held


@pytest.mark.slow
def test_it_is_imported_quickly_and_a_client_made(python: Path) -> None:
    measured = _run(
        python,
        "import time; began = time.process_time(); import conversation_memory; "
        "imported = time.process_time(); conversation_memory.Client('http://127.0.0.1:9').close(); "
        "print(imported - began, conversation_memory.__version__)",
    )

    cpu_s, version = measured.split()
    assert float(cpu_s) < MOST_CPU_S
    assert f'version = "{version}"' in (CLIENTS / "pyproject.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "extra"),
    [
        *((name, name) for name in ("sigv4", "langchain", "cli")),
        *((f"moving.{name}", "import") for name in ("langchain_tables", "langchain_rows", "signing")),
    ],
)
def test_a_missing_extra_names_the_command_that_installs_it(python: Path, module: str, extra: str) -> None:
    said = _run(
        python,
        "import conversation_memory as memory\n"
        f"try:\n import conversation_memory.{module}\n"
        "except memory.MissingExtraError as error:\n print(error)",
    )

    assert f"pip install 'conversation-memory[{extra}]'" in said


@pytest.mark.slow
def test_the_command_says_in_one_line_what_it_lacks(python: Path) -> None:
    program = python.parent / "conversation-memory"
    done = subprocess.run([str(program), "list"], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: This needs click, which is not installed: pip install 'conversation-memory[cli]'\n"
