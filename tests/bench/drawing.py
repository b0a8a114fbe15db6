"""Two pictures of a run, as SVG: what the t-th turn costs, and what a read costs by the length of the history.

It runs in an environment of its own, where matplotlib is: ``python -m tests.bench.drawing results.json folder``.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tests.bench import results, titles
from tests.bench.results import Document

TURNS, READS = "turns.svg", "reads.svg"
_LAST_TURN = 200  # beyond it single points would look like a line
_SIZE = (9, 7)
_PLAIN = FuncFormatter(lambda number, _: f"{number:,.0f}")


def draw(found: Document, folder: Path) -> None:
    """Both pictures, or those that the run has results for."""
    mpl.rcParams.update({"svg.hashsalt": "bench", "font.size": 9})  # the same results are the same file
    folder.mkdir(parents=True, exist_ok=True)
    turns = [r for r in found["results"] if r["group"] == titles.WRITES and r["at"] <= _LAST_TURN]
    reads = [r for r in found["results"] if r["group"] == titles.READ and "ratio" in r]
    if turns:
        _save(_turns(turns), folder / TURNS)
    if reads:
        _save(_reads(reads), folder / READS)


def _turns(given: Sequence[Any]) -> Figure:
    figure, axes = _axes("turn", "write units", titles.WRITES)
    for name, points in _lines(given):
        (line,) = axes.plot(*zip(*((point["at"], point["value"]) for point in points), strict=True), label=name)
        last = points[-1]
        if last["at"] < _LAST_TURN:
            line.set_label(f"{name}: breaks at turn {last['at'] + 1}")
            axes.plot(last["at"], last["value"], marker="x", markersize=9, markeredgewidth=2, color=line.get_color())
    return _finished(figure, axes)


def _reads(given: Sequence[Any]) -> Figure:
    figure, axes = _axes("messages of 500 bytes", "processor time in microseconds", titles.READ)
    for name, points in _lines(given):
        places = [point["at"] for point in points]
        values = [point["value"] for point in points]
        medians = [value["median"] for value in values]
        below = [value["median"] - value["low"] for value in values]
        above = [value["high"] - value["median"] for value in values]
        axes.errorbar(places, medians, yerr=[below, above], marker="o", markersize=4, capsize=3, label=name)
    axes.set_xscale("log")
    axes.set_xticks(sorted({point["at"] for point in given}))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(_PLAIN)
    return _finished(figure, axes)


def _axes(across: str, up: str, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_title(title)
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, which="both", alpha=0.25)
    figure.legend(loc="outside lower center", ncols=1)
    return figure


def _lines(given: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    names = dict.fromkeys(result["name"] for result in given)
    return [(name, sorted((r for r in given if r["name"] == name), key=lambda r: r["at"])) for name in names]


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    draw(results.read(Path(sys.argv[1])), Path(sys.argv[2]))
