"""compare_grids: the same kernel's grids side by side, and by primitive where names differ."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import make_trace
from tests.conftest import examples
from tracelens.analyses.compare_grids import compare_grids, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.grids import COMPARE_GRIDS
from tracelens.trace import Trace

SHAPE = {"grid_x": 1, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}


def trace_of(*kernels: dict[str, Any]) -> Trace:
    return make_trace(kernels=[SHAPE | kernel for kernel in kernels])


def kernel(
    name: str, duration: int, grid: int = 1, primitive: str = "gemm", **rest: Any
) -> dict[str, Any]:
    return {"name": name, "duration_ns": duration, "grid_x": grid, "primitive": primitive, **rest}


def test_eager_against_fused() -> None:
    base = trace_of(
        kernel("gemm", 1000, grid=132),
        kernel("gemm", 3000, grid=132),
        kernel("add", 500, grid=64, primitive="elementwise"),
        kernel("relu", 300, grid=32, primitive="elementwise"),
        kernel("nchwToNhwc", 700, primitive="layout"),
    )
    other = trace_of(
        kernel("gemm", 1000, grid=264),
        kernel("triton_poi_fused_add_relu_0", 400, grid=24, primitive="elementwise"),
        kernel("triton_poi_fused_native_batch_norm_relu_1", 50, primitive="fused"),
    )
    found = COMPARE_GRIDS.check(compare_grids(base, other))
    columns = [
        "match",
        "name",
        "primitive",
        "base_grid_x",
        "other_grid_x",
        "speedup",
        "speedup_per_call",
    ]
    assert found.select(columns).rows() == [
        (
            "kernel",
            "gemm",
            "gemm",
            132,
            264,
            None,
            2.0,
        ),  # two calls against one: 2000 a call over 1000
        (
            "primitive",
            None,
            "elementwise",
            None,
            None,
            2.0,
            1.0,
        ),  # 800 over 400; 400 a call over 400
        ("only_base", None, "layout", None, None, None, None),
        ("only_other", None, "fused", None, None, None, None),
    ]
    assert found["base_n_grids"].to_list() == [1, 2, 1, 0]
    assert found["base_n_calls"].to_list() == [2, 2, 1, 0]
    assert found["base_n_blocks"].to_list() == [132.0, 48.0, 1.0, None]
    assert found["n_blocks_ratio"].to_list() == [0.5, 2.0, None, None]
    assert found["base_duration_mean_ns"].to_list() == [2000.0, 400.0, 700.0, None]
    assert found["other_duration_total_ns"].to_list() == [1000, 400, 0, 50]


def test_equal_grids_meet_first_and_the_others_by_total_time() -> None:
    base = trace_of(kernel("k", 95, grid=1), kernel("k", 90, grid=2), kernel("k", 80, grid=3))
    other = trace_of(
        kernel("k", 10, grid=5),
        kernel("k", 70, grid=2),
        kernel("k", 60, grid=4),
        kernel("k", 5, grid=6),
    )
    columns = [
        "match",
        "base_grid_x",
        "other_grid_x",
        "base_duration_total_ns",
        "other_duration_total_ns",
    ]
    assert compare_grids(base, other).select(columns).rows() == [
        ("kernel", 2, 2, 90, 70),
        ("kernel", 1, 4, 95, 60),
        ("kernel", 3, 5, 80, 10),
        ("only_other", None, None, 0, 5),
    ]


def test_a_kernel_matches_by_name_whatever_it_was_taken_for() -> None:
    """No launch tells: one trace says gemm of the kernel that the other takes for a convolution."""
    found = compare_grids(
        trace_of(kernel("x", 8, primitive="conv")), trace_of(kernel("x", 2, primitive="gemm"))
    )
    assert found.select("match", "name", "primitive", "speedup").rows() == [
        ("kernel", "x", "conv", 4.0)
    ]


def test_ranks_count_together_and_missing_grids_match() -> None:
    unknown = dict.fromkeys(SHAPE)
    base = trace_of(kernel("k", 10, rank=0) | unknown, kernel("k", 30, rank=1) | unknown)
    (row,) = compare_grids(base, trace_of(kernel("k", 10) | unknown)).to_dicts()
    assert (row["match"], row["base_n_calls"], row["base_n_blocks"], row["n_blocks_ratio"]) == (
        "kernel",
        2,
        None,
        None,
    )
    assert (row["speedup"], row["speedup_per_call"]) == (None, 2.0)


def test_notes_say_what_is_comparable() -> None:
    base = trace_of(kernel("k", 75, grid=2), kernel("a", 25))
    other = trace_of(kernel("k", 50, grid=3), kernel("b", 50))
    (said,) = notes(base, other, compare_grids(base, other))
    assert said.startswith(
        "Kernels in both traces: 1, 75.0% of kernel time in base and 50.0% in new; 1 with "
    )


def test_totals_compare_only_what_was_called_as_often() -> None:
    """34 calls against 30 in captures of equal length: the second run did less."""
    base, other = trace_of(*[kernel("k", 10)] * 34), trace_of(*[kernel("k", 10)] * 30)
    (row,) = compare_grids(base, other).to_dicts()
    assert (row["speedup"], row["speedup_per_call"], row["base_n_calls"], row["other_n_calls"]) == (
        None,
        1.0,
        34,
        30,
    )
    assert (
        "1 kernels were called more often in one"
        in notes(base, other, compare_grids(base, other))[1]
    )
    steps: list[dict[str, Any]] = [{"step": 0, "duration_ns": 400}]
    marked = [make_trace(kernels=[kernel("k", 10)] * n, steps=steps) for n in (34, 30)]
    assert compare_grids(*marked)["speedup"].to_list() == [34 / 30]


def test_kernels_are_needed_in_both() -> None:
    with pytest.raises(MissingTableError, match="compare_grids needs the table kernels"):
        compare_grids(trace_of(kernel("k", 1)), make_trace())


some_kernels = st.lists(
    st.builds(
        kernel,
        st.sampled_from("abc"),
        st.integers(0, 1000),
        grid=st.integers(1, 3),
        primitive=st.sampled_from(["gemm", "conv"]),
        start_ns=st.integers(0, 10**9),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=examples(40), deadline=None)
@given(
    some_kernels, some_kernels, st.randoms(use_true_random=False), st.integers(-(10**15), 10**15)
)
def test_nothing_is_lost_and_order_and_time_do_not_matter(
    base: list[dict[str, Any]], other: list[dict[str, Any]], random: Any, shift: int
) -> None:
    found = COMPARE_GRIDS.check(compare_grids(trace_of(*base), trace_of(*other)))
    for side, rows in (("base", base), ("other", other)):
        assert found[f"{side}_n_calls"].sum() == len(rows)
        assert found[f"{side}_duration_total_ns"].sum() == sum(row["duration_ns"] for row in rows)
    moved = [row | {"start_ns": row["start_ns"] + shift} for row in base]
    random.shuffle(moved)
    assert_frame_equal(found, compare_grids(trace_of(*moved), trace_of(*other)))


@settings(max_examples=examples(40), deadline=None)
@given(some_kernels)
def test_a_trace_matches_itself(rows: list[dict[str, Any]]) -> None:
    found = compare_grids(trace_of(*rows), trace_of(*rows))
    assert set(found["match"]) == {"kernel"}
    assert set(found["speedup"].drop_nulls()) <= {1.0}
