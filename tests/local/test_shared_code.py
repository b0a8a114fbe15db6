"""Processes of one function share its code: unzipped once, in place for each, and quickly gone."""

import zipfile
from pathlib import Path

import pytest

from infra.local.shared_code import SharedZip


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))


def archive(path: Path, text: str) -> Path:
    with zipfile.ZipFile(path, "w") as written:
        written.writestr("handler.py", text)
        written.writestr("package/module.py", text)
    return path


def extract(source: Path, folder: Path) -> Path:
    folder.mkdir()
    with SharedZip(source) as opened:
        opened.extractall(folder)
    return folder


def test_the_same_code_is_unzipped_once_and_each_process_finds_it_in_its_own_folder(tmp_path: Path) -> None:
    source, copy = archive(tmp_path / "a.zip", "one"), tmp_path / "b.zip"
    copy.write_bytes(source.read_bytes())

    first, second = extract(source, tmp_path / "first"), extract(copy, tmp_path / "second")

    for folder in (first, second):
        assert (folder / "handler.py").read_text() == (folder / "package" / "module.py").read_text() == "one"
    assert (first / "handler.py").resolve() == (second / "handler.py").resolve()


def test_changed_code_is_other_code(tmp_path: Path) -> None:
    first = extract(archive(tmp_path / "a.zip", "one"), tmp_path / "first")
    second = extract(archive(tmp_path / "a.zip", "two"), tmp_path / "second")

    assert [(folder / "handler.py").read_text() for folder in (first, second)] == ["one", "two"]


def test_what_was_cut_off_is_unzipped_again(tmp_path: Path) -> None:
    source = archive(tmp_path / "a.zip", "one")
    whole = (extract(source, tmp_path / "first") / "handler.py").resolve().parent
    whole.rename(whole.with_suffix(".new"))
    (whole.with_suffix(".new") / "handler.py").unlink()

    assert (extract(source, tmp_path / "second") / "handler.py").read_text() == "one"
