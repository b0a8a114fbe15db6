"""The results of a run as Markdown: a table for each group, a line for each name, a column for each length."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.results import Document
from tests.bench.titles import READS

_COLUMNS = (1, 10, 20, 100, 1000, 10_000)  # of a long series, those are shown
_BEGIN, _END = "<!-- tables -->\n", "<!-- end of tables -->\n"
Result = Mapping[str, Any]


def markdown(found: Document, *, is_brief: bool = False) -> str:
    """All tables, and what they were taken with. ``is_brief`` leaves out what the README does not show."""
    results = [result for result in found["results"] if not (is_brief and _is_detail(result))]
    groups = list(dict.fromkeys(result["group"] for result in results))
    tables = ["\n".join(_table(group, [r for r in results if r["group"] == group])) for group in groups]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return "\n\n".join([*tables, f"{found['date']}, {found['rounds']} rounds, {versions}, {found['machine']}."])


def put_into(path: Path, found: Document) -> None:
    """Replace what stands between the marks of a file by the tables that it shows."""
    before, _, rest = path.read_text().partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    assert mark, f"{path} has no place for tables"
    path.write_text(f"{before}{_BEGIN}\n{markdown(found, is_brief=True)}\n\n{_END}{after}")


def _is_detail(result: Result) -> bool:
    return bool(result["group"] == READS or result["unit"] == "KB")


def _table(group: str, results: Sequence[Result]) -> Iterator[str]:
    places = list(dict.fromkeys(result["at"] for result in results))
    if len(places) > len(_COLUMNS):
        places = [place for place in _COLUMNS if place in places]
    yield f"| {group} | unit | {' | '.join('' if place is None else f'{place:,}' for place in places)} |"
    yield f"|---|---|{'---|' * len(places)}"
    for name, unit in dict.fromkeys((result["name"], result["unit"]) for result in results):
        cells = {result["at"]: _cell(result) for result in results if (result["name"], result["unit"]) == (name, unit)}
        if set(cells.values()) == {"0"}:
            continue
        yield f"| {name} | {unit} | {' | '.join(cells.get(place, '') for place in places)} |"


def _cell(result: Result) -> str:
    """``median (low to high)``, and the ratio likewise; of a count, the number or why there is none."""
    if "ratio" not in result:
        return result["note"] if result["value"] is None else _number(result["value"])
    value = f"{_number(result['value']['median'])} ({_range(result['value'])})"
    return (
        f"{value}; **x {_number(result['ratio']['median'])}** ({_range(result['ratio'])})" if result["ratio"] else value
    )


def _range(spread: Mapping[str, float]) -> str:
    return f"{_number(spread['low'])} to {_number(spread['high'])}"


def _number(number: float) -> str:
    """Three figures are as many as such a number bears."""
    if number == int(number) or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"
