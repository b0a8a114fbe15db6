"""The arrows between the parts: what may import what."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FUNCTIONS = ROOT / "functions"
PARTS = {
    # part: what of this repository it may import
    "functions/conversations": {"conversations"},
    "functions/api": {"api", "conversations"},
    "functions/turn": {"turn", "conversations"},
    "functions/cleanup": {"cleanup", "conversations"},
    "infra": {"infra"},
    "audit": {"audit", "conversations"},
    "clients": {"conversation_memory"},
}
OURS = {"audit", "api", "turn", "cleanup", "conversations", "infra", "clients", "tests", "conversation_memory"}
ADAPTERS = {
    *("aws_errors", "bedrock", "bulky", "clients", "dynamo", "dynamo_calls", "dynamo_cleaning", "dynamo_reads"),
    *("dynamo_requests", "lambda_tools", "objects"),
}
CLOCKS = {("time", "time"), ("time", "time_ns"), ("time", "sleep"), ("datetime", "now"), ("datetime", "utcnow")}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield str(node.module)


def _sources(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py"))


@pytest.mark.parametrize("part", PARTS)
def test_imports_point_inward(part: str) -> None:
    for path in _sources(part):
        ours = {name.split(".")[0] for name in _imports(path)} & OURS
        assert ours <= PARTS[part], f"{path.relative_to(ROOT)} imports {sorted(ours - PARTS[part])}"


def test_the_walk_sees_the_sources() -> None:
    assert len(_sources("functions/conversations")) > 10
    assert "conversations.model" in set(_imports(FUNCTIONS / "api" / "wire.py"))


def test_only_adapters_know_aws() -> None:
    for path in _sources("functions/conversations"):
        knows = {name.split(".")[0] for name in _imports(path)} & {"boto3", "botocore"}
        assert not knows or path.stem in ADAPTERS, f"{path.name} imports {knows}"


def test_use_cases_know_the_store_by_its_protocol() -> None:
    for path in _sources("functions/conversations"):
        if path.stem not in ADAPTERS:
            adapters = {f"conversations.{name}" for name in ADAPTERS} & set(_imports(path))
            assert not adapters, f"{path.name} imports {adapters}"


def test_the_environment_is_read_in_the_handlers_only_and_time_in_the_clock_only() -> None:
    for path in FUNCTIONS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = (node.value.id, node.attr)
                assert name not in {("os", "environ"), ("os", "getenv")} or path.name == "handler.py", path
                assert name not in CLOCKS or path.name == "clock.py", path


def test_functions_and_files_stay_short() -> None:
    """Nine of ten function bodies under 25 lines, and files under 300: short because each does one thing."""
    lengths = []
    for path in [
        path
        for folder in (FUNCTIONS, ROOT / "infra", ROOT / "audit", ROOT / "clients")
        for path in folder.rglob("*.py")
    ]:
        text = path.read_text()
        assert len(text.splitlines()) <= 300, f"{path.relative_to(ROOT)} is long"
        lengths += [_body_length(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert sorted(lengths)[len(lengths) * 9 // 10] <= 25


def _body_length(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
