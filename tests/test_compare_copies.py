"""compare_copies: copies of two traces side by side, by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.test_copy_cost import COPY, copy
from tracelens.analyses.compare_copies import compare_copies, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import COMPARE_COPIES

BASE = make_trace(memcpys=[copy(0, 600, 8000), copy(600, 1000, 8000)])
OTHER = make_trace(
    memcpys=[copy(0, 100, 4000, "pinned"), copy(100, 150, 4000), copy(300, 350, 4000, "pinned")]
)
BACK: dict[str, Any] = {
    "direction": "d2h",
    "source_memory": "device",
    "destination_memory": "pinned",
}


def test_base_over_other() -> None:
    (row,) = COMPARE_COPIES.check(compare_copies(BASE, OTHER)).to_dicts()
    assert (row["rank"], row["direction"]) == (0, "h2d")
    assert (row["n_calls_base"], row["size_base_bytes"], row["duration_base_ns"]) == (
        2,
        16_000,
        1000,
    )
    assert (row["n_calls_other"], row["size_other_bytes"], row["duration_other_ns"]) == (
        3,
        12_000,
        200,
    )
    assert (row["bandwidth_base_bytes_per_s"], row["bandwidth_other_bytes_per_s"]) == (1.6e10, 6e10)
    assert row["memory_base"] == "pageable to device"
    assert row["memory_other"] == "pageable to device, pinned to device"
    assert row["size_ratio"] == 2.0  # a copy, not in all
    assert row["speedup"] is None  # of two copies over three
    (row,) = compare_copies(
        BASE, make_trace(memcpys=[copy(0, 100, 4000), copy(100, 200, 4000)])
    ).to_dicts()
    assert row["speedup"] == 5.0


def test_the_finding_in_words() -> None:
    (said,) = notes(BASE, OTHER, compare_copies(BASE, OTHER))
    assert "8,000 bytes a copy in base against 4,000 bytes a copy in new (ratio 2.00)" in said
    assert "16.0 GB/s (pageable to device) against 60.0 GB/s" in said
    assert "2 copies against 3, so the times do not compare" in said


def test_a_direction_found_on_one_side_only() -> None:
    other = make_trace(memcpys=[copy(0, 10, 40) | BACK])
    found = compare_copies(BASE, other)
    columns = [
        "direction",
        "n_calls_base",
        "n_calls_other",
        "size_other_bytes",
        "memory_base",
        "size_ratio",
        "speedup",
    ]
    assert found.select(columns).rows() == [
        ("d2h", 0, 1, 40, None, None, None),
        ("h2d", 2, 0, 0, "pageable to device", None, None),
    ]
    assert notes(BASE, other, found) == []


def test_copies_of_unknown_size_are_counted_and_enter_no_ratio() -> None:
    """Base copies 16,000 bytes in 1000 ns, 8000 a copy; a third copy of 4000 ns has no size."""
    base = make_trace(memcpys=[copy(0, 600, 8000), copy(600, 1000, 8000), copy(1000, 5000, 0)])
    found = compare_copies(base, OTHER)
    row = found.row(0, named=True)
    assert (row["n_unsized_base"], row["n_unsized_other"]) == (1, 0)
    assert (row["bandwidth_base_bytes_per_s"], row["size_ratio"]) == (1.6e10, 2.0)
    said = notes(base, OTHER, found)
    assert "1 copies in base and 0 in new have no known size" in said[0]
    assert "8,000 bytes a copy in base" in said[1]


@pytest.mark.parametrize("odd", [copy(5, 5, 0), copy(5, 5, 100), copy(5, 10, 0)])
def test_copies_without_bytes_or_time_have_no_ratio(odd: dict[str, Any]) -> None:
    trace = make_trace(memcpys=[odd])
    for base, other in ((trace, OTHER), (OTHER, trace), (trace, trace)):
        (row,) = compare_copies(base, other).to_dicts()
        assert (row["speedup"] is None) == (
            row["duration_other_ns"] == 0 or trace != base or trace != other
        )
        notes(base, other, compare_copies(base, other))


def test_without_copies() -> None:
    with pytest.raises(MissingTableError, match="neither holds a copy"):
        compare_copies(make_trace(), make_trace())


@given(st.lists(COPY, min_size=1))
def test_a_trace_against_itself(copies: list[dict[str, Any]]) -> None:
    trace = make_trace(memcpys=copies)
    (row,) = compare_copies(trace, trace).to_dicts()
    assert row["size_ratio"] in (1.0, None)
    assert row["speedup"] in (1.0, None)
    assert row["n_calls_base"] == row["n_calls_other"] == len(copies)
