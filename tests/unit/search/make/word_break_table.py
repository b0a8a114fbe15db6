"""Makes `functions/conversations/search/word_break_table.py` from the Unicode Character Database 12.1.

Lucene's standard tokenizer (since 9.0) is generated for Unicode 12.1, so its boundaries are those of that version,
whatever Unicode the running Python knows. The properties come from the npm package `@unicode/unicode-12.1.0` (MIT;
the data are Unicode's, under the Unicode licence):

    npm pack @unicode/unicode-12.1.0@2.0.7
    python tests/unit/search/make/word_break_table.py unicode-unicode-12.1.0-2.0.7.tgz \
        > functions/conversations/search/word_break_table.py
"""

import re
import string
import sys
import tarfile
from collections.abc import Iterator

CODE_POINTS = 0x110000
BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"

# What the grammar of the standard tokenizer asks of a character: role -> properties that give it.
PROPERTIES = {
    "letter": ["Word_Break/ALetter"],
    "hebrew": ["Word_Break/Hebrew_Letter"],
    "numeric": ["Word_Break/Numeric"],
    "katakana": ["Word_Break/Katakana"],
    "joiner": ["Word_Break/ExtendNumLet"],
    "mid_letter": ["Word_Break/MidLetter", "Word_Break/MidNumLet", "Word_Break/Single_Quote"],
    "mid_number": ["Word_Break/MidNum", "Word_Break/MidNumLet", "Word_Break/Single_Quote"],
    "single_quote": ["Word_Break/Single_Quote"],
    "double_quote": ["Word_Break/Double_Quote"],
    "extend": ["Word_Break/Extend", "Word_Break/Format", "Word_Break/ZWJ"],
    "zwj": ["Word_Break/ZWJ"],
    "regional": ["Word_Break/Regional_Indicator"],
    "han": ["Script/Han"],
    "hiragana": ["Script/Hiragana"],
    "south_east_asian": ["Line_Break/Complex_Context"],
    "modifier": ["Binary_Property/Emoji_Modifier"],
}
KEYCAP_BASES = frozenset(map(ord, "0123456789#*"))
ACCIDENTAL_EMOJI = frozenset([0xA9, 0xAE, 0x2122, 0x3030, 0x303D])
SINGLES = {
    "keycap_base": KEYCAP_BASES,
    "keycap": frozenset([0x20E3]),
    "text_style": frozenset([0xFE0E]),
    "emoji_style": frozenset([0xFE0F]),
    "tag": frozenset(range(0xE0020, 0xE007F)),
    "tag_end": frozenset([0xE007F]),
}
LETTERS = string.ascii_letters + string.digits


def deltas(encoded: str) -> Iterator[int]:
    """The package packs code point ranges as base64 digits, one to four of them for a number."""
    digits = iter(encoded)
    for digit in digits:
        value = BASE64.index(digit)
        more = {4: 1, 5: 1, 6: 2, 7: 3}.get(value >> 3, 0)
        value &= {0: 63, 1: 15, 2: 7, 3: 7}[more]
        for _ in range(more):
            value = value << 6 | BASE64.index(next(digits))
        yield value


def code_points(package: tarfile.TarFile, name: str) -> set[int]:
    """The code points that have a property of the package."""
    member = package.extractfile(f"package/{name}/ranges.mjs")
    assert member is not None
    encoded = re.search(r"decodeRanges\('([^']*)'\)", member.read().decode())
    assert encoded is not None
    found: set[int] = set()
    numbers, end = list(deltas(encoded[1])), -1
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        start = end + 1 + gap
        end = start + length + 1
        found.update(range(start, end))
    return found


def emoji(package: tarfile.TarFile) -> set[int]:
    """The grammar's EmojiChar: pictographs, and emoji that are no flag, key, modifier or ordinary sign."""
    others = KEYCAP_BASES | ACCIDENTAL_EMOJI
    for name in ("Word_Break/Regional_Indicator", "Binary_Property/Emoji_Modifier"):
        others |= code_points(package, name)
    return code_points(package, "Binary_Property/Extended_Pictographic") | (
        code_points(package, "Binary_Property/Emoji") - others
    )


def roles(package: tarfile.TarFile) -> dict[str, set[int]]:
    found = {role: set[int]().union(*(code_points(package, p) for p in names)) for role, names in PROPERTIES.items()}
    return {**found, **{role: set(points) for role, points in SINGLES.items()}, "emoji": emoji(package)}


def runs(package: tarfile.TarFile) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Each first code point of a run of characters with the same roles, with these roles."""
    owned: dict[int, list[str]] = {}
    for role, points in sorted(roles(package).items()):
        for point in points:
            owned.setdefault(point, []).append(role)
    previous: tuple[str, ...] | None = None
    for point in range(CODE_POINTS):
        current = tuple(owned.get(point, ()))
        if current != previous:
            yield point, current
            previous = current


def base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = (string.digits + string.ascii_lowercase)[digit] + digits
        if not number:
            return digits


HEADER = '''"""Unicode 12.1 word breaking in the form that `word_breaks` reads. Generated: see tests/unit/search/make.

Made from the Unicode Character Database, Copyright 1991-2019 Unicode, Inc., by way of the npm package
@unicode/unicode-12.1.0, under the licence in UNICODE_LICENSE.txt, which has to accompany it.
"""

# The roles that the characters of a class have in the grammar of the standard tokenizer.
ROLES = {
'''


def wrapped(name: str, comment: str, parts: list[str]) -> str:
    lines, line = [f"# {comment}", f"{name} = ("], ""
    for part in parts:
        if len(line) + len(part) > 108:
            lines.append(f'    "{line}"')
            line = ""
        line += part
    return "\n".join([*lines, f'    "{line}"', ")", ""])


def main() -> None:
    with tarfile.open(sys.argv[1]) as package:
        found = list(runs(package))
    classes = {kind: letter for letter, kind in zip(LETTERS, dict.fromkeys(kind for _, kind in found), strict=False)}
    starts = [start for start, _ in found]
    gaps = [base36(b - a) + " " for a, b in zip([0, *starts], starts, strict=False)]
    print(HEADER, end="")
    for kind, letter in classes.items():
        print(f'    "{letter}": "{" ".join(kind)}",')
    print("}\n")
    print(wrapped("GAPS", "The distance of each run's first code point from the one before, in base 36.", gaps))
    print(wrapped("CLASSES", "The class of each run.", [classes[kind] for _, kind in found]), end="")


if __name__ == "__main__":
    main()
