"""The bundle: what is in it, when it is made again, and that it runs by itself."""

import ast
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import botocore.session
import pytest
from botocore import xform_name

from infra import bundling
from infra.botocore_data import OPERATIONS, SERVICES
from infra.bundling import FUNCTIONS, PACKAGES, Bundler, BundlingError, find_compiler, refuse_native
from tests.infra.template import Deployment

HANDLERS = {"api": "ApiFunction", "turn": "TurnsTurnFunction", "cleanup": "CleanupFunction"}

# What Lambda itself sets, as far as an SDK needs it.
LAMBDA = {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "LAMBDA_TASK_ROOT": "/var/task"}
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    """A copy of the functions' folder, to change."""
    copy = tmp_path / "functions"
    shutil.copytree(FUNCTIONS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real thing, once; compiled for this interpreter, since it is to run here."""
    output = tmp_path_factory.mktemp("bundle")
    Bundler(FUNCTIONS, compiler=Path(sys.executable)).bundle(output)
    return output


def test_the_hash_does_not_depend_on_where_the_repository_lies(functions: Path) -> None:
    assert _fingerprint(functions) == _fingerprint(FUNCTIONS)


def test_what_is_not_shipped_does_not_change_the_hash(functions: Path) -> None:
    before = _fingerprint(functions)
    (functions / "api" / "__pycache__").mkdir()
    (functions / "api" / "__pycache__" / "handler.cpython-313.pyc").write_bytes(b"x")
    (functions / "notes.txt").write_text("x")
    (functions / "experiments").mkdir()
    (functions / "experiments" / "try.py").write_text("x = 1")
    assert _fingerprint(functions) == before


@pytest.mark.parametrize("changed", ["requirements.txt", "api/__init__.py", "conversations/new.py", "turn/data.json"])
def test_what_is_shipped_changes_the_hash(functions: Path, changed: str) -> None:
    before = _fingerprint(functions)
    with (functions / changed).open("a") as file:
        file.write("# changed\n")
    assert _fingerprint(functions) != before


def test_a_file_that_moves_changes_the_hash(functions: Path) -> None:
    (functions / "api" / "a.py").write_text("x = 1")
    before = _fingerprint(functions)
    (functions / "api" / "a.py").rename(functions / "api" / "b.py")
    assert _fingerprint(functions) != before


def test_a_changed_bundler_changes_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _fingerprint(FUNCTIONS)
    other = tmp_path / "bundling.py"
    other.write_text(Path(bundling.__file__).read_text() + "# changed\n")
    monkeypatch.setattr(bundling, "__file__", str(other))
    assert _fingerprint(FUNCTIONS) != before


def test_bytecode_changes_the_hash() -> None:
    assert Bundler(FUNCTIONS, compiler=Path(sys.executable)).fingerprint() != _fingerprint(FUNCTIONS)


@pytest.mark.skipif(sys.version_info[:2] == (3, 13), reason="then this interpreter is the one that is found")
@pytest.mark.parametrize(("says", "found"), [("echo 3.13", True), ("echo not active >&2; exit 127", False)])
def test_a_compiler_is_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, found: bool) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text(f"#!/bin/sh\n{says}\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_compiler() == (shim if found else None)


def test_native_code_is_refused_by_its_package(tmp_path: Path) -> None:
    (tmp_path / "pure").mkdir()
    (tmp_path / "pure" / "module.py").touch()
    refuse_native(tmp_path)
    (tmp_path / "orjson").mkdir()
    (tmp_path / "orjson" / "orjson.cpython-313-aarch64-linux-gnu.so").touch()
    with pytest.raises(BundlingError, match=r"not pure Python: orjson \(for example orjson/orjson.cpython-313"):
        refuse_native(tmp_path)


def test_a_failing_installation_says_what_pip_said(functions: Path, tmp_path: Path) -> None:
    (functions / "requirements.txt").write_text("not a requirement")
    with pytest.raises(BundlingError, match="installing the runtime requirements failed") as failed:
        Bundler(functions, compiler=None).bundle(tmp_path / "output")
    assert "not a requirement" in str(failed.value)


def test_a_bundle_holds_the_functions_and_their_requirements_only(bundle: Path) -> None:
    libraries = {"aws_lambda_powertools", "botocore", "dateutil", "fastjsonschema", "jmespath", "six", "urllib3"}
    libraries.add("typing_extensions")
    top = {path.stem for path in bundle.iterdir() if not path.name.endswith((".dist-info", "__pycache__"))}
    assert top == {*PACKAGES, *libraries}


def test_a_bundle_is_small(bundle: Path) -> None:
    archive = shutil.make_archive(str(bundle.parent / "bundle"), "zip", bundle)
    assert Path(archive).stat().st_size < 5_600_000  # the budget is 6 MB


def test_bytecode_is_never_checked_against_the_time_of_a_file(bundle: Path) -> None:
    compiled = list(bundle.rglob("*.pyc"))
    sources = list(bundle.rglob("*.py"))
    assert len(compiled) == len(sources)
    hash_based_unchecked = (0b01).to_bytes(4, "little")  # PEP 552
    assert {path.read_bytes()[4:8] for path in compiled} == {hash_based_unchecked}


def test_clients_made_from_a_bundle_reach_the_same_endpoints_as_the_whole_botocore(bundle: Path) -> None:
    places = [(service, region) for service in sorted(SERVICES) for region in ("us-east-1", "eu-west-1", "cn-north-1")]
    script = """
        import botocore.session, json, sys
        session = botocore.session.get_session()
        clients = [session.create_client(*place) for place in json.loads(sys.argv[1])]
        print(json.dumps([client.meta.endpoint_url for client in clients]))
    """
    reached = json.loads(_run(bundle, script, json.dumps(places), environment=CREDENTIALS))
    whole = botocore.session.Session()
    clients = [
        whole.create_client(service, region, aws_access_key_id="", aws_secret_access_key="")
        for service, region in places
    ]
    assert reached == [client.meta.endpoint_url for client in clients]


def test_the_models_in_a_bundle_hold_the_operations_that_are_called_and_no_others(bundle: Path) -> None:
    for service, operations in OPERATIONS.items():
        (model,) = (bundle / "botocore" / "data" / service).glob("*/service-2.json")
        assert json.loads(model.read_text())["operations"].keys() == operations
    kept = {xform_name(name) for operations in OPERATIONS.values() for name in operations}
    of_appsync = {"ask"}  # of our own client
    assert _called(*(FUNCTIONS / name for name in PACKAGES)) - of_appsync == kept - {"head_bucket"}


def _called(*folders: Path) -> set[str]:
    """The methods of SDK clients that the sources call; a client is what is called so there."""
    trees = [ast.parse(path.read_text()) for folder in folders for path in folder.rglob("*.py")]
    calls = [node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = [call for call in calls if isinstance(call, ast.Attribute)]
    return {method.attr for method in methods if ast.unparse(method.value).removesuffix("()").endswith("client")}


def test_clients_made_from_a_bundle_work(bundle: Path) -> None:
    """Requests are built, signed and sent to their endpoints, and answers and errors are parsed."""
    script = (Path(__file__).parent / "use_clients.py").read_text()
    assert _run(bundle, script, environment={**LAMBDA, **CREDENTIALS}) == "worked\n"


def test_powertools_work_from_a_bundle(bundle: Path) -> None:
    script = """
        from aws_lambda_powertools import Logger, Metrics
        from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
        Logger(service="s").info("logged")
    """
    assert json.loads(_run(bundle, script, environment=LAMBDA))["message"] == "logged"


@pytest.mark.parametrize("name", [name for name in HANDLERS if importlib.util.find_spec(f"{name}.handler")])
def test_handlers_start_with_the_environment_that_is_deployed(bundle: Path, default: Deployment, name: str) -> None:
    script = f"from {name}.handler import lambda_handler; print(callable(lambda_handler))"
    environment = {**LAMBDA, **CREDENTIALS, **default.environment(HANDLERS[name])}
    assert _run(bundle, script, environment=environment).endswith("True\n")


def _fingerprint(functions: Path) -> str:
    return Bundler(functions, compiler=None).fingerprint()


def _run(bundle: Path, script: str, *arguments: str, environment: dict[str, str]) -> str:
    """In a fresh interpreter that sees the standard library and the bundle, and nothing else."""
    lines = f"import sys; sys.path.insert(0, {str(bundle)!r})\n" + dedent(script)
    command = [sys.executable, "-I", "-S", "-c", lines, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout
