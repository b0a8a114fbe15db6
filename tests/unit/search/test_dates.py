"""`strict_date_time||epoch_millis` and date math."""

import pytest

from conversations.search import QueryError
from conversations.search.dates import DateReader, parse_date, parse_zone

NOW = 1_706_992_570_252  # 2024-02-03T20:36:10.252Z, a Saturday
DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("2024-02-03T20:36:10.252Z", NOW),
        ("2024-02-03T20:36:10.252999999Z", NOW),
        ("2024-02-03T20:36:10.2Z", NOW - 52),
        ("2024-02-04T05:36:10.252+09:00", NOW),
        ("2024-02-04T05:36:10.252+0900", NOW),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2024-02-29T00:00:00.0Z", 1_709_164_800_000),
        ("1706992570252", NOW),
        ("-1", -1),
        ("-1.5", -2),
        ("12.75", 12),
    ],
)
def test_dates_are_milliseconds(text: str, millis: int) -> None:
    assert parse_date(text) == millis


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-03",
        "2024-02-03T20:36:10Z",
        "2024-02-30T00:00:00.0Z",
        "2024-2-3T0:0:0.0Z",
        "2024-02-03T24:00:00.0Z",
        "2024-02-03T20:36:10.252",
        "２０２４-02-03T20:36:10.252Z",
        "",
        "soon",
        "1e3",
        "9" * 20,
        " 1",
        "1706992570252\n",
    ],
)
def test_anything_else_is_no_date(text: str) -> None:
    with pytest.raises(ValueError, match="failed to parse date field"):
        parse_date(text)


@pytest.mark.parametrize(
    ("text", "down", "up"),
    [
        ("now", NOW, NOW),
        ("now-1d", NOW - DAY, NOW - DAY),
        ("now/d", 1_706_918_400_000, 1_706_918_400_000 + DAY - 1),
        ("now-1d/d", 1_706_832_000_000, 1_706_918_400_000 - 1),
        ("now/w", 1_706_486_400_000, 1_706_486_400_000 + 7 * DAY - 1),
        ("now/M", 1_706_745_600_000, 1_709_251_200_000 - 1),
        ("now/y", 1_704_067_200_000, 1_735_689_600_000 - 1),
        ("now+1h-30m", NOW + 1_800_000, NOW + 1_800_000),
        ("now/h", 1_706_990_400_000, 1_706_990_400_000 + 3_600_000 - 1),
        ("now/m", 1_706_992_560_000, 1_706_992_560_000 + 59_999),
        ("now/s", 1_706_992_570_000, 1_706_992_570_999),
        ("now-1M", 1_704_314_170_252, 1_704_314_170_252),
        ("now+1y", NOW + 366 * DAY, NOW + 366 * DAY),
        ("2024-01-31T00:00:00.0Z||+1M", 1_709_164_800_000, 1_709_164_800_000),
        ("1706992570252||/d", 1_706_918_400_000, 1_706_918_400_000 + DAY - 1),
    ],
)
def test_date_math(text: str, down: int, up: int) -> None:
    reader = DateReader(NOW)

    assert (reader.read(text, round_up=False), reader.read(text, round_up=True)) == (down, up)


def test_rounding_follows_the_zone() -> None:
    tokyo = DateReader(NOW, zone=parse_zone("+09:00"))

    assert tokyo.read("now/d", round_up=False) == 1_706_972_400_000  # 2024-02-04T00:00+09:00


@pytest.mark.parametrize("text", ["now*1d", "now+", "now+1", "now+1q", "now/2d", "nowish", "now+999999999y", "1||~"])
def test_bad_date_math_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=r"math|unit|rounding"):
        DateReader(NOW).read(text, round_up=False)


def test_other_formats_are_refused_by_name() -> None:
    with pytest.raises(QueryError, match="yyyy"):
        DateReader(NOW, "yyyy")
