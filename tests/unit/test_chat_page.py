"""The page that holds a conversation stands alone, and allows itself nothing but its own style and script."""

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "clients" / "web" / "chat.html").read_text()


@pytest.mark.parametrize("part", ["style", "script"])
def test_the_policy_names_what_the_page_has(part: str) -> None:
    [source] = re.findall(rf"<{part}[^>]*>(.*?)</{part}>", PAGE, re.DOTALL)
    is_now = "sha256-" + b64encode(hashlib.sha256(source.encode()).digest()).decode()

    assert re.findall(rf"{part}-src '(sha256-[^']+)'", PAGE) == [is_now]


def test_the_page_needs_no_other_file() -> None:
    assert re.findall(r"""(?:src|href)="([^"]*)\"""", PAGE) == ["data:,"]
    assert not re.search(r"@import|url\(|\bimport\b.*\bfrom\b|import\(", PAGE)


def test_text_never_becomes_markup() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\sstyle=|\son\w+=", PAGE)
