"""The bench measures what it says: ratios within a round, and the worked-out peer as its documented calls come to."""

import math

from conversations.clients import DATA
from tests.bench import plain, tables, titles
from tests.bench.measuring import Count, Row, Spread, in_rounds
from tests.bench.peers.amplify import amplify_turns
from tests.bench.results import document


def _row(name: str, values: list[float], yardstick: str | None) -> Row:
    left = iter(values)
    return Row("group", name, lambda: next(left), yardstick, at=20)


def test_a_machine_that_drifts_changes_no_ratio() -> None:
    rows = [_row("bare", [10, 20, 40], None), _row("ours", [5, 12, 20], "bare")]

    bare, ours = in_rounds(rows, rounds=3, until=math.inf, report=lambda _: None)

    assert (bare.value, bare.ratio) == (Spread(20, 10, 40), None)
    assert ours.ratio == Spread(0.5, 0.5, 0.6)


def test_no_round_begins_when_the_time_is_over_but_one_is_whole() -> None:
    reported: list[str] = []

    [measured] = in_rounds([_row("bare", [10, 20], None)], rounds=2, until=0, report=reported.append)

    assert measured.value == Spread(10, 10, 10)
    assert reported[-1] == "the time is over: 1 rounds of 2"


def test_a_table_shows_medians_ranges_ratios_and_why_there_is_no_number() -> None:
    rows = [_row("bare", [1000], None), _row("ours", [250], "bare")]
    measured = in_rounds(rows, rounds=1, until=math.inf, report=lambda _: None)
    counts = [
        Count("group", "peer", None, "us", 1000, "breaks"),
        Count("other", "nothing", 0, "units", 1),
        Count("other", "something", 7.5, "units", 1),
    ]

    shown = tables.markdown(document([*measured, *counts]))

    assert "| ours | us | 250 (250 to 250); **x 0.25** (0.25 to 0.25) |  |" in shown.splitlines()
    assert "| peer | us |  | breaks |" in shown.splitlines()
    assert "| something | units | 7.50 |" in shown.splitlines()
    assert "nothing" not in shown


def test_bare_botocore_has_nothing_of_what_the_functions_set() -> None:
    set_by_us = DATA.parameter_validation, DATA.retries["mode"], DATA.user_agent
    found = plain.bare("http://127.0.0.1:9").meta.config

    assert (found.parameter_validation, found.retries["mode"]) == (True, "legacy")
    assert set_by_us == (False, "standard", DATA.user_agent)
    assert DATA.user_agent not in found.user_agent


def test_a_streamed_turn_of_amplify_is_157_write_units_and_more_reads_with_every_turn() -> None:
    found = {(count.group, count.at): count.value for count in amplify_turns()}

    assert {found[titles.WRITES, turn] for turn in (1, 100, 200, 1000)} == {157}
    assert (found[titles.READS, 1], found[titles.READS, 1000]) == (27.5, 155)
