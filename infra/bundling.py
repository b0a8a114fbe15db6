"""The one bundle that all functions run, made without Docker. The only module that knows pip and asset hashes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import aws_cdk as cdk
import jsii
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import botocore_data
from infra.tools import Tool, file_of

FUNCTIONS: Final = Path(__file__).parent.parent / "functions"
PACKAGES: Final = ("api", "turn", "cleanup", "conversations")
REQUIREMENTS: Final = "requirements.txt"
TOOLS_FILE: Final = "tools.json"  # where the functions look for what is registered

RUNTIME: Final = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE: Final = lambda_.Architecture.ARM_64
PYTHON: Final = RUNTIME.name.removeprefix("python")
PLATFORM: Final = "manylinux2014_aarch64"  # of the architecture above; the runtime's glibc is newer
NATIVE: Final = (".so", ".pyd", ".dylib")


class BundlingError(RuntimeError):
    """The bundle cannot be made as it must be; the message names what is in the way."""


def bundled_code(scope: Construct, *, tools: Sequence[Tool], played_locally: bool) -> lambda_.Code:
    """The code of every function: CDK bundles it once and all share the asset.

    ``played_locally`` is for the emulator, which runs functions on the interpreter of this very environment whatever
    their runtime says: the bundle is the same, but for the bytecode beside the sources.

    The hash is ours (``CUSTOM``): with ``OUTPUT`` pip would run at every synth, and ``SOURCE`` does not see a change of
    the bundler. CDK looks for the asset of that hash in ``cdk.out`` first, so an unchanged input costs nothing.
    """
    bundler = Bundler(FUNCTIONS, compiler=Path(sys.executable) if played_locally else find_compiler(), tools=tools)
    if bundler.compiler is None:
        cdk.Annotations.of(scope).add_info_v2(
            "conversation-memory:noBytecode",
            f"No python{PYTHON} here to compile the bundle with: a cold start will take about twice the CPU.",
        )
    return lambda_.Code.from_asset(
        str(FUNCTIONS),
        asset_hash_type=cdk.AssetHashType.CUSTOM,
        asset_hash=bundler.fingerprint(),
        bundling=cdk.BundlingOptions(
            image=cdk.DockerImage.from_registry(
                "never-pulled"
            ),  # required, but used only if the local bundler gives up
            local=bundler,
        ),
    )


@jsii.implements(cdk.ILocalBundling)
class Bundler:
    """Runtime requirements and the allow-listed packages: what else lies in ``functions`` is not shipped."""

    def __init__(self, functions: Path, *, compiler: Path | None, tools: Sequence[Tool] = ()) -> None:
        self.functions: Final = functions
        self.compiler: Final = compiler
        self.tools: Final = file_of(tools)

    def try_bundle(self, output_dir: str, *_: object, **__: object) -> bool:
        """Called by CDK, with the options as a second argument. ``False`` would mean Docker, so failures are raised."""
        self.bundle(Path(output_dir))
        return True

    def bundle(self, output: Path) -> None:
        _install(self.functions / REQUIREMENTS, output)
        refuse_native(output)
        botocore_data.trim(output / "botocore" / "data")
        shutil.rmtree(output / "bin", ignore_errors=True)  # command lines of the libraries
        for package in PACKAGES:
            shutil.copytree(
                self.functions / package, output / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
            )
        if self.tools:
            (output / TOOLS_FILE).write_text(self.tools)
        if self.compiler is not None:
            _compile(self.compiler, output)

    def fingerprint(self) -> str:
        """Changes when anything that the bundle is made from changes, and only then."""
        digest = hashlib.sha256(_version_of(str(self.compiler)).encode() if self.compiler else b"source only")
        for name, path in self._inputs():
            content = path.read_bytes()
            digest.update(f"\0{name}\0{len(content)}\0".encode())
            digest.update(content)
        digest.update(self.tools.encode())
        return digest.hexdigest()

    def _inputs(self) -> Iterator[tuple[str, Path]]:
        """By names that are the same wherever the repository lies."""
        yield REQUIREMENTS, self.functions / REQUIREMENTS
        for package in PACKAGES:
            for path in sorted((self.functions / package).rglob("*")):
                if _is_source(path):
                    yield path.relative_to(self.functions).as_posix(), path
        for module in (__file__, botocore_data.__file__):
            yield f"bundler/{Path(module).name}", Path(module)


def find_compiler() -> Path | None:
    """An interpreter of the functions' own version: only its bytecode can they load."""
    return next((Path(found) for found in _interpreters() if _version_of(found) == PYTHON), None)


def _version_of(interpreter: str) -> str:
    """Major and minor version, on which bytecode depends; nothing if this is no interpreter that runs."""
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([interpreter, "-c", version], capture_output=True, text=True, check=False).stdout.strip()


def _interpreters() -> Iterator[str]:
    """This one, the one on the PATH (which may be a shim that refuses), and those that pyenv and uv keep."""
    yield sys.executable
    if found := shutil.which(f"python{PYTHON}"):
        yield found
    for kept in (f".pyenv/versions/{PYTHON}.*", f".local/share/uv/python/cpython-{PYTHON}*"):
        yield from map(str, sorted(Path.home().glob(f"{kept}/bin/python{PYTHON}")))


def _install(requirements: Path, output: Path) -> None:
    """For the functions' platform, whatever this machine's is, and only from wheels: nothing is built here."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--requirement", str(requirements), "--target", str(output), "--no-compile", "--only-binary=:all:"]
    command += ["--platform", PLATFORM, "--implementation", "cp", "--python-version", PYTHON]
    _run(command, doing="installing the runtime requirements")


def refuse_native(output: Path) -> None:
    """The same bundle must run on arm64 in AWS and on whatever machine emulates it locally."""
    native = [path.relative_to(output) for path in output.rglob("*") if path.suffix in NATIVE]
    if native:
        packages = sorted({path.parts[0] for path in native})
        raise BundlingError(f"not pure Python: {', '.join(packages)} (for example {native[0]})")


def _compile(compiler: Path, output: Path) -> None:
    """With unchecked hashes: bytecode that is checked by time goes stale in a zip, whose times are rounded to 2 s."""
    command = [str(compiler), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    _run([*command, "-s", str(output), "-p", "/var/task", str(output)], doing="compiling the bundle")


def _run(command: list[str], *, doing: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BundlingError(f"{doing} failed ({' '.join(command)}):\n{run.stdout}{run.stderr}".rstrip())


def _is_source(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
