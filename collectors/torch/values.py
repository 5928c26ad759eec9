"""Turn loosely typed values of a Chrome trace into columns.

The columns hold exact nanoseconds, numbers, strings and JSON text.
"""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from types import NoneType
from typing import Any

import msgspec
import polars as pl

_INT64_MAX = 2**63 - 1
TIME_LIMIT_NS = 2**61
"""The limit in nanoseconds on a time, on a duration, and on a trace's baseTimeNanoseconds.

A sum of all three fits 64 bits. If times count from 1970, the limit is in the year 2043.
"""

_PLAIN_MICROSECONDS = r"^(-?)([0-9]{1,15})(?:\.([0-9]{1,3}))?$"
_THREE_DECIMALS = r"^-?[0-9]{1,15}\.[0-9]{3}$"
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?", re.ASCII)
_DIGITS = re.compile(r"(?<![\w-])-?[0-9]+|[0-9]+")
_LONGEST_NUMBER = 400


def decoded(values: Sequence[bytes]) -> pl.Series:
    """Return a column of texts from bytes, None for bytes that are not UTF-8."""
    try:
        return pl.Series("text", values, pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:  # Polars 2.1 raises even with strict=False
        return pl.Series(
            "text",
            [_utf8(value) for value in values],
            pl.String,
        )


def _utf8(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def spaced_alike(json: pl.Expr) -> pl.Expr:
    """Return JSON lists as text with uniform spacing, None where the text is empty."""
    alike = json.str.replace_all(r"\s*([\[\],])\s*", "$1").str.replace_all(",", ", ", literal=True)
    return pl.when(alike != "").then(alike)


def nanoseconds(texts: Sequence[bytes]) -> pl.Series:
    """Return microseconds in decimal digits as exact Int64 nanoseconds.

    A text that is not a number becomes None.
    """
    # A float64 holds epoch microseconds to 250 ns only, so the digits are read.
    raw = decoded(texts)
    # Kineto's own notation, which most files have.
    if raw.str.contains(_THREE_DECIMALS).all(ignore_nulls=False):
        return raw.str.replace(".", "", literal=True).cast(pl.Int64)
    unquoted = raw.str.strip_chars('"')
    sign, whole, fraction = (unquoted.str.extract(_PLAIN_MICROSECONDS, part) for part in (1, 2, 3))
    fraction_ns = fraction.str.pad_end(3, "0").cast(pl.Int64).fill_null(0)
    unsigned = whole.cast(pl.Int64) * 1000 + fraction_ns
    plain = unsigned.zip_with(sign != "-", -unsigned)
    odd = (plain.is_null() & unquoted.is_not_null()).arg_true()
    if not len(odd):
        return plain
    return plain.scatter(odd, [_exact(text) for text in unquoted.gather(odd)])


def _exact(text: str) -> int | None:
    """Return nanoseconds from microseconds in any decimal notation, None for other text.

    Fractions of a nanosecond are rounded, half to even.
    """
    if len(text) > _LONGEST_NUMBER or not _DECIMAL.fullmatch(text):
        return None
    with localcontext(prec=_LONGEST_NUMBER + 8) as context:
        try:
            value = (Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN, context)
        except InvalidOperation:
            return None
    return int(value) if abs(value) < TIME_LIMIT_NS else None


def integer(value: Any) -> int | None:
    """Return an int from an int, a whole float or the first digits in a string.

    Return None for any other value, and for a number beyond 64 bits.
    """
    if isinstance(value, str):
        match = _DIGITS.search(value) if len(value) < 64 else None
        value = int(match.group()) if match else None
    elif isinstance(value, float):
        value = int(value) if value.is_integer() else None
    elif isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value is not None and -_INT64_MAX <= value <= _INT64_MAX else None


def integers(values: Sequence[Any]) -> pl.Series:
    """Return each value as an Int64, None if it is not an integer."""
    if set(map(type, values)) <= {int, NoneType}:
        try:
            column = pl.Series(values, dtype=pl.Int64)
        except (OverflowError, TypeError, pl.exceptions.PolarsError):
            pass
        else:
            return column.set(column == -_INT64_MAX - 1, None)
    return pl.Series(
        [integer(value) for value in values],
        dtype=pl.Int64,
    )


def numbers(values: Sequence[Any]) -> pl.Series:
    """Return each value as a Float64, None if it is not a finite number."""
    are_plain = set(map(type, values)) <= {float, NoneType}
    column = pl.Series(
        values if are_plain else [number(value) for value in values],
        dtype=pl.Float64,
    )
    return column.set(column.is_finite().not_(), None)


def texts(values: Sequence[Any]) -> pl.Series:
    """Return each value as a string, None if it is not a text."""
    are_plain = set(map(type, values)) <= {str, NoneType}
    return pl.Series(
        values if are_plain else [text(value) for value in values],
        dtype=pl.String,
    )


def number(value: Any) -> float | None:
    """Return a float from a finite number or a numeric string, None for any other value."""
    try:
        converted = (
            float(value)
            if isinstance(value, (int, float, str)) and not isinstance(value, bool)
            else None
        )
    except (ValueError, OverflowError):
        return None
    return converted if converted is not None and math.isfinite(converted) else None


def text(value: Any) -> str | None:
    """Return a string as it is, a number as its digits, and None for any other value."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, float)) else None


def extended(known: pl.Series, written: list[bytes], *, is_json: bool) -> pl.Series:
    """Return a column of the known strings and the new strings in `written`.

    With `is_json`, `written` has whole JSON values, otherwise the content of JSON strings.
    """
    if not written:
        return known
    if is_json:
        new = decoded(written).to_frame("json").select(spaced_alike(pl.col("json"))).to_series()
    else:
        new = pl.Series(map(_unescaped, written), dtype=pl.String)
    return pl.concat([known, new.cast(pl.Categorical)], rechunk=True)


def _unescaped(text: bytes) -> str:
    """Return the string that a JSON string's content encodes."""
    return str(msgspec.json.decode(b'"' + text + b'"')) if b"\\" in text else text.decode()
