"""Numbers as Lucene keeps them: scores in single precision, the length of a field in one byte."""

from array import array
from collections.abc import Iterable
from itertools import count
from struct import Struct

__all__ = ["FREQUENCY_BITS", "MAX_SCORE", "decoded_length", "encoded_length", "shortest", "single", "singles"]

FREQUENCY_BITS = 24
"""A posting's low bits hold how often the term occurs, the byte above them the encoded length of the field."""

_SINGLE = Struct("f")
_EXACT_LENGTHS = 24
"""Lengths below this are kept as they are: `SmallFloat.NUM_FREE_VALUES`."""

MAX_SCORE: float = _SINGLE.unpack(bytes.fromhex("ffff7f7f"))[0]


def single(value: float) -> float:
    """The nearest number of single precision; infinity beyond its range."""
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded


def singles(values: Iterable[float]) -> list[float]:
    """Many numbers rounded to single precision at once."""
    return array("f", values).tolist()


def shortest(value: float) -> float:
    """The double with the fewest digits that is this number in single precision: so Java prints a float."""
    for digits in count(1):
        short = float(f"{value:.{digits}g}")
        if digits >= 9 or single(short) == value:
            return short
    raise AssertionError


def encoded_length(length: int) -> int:
    """`SmallFloat.intToByte4`: exact up to 39, then four significant bits."""
    if length < _EXACT_LENGTHS:
        return length
    rest = length - _EXACT_LENGTHS
    shift = max(rest.bit_length() - 4, -1)
    return _EXACT_LENGTHS + (rest if shift < 0 else (rest >> shift & 7) | (shift + 1) << 3)


def decoded_length(encoded: int) -> int:
    """`SmallFloat.byte4ToInt`."""
    if encoded < _EXACT_LENGTHS:
        return encoded
    rest = encoded - _EXACT_LENGTHS
    shift = (rest >> 3) - 1
    return _EXACT_LENGTHS + (rest & 7 if shift < 0 else (rest & 7 | 8) << shift)
