"""Times are exact to the nanosecond, however they are written; Python's Decimal is the judge."""

from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.torch_files import codes, read, rows, write
from tracelens.collectors.torch.values import nanoseconds


def traced(path: Path, ts: str, dur: str = "1", base: str = "0") -> Path:
    """A trace of one op whose times are written just so."""
    event = (
        f'{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}}}'
    )
    return write(path / "t.json", f'{{"baseTimeNanoseconds": {base}, "traceEvents": [{event}]}}')


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        ("1635202069792700", 1635202069792700000),
        # A float64 of this many microseconds is a multiple of 0.25: .037 would come out as .0 or
        # .25.
        ("1711929600000000.037", 1711929600000000037),
        # 5e12 is above 2^42, where round(ts * 1000) goes wrong for some thousandths; 9e12 is above
        # 2^43.
        ("5000000000000.001", 5000000000000001),
        ("5000000000000.999", 5000000000000999),
        ("9000000000000.123", 9000000000000123),
        ("-12.345", -12345),
        ("-0.5", -500),
        ("0", 0),
        ("7.1", 7100),
        ("7.1234", 7123),
        # Half a nanosecond goes to the even one, and a hair more than half goes up.
        ("7.0005", 7000),
        ("7.0015", 7002),
        ("7.00050000000000000000000000000000000001", 7001),
        ("1.5e3", 1500000),
        ("25E-1", 2500),
        ('"12.5"', 12500),
        ('"-3"', -3000),
    ],
)
def test_starts_and_durations(tmp_path: Path, ts: str, expected: int) -> None:
    assert rows(read(traced(tmp_path, ts)), "spans", "start_ns") == [(expected,)]
    if expected >= 0:
        assert rows(read(traced(tmp_path, "1", dur=ts)), "spans", "duration_ns") == [(expected,)]


def test_relative_times_on_their_base(tmp_path: Path) -> None:
    # 1790857026000000000 + 4381137596036065
    path = traced(tmp_path, "4381137596036.065", base="1790857026000000000")
    assert rows(read(path), "spans", "start_ns") == [(1795238163596036065,)]


@pytest.mark.parametrize(
    ("ts", "dur"),
    [
        ("null", "1"),
        ("1", "null"),
        ('"NaN"', "1"),
        ('"Infinity"', "1"),
        ('"sNaN"', "1"),
        ('"1_0"', "1"),
        ('"\\u0661"', "1"),
        ("1e400", "1"),
        ("1e99999999", "1"),
        ("9e15", "1"),
        ("1", "-1"),
        ("1", "-0.001"),
        ("1", "18446744073709551.615"),
        ("[1]", "1"),
        ('{"a": 1}', "1"),
        ("true", "1"),
        ('""', "1"),
    ],
)
def test_what_is_no_time_costs_its_event_only(tmp_path: Path, ts: str, dur: str) -> None:
    good = '{"ph": "X", "cat": "cpu_op", "name": "good", "pid": 1, "tid": 1, "ts": 3, "dur": 1}'
    path = traced(tmp_path, ts, dur)
    path.write_text(path.read_text().replace("[{", f"[{good}, {{").replace("}]", f"}}, {good}]"))
    capture = read(path)
    assert rows(capture, "spans", "name", "start_ns") == [("good", 3000), ("good", 3000)]
    assert codes(capture)["event_without_time"] == 1


@pytest.mark.parametrize(
    "base", ["9223372036854775807", "99999999999999999999999", "-9223372036854775807"]
)
def test_a_base_that_is_no_time_wraps_nothing(tmp_path: Path, base: str) -> None:
    assert rows(read(traced(tmp_path, "5", base=base)), "spans", "start_ns") == [(5000,)]


@st.composite
def decimals(draw: st.DrawFn) -> str:
    """Microseconds in digits, as JSON may write them.

    Up to 15 digits, with or without fraction and exponent.
    """
    whole = draw(st.integers(0, 10**15 - 1))
    fraction = draw(st.text("0123456789", max_size=12))
    exponent = draw(st.sampled_from(["", "", "", "e0", "E-3", "e+1", "e-12"]))
    return (
        draw(st.sampled_from(["", "-"]))
        + str(whole)
        + (f".{fraction}" if fraction else "")
        + exponent
    )


@given(st.lists(decimals(), min_size=1, max_size=20))
def test_nanoseconds_agree_with_decimal(texts: list[str]) -> None:
    expected = [int((Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_EVEN)) for text in texts]
    plain = [value if abs(value) < 2**61 else None for value in expected]
    assert nanoseconds([text.encode() for text in texts]).to_list() == plain
    assert nanoseconds([f'"{text}"'.encode() for text in texts]).to_list() == plain
