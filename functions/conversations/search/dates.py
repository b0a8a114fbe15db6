"""Dates as OpenSearch reads them: `strict_date_time||epoch_millis`, date math, milliseconds since 1970.

Rules: `DateFormatters` and `JavaDateMathParser` of OpenSearch. Zones are offsets and `Z`; names of regions are
refused, since the runtime need not know them. What a fraction has beyond milliseconds is cut off, as doc values do.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone

from conversations.search.errors import ShardError, illegal_argument
from conversations.search.json_values import Json, text_of

__all__ = ["DEFAULT_FORMAT", "DateReader", "parse_date", "parse_zone"]

DEFAULT_FORMAT = "strict_date_time||epoch_millis"
"""The format of a date field whose mapping names none."""

_STRICT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)\.(\d{1,9})(Z|UTC|GMT|[+-]\d\d:?\d\d)", re.ASCII
)
_EPOCH_MILLIS = re.compile(r"(-?)(\d{1,19})(?:\.\d{1,6})?", re.ASCII)
_STEP = re.compile(r"([+-]|/)(\d*)([yMwdhHms])", re.ASCII)
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LONG = range(-(2**63), 2**63)
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "H": "hours", "m": "minutes", "s": "seconds"}
_KEPT = {"y": 1, "M": 2, "d": 3, "h": 4, "H": 4, "m": 5, "s": 6}
"""How many of year, month, day, hour, minute and second rounding to a unit keeps."""


def parse_zone(text: str) -> timezone:
    """An offset such as `+09:00`. Raises `ValueError` for anything else but `Z`, `UTC` and `GMT`."""
    if text in ("Z", "UTC", "GMT"):
        return UTC
    if not (match := _ZONE.fullmatch(text)):
        raise ValueError(text)
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    if offset > timedelta(hours=18) or int(match[3]) > 59:
        raise ValueError(text)
    return timezone(-offset if match[1] == "-" else offset)


def _strict_date_time(text: str) -> int | None:
    if not (match := _STRICT.fullmatch(text)):
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        days = date(year, month, day).toordinal() - _EPOCH.toordinal()
        offset = parse_zone(match[8]).utcoffset(None)
    except ValueError:
        return None
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 1000 + int(match[7].ljust(9, "0")) // 1_000_000 - offset // _MILLISECOND


def _epoch_millis(text: str) -> int | None:
    if not (match := _EPOCH_MILLIS.fullmatch(text)):
        return None
    whole, fraction = int(match[2]), text.rpartition(".")[2].strip("0") if "." in text else ""
    millis = -whole - bool(fraction) if match[1] else whole
    return millis if millis in _LONG else None


_FORMATS: dict[str, Callable[[str], int | None]] = {
    "strict_date_time": _strict_date_time,
    "epoch_millis": _epoch_millis,
}


def parse_date(text: str, format_: str = DEFAULT_FORMAT) -> int:
    """Milliseconds since 1970 of a date in one of the formats (separated by `||`). Raises `ValueError`."""
    for name in format_.split("||"):
        millis = _FORMATS[name](text)
        if millis is not None:
            return millis
    raise ValueError(f"failed to parse date field [{text[:200]}] with format [{format_}]")


def date_text(value: Json) -> str:
    """A JSON value as the text that a date is read from; a whole number with a fraction of zero is a whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return text_of(value)


class DateReader:
    """Reads the dates of a request: a format, the zone of rounding, and what time `now` is (ms since 1970)."""

    def __init__(self, now_ms: int, format_: str = DEFAULT_FORMAT, zone: timezone = UTC) -> None:
        """Raises `QueryError` for an unknown format."""
        for name in format_.split("||"):
            if name not in _FORMATS:
                raise illegal_argument(f"Invalid format: [{format_[:100]}]: Unknown pattern or name [{name[:100]}]")
        self._now_ms, self._format, self._zone = now_ms, format_, zone

    def read(self, value: Json, *, round_up: bool) -> int:
        """Milliseconds of a date or date math; rounding gives the last millisecond of the unit if `round_up`."""
        text = date_text(value)
        if text.startswith("now"):
            return self._math(text[3:], self._now_ms, round_up)
        anchor, separator, steps = text.partition("||")
        try:
            millis = parse_date(anchor, self._format)
        except ValueError as error:
            # OpenSearch repeats the reason of the one format in that of the whole.
            raise ShardError("parse_exception", f"{error}: [{error}]") from None
        return self._math(steps, millis, round_up) if separator else millis

    def _math(self, steps: str, millis: int, round_up: bool) -> int:
        position = 0
        try:
            while position < len(steps):
                if not (match := _STEP.match(steps, position)):
                    raise _math_error(steps[position:], steps)
                moment = (_EPOCH + timedelta(milliseconds=millis)).astimezone(self._zone)
                millis = (_step(moment, match, round_up) - _EPOCH) // _MILLISECOND
                position = match.end()
        except (OverflowError, ValueError):
            raise ShardError("parse_exception", f"date math leaves the calendar [{steps[:200]}]") from None
        return millis


def _math_error(rest: str, steps: str) -> ShardError:
    if rest[0] not in "+-/":
        return ShardError("parse_exception", f"operator not supported for date math [{steps[:200]}]")
    unit = rest[1:].lstrip("0123456789")[:1]
    if not unit:
        return ShardError("parse_exception", f"truncated date math [{steps[:200]}]")
    return ShardError("parse_exception", f"unit [{unit}] not supported for date math [{steps[:200]}]")


def _step(moment: datetime, step: re.Match[str], round_up: bool) -> datetime:
    operator, digits, unit = step.groups()
    if operator == "/":
        if digits not in ("", "1"):
            raise ShardError("parse_exception", "rounding `/` can only be used on single unit types")
        start = _start_of(moment, unit)
        return _plus(start, 1, unit) - _MILLISECOND if round_up else start
    if len(digits) > 9:
        raise OverflowError(digits)
    return _plus(moment, int(f"{operator}{digits or 1}"), unit)


def _start_of(moment: datetime, unit: str) -> datetime:
    if unit == "w":
        moment, unit = moment - timedelta(days=moment.weekday()), "d"
    kept = _KEPT[unit]
    year, month, day, hour, minute, second = (*moment.timetuple()[:kept], *(1, 1, 1, 0, 0, 0)[kept:])
    return datetime(year, month, day, hour, minute, second, tzinfo=moment.tzinfo)


def _plus(moment: datetime, number: int, unit: str) -> datetime:
    if unit in _UNITS:
        return moment + timedelta(**{_UNITS[unit]: number})
    months = moment.year * 12 + moment.month - 1 + number * (12 if unit == "y" else 1)
    year, month = divmod(months, 12)
    last_day = (date(year + month // 11, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last_day))
