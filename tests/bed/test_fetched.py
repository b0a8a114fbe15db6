"""What tests need from npm: its absence is said, and passes for a success nowhere."""

from pathlib import Path

import pytest

from tests.bed import fetched


@pytest.mark.parametrize(
    ("variables", "ends"), [({}, pytest.skip.Exception), ({"CI": "true"}, pytest.fail.Exception)], ids=["here", "in CI"]
)
def test_a_package_that_cannot_be_fetched_is_said(
    variables: dict[str, str],
    ends: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:1/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")

    with pytest.raises(ends, match=r"(?s)@langchain/core@1\.4\.0 cannot be had: .*ECONNREFUSED"):
        fetched.packed("@langchain/core@1.4.0", tmp_path)
