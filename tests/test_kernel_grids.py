"""kernel_grids: occupancy, waves and tail by hand. An SM holds 8 blocks of 256 threads."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tests.conftest import examples
from tracelens.analyses.kernel_grids import REASONS, kernel_grids, notes
from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.kernels.grids import SHAPE
from tracelens.errors import MissingTableError
from tracelens.schemas.results.grids import KERNEL_GRIDS
from tracelens.trace import Trace

H200 = {"name": "NVIDIA H200", "compute_capability": "9.0", "sm_count": 132}
MI300X = {"name": "AMD Instinct MI300X", "sm_count": 304, "warp_size": 64}
# 256 threads are 8 of an SM's 64 warps and their 32 registers a thread fit: 8 blocks an SM, 1056 on
# 132 SMs.
PLAIN = {
    "name": "add",
    "library": "aten",
    "primitive": "elementwise",
    "duration_ns": 1000,
    "registers_per_thread": 32,
    "shared_bytes": 0,
} | dict(zip(SHAPE, (1056, 1, 1, 256, 1, 1), strict=True))


def trace_of(*kernels: dict[str, Any], device: dict[str, Any] = H200) -> Trace:
    return make_trace(devices=[device], kernels=[PLAIN | kernel for kernel in kernels])


@pytest.mark.parametrize(
    ("grid", "waves", "tail"),
    [
        ((1056, 1, 1), 1.0, 0.0),  # the device, exactly
        ((1056, 3, 1), 3.0, 0.0),
        ((1584, 1, 1), 1.5, 0.25),  # 528 of the 2112 slots of two waves are empty
        ((33, 2, 4), 0.25, 0.75),  # 264 blocks: three quarters of the device are empty
        ((1057, 1, 1), 1057 / 1056, 1055 / 2112),
    ],
)
def test_waves_and_tail(grid: tuple[int, int, int], waves: float, tail: float) -> None:
    shape = dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))
    (row,) = kernel_grids(trace_of(shape)).to_dicts()
    assert row["n_blocks"] == grid[0] * grid[1] * grid[2]
    assert row["n_threads"] == row["n_blocks"] * 256
    assert (row["blocks_per_sm"], row["occupancy_limiter"], row["occupancy_reason"]) == (
        8,
        "warps",
        None,
    )
    assert row["theoretical_occupancy_frac"] == 1.0
    assert (row["waves"], row["tail_frac"]) == (pytest.approx(waves), pytest.approx(tail))


def test_one_row_a_kernel_and_grid_longest_total_first() -> None:
    trace = trace_of(
        {"duration_ns": 1000},
        {"duration_ns": 4000},
        {"duration_ns": 1500},
        {"duration_ns": 1500, "grid_x": 2},
        {"duration_ns": 90_000, "name": "gemm", "block_x": 128},
        {"duration_ns": 1500, "rank": 1},
    )
    found = KERNEL_GRIDS.check(kernel_grids(trace))
    columns = ["rank", "name", "grid_x", "block_x", "n_calls", "duration_total_ns"]
    assert found.select(columns).rows() == [
        (0, "gemm", 1056, 128, 1, 90_000),
        (0, "add", 1056, 256, 3, 6500),
        (0, "add", 2, 256, 1, 1500),
        (1, "add", 1056, 256, 1, 1500),
    ]
    row = found.row(1, named=True)
    assert row["duration_mean_ns"] == pytest.approx(6500 / 3)
    assert (row["duration_median_ns"], row["duration_min_ns"], row["duration_max_ns"]) == (
        1500.0,
        1000,
        4000,
    )


def test_the_median_of_two_lies_halfway() -> None:
    assert kernel_grids(trace_of({}, {"duration_ns": 1001}))["duration_median_ns"].to_list() == [
        1000.5
    ]


@pytest.mark.parametrize(
    ("device", "kernel", "reason"),
    [
        (MI300X, {}, REASONS["device"]),
        (H200, {"is_cluster_launch": True}, REASONS["cluster"]),
        (H200, {"registers_per_thread": None}, REASONS["launch"]),
        (H200, {"block_x": None}, REASONS["launch"]),
    ],
)
def test_no_occupancy_has_a_reason(
    device: dict[str, Any], kernel: dict[str, Any], reason: str
) -> None:
    trace = trace_of(kernel, device=device)
    frame = kernel_grids(trace)
    (row,) = frame.to_dicts()
    assert [
        row[c] for c in ("blocks_per_sm", "theoretical_occupancy_frac", "waves", "tail_frac")
    ] == [None] * 4
    assert row["occupancy_reason"] == reason
    assert f"No occupancy for 100.0% of kernel time: {reason}." in notes(trace, frame)


@pytest.mark.parametrize(
    ("device", "kernel"), [(H200, {"grid_x": None}), (H200 | {"sm_count": None}, {})]
)
def test_occupancy_without_waves(device: dict[str, Any], kernel: dict[str, Any]) -> None:
    (row,) = kernel_grids(trace_of(kernel, device=device)).to_dicts()
    assert (row["blocks_per_sm"], row["waves"], row["tail_frac"]) == (8, None, None)
    assert (
        row["occupancy_reason"] == "the source does not give the grid or the device's number of SMs"
    )


def test_calls_that_take_different_shared_memory_have_a_row_each() -> None:
    """233,472 bytes of an SM over 40,000 + 1,024, rounded up to 41,088: 5 blocks."""
    found = kernel_grids(trace_of({}, {}, {"shared_bytes": 40_000}))
    assert found.select("n_calls", "shared_bytes", "blocks_per_sm").rows() == [
        (2, 0, 8),
        (1, 40_000, 5),
    ]


def test_a_kernel_that_served_two_primitives_has_a_row_for_each() -> None:
    found = kernel_grids(trace_of({"primitive": "conv", "duration_ns": 5}, {"primitive": "gemm"}))
    assert found["primitive"].to_list() == ["gemm", "conv"]


def test_notes_tell_small_grids_from_long_tails() -> None:
    trace = trace_of(
        {"duration_ns": 1000, "grid_x": 264},  # a quarter of a wave
        {"duration_ns": 3000, "grid_x": 1057},  # half of two waves is empty
        {"duration_ns": 6000},
    )
    found = notes(trace, kernel_grids(trace))
    assert found[0] == "3 kernels ran with 3 distinct grids."
    assert found[1].startswith("1 kernels, 10.0% of kernel time, have fewer")
    assert found[2].startswith("30.0% of kernel time is in larger grids that leave over")
    assert "clusters" in found[3]


def test_kernels_are_needed() -> None:
    with pytest.raises(MissingTableError, match="kernel_grids needs the table kernels"):
        kernel_grids(make_trace(devices=[H200]))


kernels = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from("abc"),
            "grid_x": st.integers(1, 5000),
            "block_x": st.sampled_from([32, 96, 1024]),
            "duration_ns": st.integers(0, 10**6),
            "start_ns": st.integers(0, 10**9),
            "rank": st.integers(0, 1),
            "shared_bytes": st.sampled_from([0, 100_000]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(40), deadline=None)
@given(kernels, st.randoms(use_true_random=False), st.integers(-(10**15), 10**15))
def test_order_of_rows_and_shift_of_time_change_nothing(
    rows: list[dict[str, Any]], random: Any, shift: int
) -> None:
    shuffled = [row | {"start_ns": row["start_ns"] + shift} for row in rows]
    random.shuffle(shuffled)
    found = KERNEL_GRIDS.check(kernel_grids(trace_of(*rows)))
    assert_frame_equal(found, kernel_grids(trace_of(*shuffled)))
    assert found["n_calls"].sum() == len(rows)
    assert found["duration_total_ns"].sum() == sum(row["duration_ns"] for row in rows)
    # Idle slots and blocks make up whole waves.
    told = found.filter(pl.col("waves").is_not_null())
    whole = told["waves"] / (1 - told["tail_frac"])
    assert (whole - whole.round()).abs().max() in (None, pytest.approx(0, abs=1e-6))


def test_streams_of_one_grid_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three streams of 112 blocks and two of 20 are one pair, not six."""
    compared = []

    def covered(small: pl.DataFrame, large: pl.DataFrame, key: list[str]) -> pl.Series:
        compared.append((small["stream_id"][0], large["stream_id"][0]))
        return covered_ns(small, large, key)

    monkeypatch.setitem(notes.__globals__, "covered_ns", covered)
    kernels = [
        {"grid_x": n, "start_ns": at, "stream_id": stream}
        for n, at, stream in ((112, 0, 7), (112, 0, 8), (112, 0, 9), (20, 300, 20), (20, 300, 21))
    ]
    trace = trace_of(*kernels)
    notes(trace, kernel_grids(trace))
    assert set(compared) == {(20, 7)}


def test_streams_that_share_the_device_are_no_badly_filled_grids() -> None:
    """20 blocks communicate in a stream while 112 compute in another: 132 SMs in all."""

    def grid(n: int, start: int, stream: int) -> dict[str, Any]:
        return {"grid_x": n, "start_ns": start, "stream_id": stream}

    kernels = [grid(112, 0, 7), grid(20, 300, 20), grid(112, 1000, 7), grid(20, 1500, 20)]
    trace = trace_of(*kernels)
    said = notes(trace, kernel_grids(trace))
    assert said[1] == (
        "Rank 0: streams share the device on purpose: kernels of 20 and of 112 blocks run at the"
        " same time on its 132 SMs."
    )
    assert not any("have fewer blocks" in one for one in said)
    # One after the other they share nothing.
    apart = trace_of(grid(112, 0, 7), grid(20, 1000, 20))
    assert not any("on purpose" in one for one in notes(apart, kernel_grids(apart)))


def test_kernels_of_one_block() -> None:
    trace = trace_of({"grid_x": 1, "duration_ns": 250}, {"duration_ns": 750})
    assert notes(trace, kernel_grids(trace))[1] == (
        "1 kernels of one block take 0.25 µs, 25.0% of kernel time, in which one SM works: mostly"
        " add."
    )
