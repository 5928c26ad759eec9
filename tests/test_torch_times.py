"""Times are exact to the nanosecond, however they are written; Python's Decimal is the judge."""

from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fast_beside_slow import read_by_both  # noqa: F401 - a fixture of every test here
from tests.torch_files import codes, read, rows, write
from tracelens.collectors.torch.values import nanoseconds

SPAN = ("name", "start_ns", "duration_ns")


def traced(path: Path, *events: tuple[str, str, str], base: str = "0") -> Path:
    """A trace of ops, by name, with starts and durations that are written just so."""
    texts = [
        f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}}}'
        for name, ts, dur in events
    ]
    content = f'{{"baseTimeNanoseconds": {base}, "traceEvents": [{", ".join(texts)}]}}'
    return write(path / "t.json", content)


TIMES = [
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
]
"""Times as a trace may write them, with their nanoseconds."""


def test_starts_and_durations(tmp_path: Path) -> None:
    as_starts = [(f"start {n}", text, "1") for n, (text, _) in enumerate(TIMES)]
    as_durations = [(f"duration {n}", "1", text) for n, (text, ns) in enumerate(TIMES) if ns >= 0]
    capture = read(traced(tmp_path, *as_starts, *as_durations))
    found = {name: (start, ns) for name, start, ns in rows(capture, "spans", *SPAN)}
    assert found == (
        {f"start {n}": (ns, 1000) for n, (_, ns) in enumerate(TIMES)}
        | {f"duration {n}": (1000, ns) for n, (_, ns) in enumerate(TIMES) if ns >= 0}
    )


def test_relative_times_on_their_base(tmp_path: Path) -> None:
    # 1790857026000000000 + 4381137596036065
    path = traced(tmp_path, ("a", "4381137596036.065", "1"), base="1790857026000000000")
    assert rows(read(path), "spans", "start_ns") == [(1795238163596036065,)]


NO_TIMES = [
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
]
"""Starts and durations, one of which is no time."""


def test_what_is_no_time_costs_its_event_only(tmp_path: Path) -> None:
    bad = [(f"bad {n}", *texts) for n, texts in enumerate(NO_TIMES)]
    capture = read(traced(tmp_path, ("first", "3", "1"), *bad, ("last", "4", "1")))
    assert rows(capture, "spans", *SPAN) == [("first", 3000, 1000), ("last", 4000, 1000)]
    assert codes(capture)["event_without_time"] == len(NO_TIMES)


@pytest.mark.parametrize(
    "base", ["9223372036854775807", "99999999999999999999999", "-9223372036854775807"]
)
def test_a_base_that_is_no_time_wraps_nothing(tmp_path: Path, base: str) -> None:
    assert rows(read(traced(tmp_path, ("a", "5", "1"), base=base)), "spans", "start_ns") == [
        (5000,)
    ]


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
