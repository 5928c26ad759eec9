"""copy_cost: bytes, bandwidth, exposure, waste and what pinning saves, by hand."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tracelens as tl
from tests.cases import make_trace
from tracelens.analyses import verdict
from tracelens.analyses.copy_cost import copy_cost, notes
from tracelens.derive.replay.advised import advise
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import COPY_COST
from tracelens.trace import Trace

MB = 1_000_000
CAST = (  # a thread does 4 elements
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda()#3}::operator()()"
    " const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4,"
    " TrivialOffsetCalculator<1, unsigned int>>(int)"
)


def copy(start: int, end: int, size: int, source: str = "pageable", **more: Any) -> dict[str, Any]:
    row = {
        "start_ns": start,
        "duration_ns": end - start,
        "size_bytes": size,
        "direction": "h2d",
        "stream_id": 7,
    }
    return row | {"source_memory": source, "destination_memory": "device"} | more


def kernel(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "duration_ns": end - start, "stream_id": 7, **more}


def cast(start: int, elements: int, name: str = CAST) -> dict[str, Any]:
    shape = {
        "grid_x": elements // 512,
        "grid_y": 1,
        "grid_z": 1,
        "block_x": 128,
        "block_y": 1,
        "block_z": 1,
    }
    return kernel(start, start + 10, name=name, **shape)


def whole(trace: Trace, base: Trace | None = None) -> dict[str, Any]:
    frame = COPY_COST.check(copy_cost(trace, base=base))
    return frame.filter(pl.col("step").is_null()).row(0, named=True)


def test_bytes_bandwidth_and_steps() -> None:
    trace = make_trace(
        memcpys=[copy(0, 100, 1000, step=0), copy(200, 500, 1000, step=1), copy(900, 1000, 500)]
    )
    columns = ["step", "n_calls", "duration_total_ns", "size_bytes", "bandwidth_bytes_per_s"]
    assert copy_cost(trace).select(columns).rows() == [
        (None, 3, 500, 2500, 5e9),
        (0, 1, 100, 1000, 1e10),
        (1, 1, 300, 1000, pytest.approx(1e10 / 3)),
    ]


def test_a_row_a_direction_and_pair_of_memories() -> None:
    back = {"direction": "d2h", "source_memory": "device", "destination_memory": "pinned"}
    trace = make_trace(
        memcpys=[
            copy(0, 1, 1),
            copy(1, 2, 1, "pinned"),
            copy(2, 3, 1) | back,
            copy(3, 4, 1, rank=1),
        ]
    )
    assert copy_cost(trace).select(
        "rank", "direction", "source_memory", "destination_memory"
    ).rows() == [
        (0, "d2h", "device", "pinned"),
        (0, "h2d", "pageable", "device"),
        (0, "h2d", "pinned", "device"),
        (1, "h2d", "pageable", "device"),
    ]


def test_exposed_is_what_no_kernel_of_the_device_hides() -> None:
    # The copy runs from 100 to 200; kernels hide 100 to 130 and 180 to 190, another device's
    # nothing.
    trace = make_trace(
        memcpys=[copy(100, 200, 8)],
        kernels=[kernel(0, 120), kernel(110, 130), kernel(180, 190), kernel(0, 500, device_id=1)],
    )
    assert whole(trace)["exposed_ns"] == 60


def test_pinned_time_is_at_the_bandwidth_seen() -> None:
    pinned = copy(0, 100, 2 * MB, "pinned")
    trace = make_trace(memcpys=[pinned, copy(200, 1200, 4 * MB)])
    rows = copy_cost(trace).select("source_memory", "pinned_ns").rows()
    assert rows == [("pageable", 200), ("pinned", None)]
    assert whole(make_trace(memcpys=[copy(200, 1200, 4 * MB)]))["pinned_ns"] is None
    assert (
        whole(make_trace(memcpys=[copy(200, 1200, 4 * MB)]), base=make_trace(memcpys=[pinned]))[
            "pinned_ns"
        ]
        == 200
    )


def test_the_base_gives_only_rates_that_the_trace_lacks() -> None:
    back = {"direction": "d2h", "source_memory": "device", "destination_memory": "pinned"}
    base = make_trace(memcpys=[copy(0, 50, MB, "pinned"), copy(0, 10, MB) | back])
    trace = make_trace(memcpys=[copy(0, 1000, MB), copy(0, 500, MB) | back])
    to_pageable = copy(0, 900, MB) | back | {"destination_memory": "pageable"}
    both = make_trace(memcpys=[copy(0, 1000, MB), copy(0, 500, MB) | back, to_pageable])
    assert copy_cost(trace, base=base).filter(pl.col("direction") == "h2d")[
        "pinned_ns"
    ].to_list() == [50]
    found = copy_cost(both, base=base).filter(pl.col("destination_memory") == "pageable")
    assert found["pinned_ns"].to_list() == [500]


def test_small_copies_gain_nothing_from_bandwidth() -> None:
    memcpys = [
        copy(0, 100, MB, "pinned"),
        copy(100, 1100, MB),
        *(copy(t, t + 700, 4) for t in (2000, 3000)),
    ]
    rows = copy_cost(make_trace(memcpys=memcpys)).filter(pl.col("source_memory") == "pageable")
    assert rows["pinned_ns"].to_list() == [100 + 2 * 700]
    # Nor do they tell the bandwidth of pinned memory.
    tiny = make_trace(memcpys=[copy(0, 100, 64, "pinned"), copy(100, 1100, MB)])
    assert copy_cost(tiny)["pinned_ns"].to_list() == [None, None]
    # From 64 KiB on they do.
    for size, expected in ((64 << 10, 100), ((64 << 10) - 1, None)):
        trace = make_trace(memcpys=[copy(0, 100, size, "pinned"), copy(100, 1100, size)])
        assert copy_cost(trace)["pinned_ns"].to_list() == [expected, None]


@pytest.mark.parametrize(
    ("after", "dtype", "wasted"),
    [
        (cast(50, 1024), "float64", 4096),  # 8192 bytes, 1024 elements: 8 bytes each, written as 4
        (cast(50, 2048), None, 0),  # 4 bytes each, written as 4
        (cast(50, 2048, CAST.replace("(float)", "(c10::BFloat16)")), "float32", 4096),
        (cast(50, 512), None, 0),  # 16 bytes each: not these elements
        (cast(50, 1024) | {"stream_id": 8}, None, 0),
        (cast(5, 1024), None, 0),  # starts before the copy ends
        (cast(50, 1024, "void add<float>(int)"), None, 0),
    ],
)
def test_waste_is_told_by_the_cast_that_follows(
    after: dict[str, Any], dtype: str | None, wasted: int
) -> None:
    row = whole(make_trace(memcpys=[copy(0, 10, 8192)], kernels=[kernel(20, 30), after]))
    assert (row["wasteful_dtype"], row["wasted_bytes"]) == (dtype, wasted)


BF16 = "c10::BFloat16"


@pytest.mark.parametrize(
    ("around_copy", "around_cast", "dtype", "wasted"),
    [
        # 8192 bytes are 4096 bfloat16, and as many as 2048 float32: the cast of 2048 elements is of
        # another tensor.
        (("[[4096], [4096], []]", f'["{BF16}", "{BF16}", ""]'), None, None, 0),
        (
            ("[[4096], [4096], []]", f'["{BF16}", "float", ""]'),
            None,
            None,
            0,
        ),  # float32 of 4096 would be 16384 bytes
        (("[[2048], [2048], []]", '["float", "float", ""]'), None, "float32", 4096),
        (
            ("[[2, 1024], [2, 1024], []]", f'["{BF16}", "float", ""]'),
            None,
            "float32",
            4096,
        ),  # copied, then cast
        (("[[2048], [2048], []]", '["int", "int", ""]'), None, "int32", 4096),
        ((None, f'["{BF16}", "{BF16}", ""]'), None, None, 0),
        ((None, '["float", "float", ""]'), None, "float32", 4096),
        (
            ("[[]]", '["Scalar"]'),
            None,
            "float32",
            4096,
        ),  # no tensor's type was recorded: the cast is evidence
        (None, ("[[2048], [2048], []]", f'["{BF16}", "float", ""]'), "float32", 4096),
        (
            None,
            ("[[2000], [2000], []]", f'["{BF16}", "float", ""]'),
            None,
            0,
        ),  # the cast is of fewer elements
        (None, None, "float32", 4096),
    ],
)
def test_recorded_ops_stand_against_coinciding_counts(
    around_copy: tuple[str | None, str] | None,
    around_cast: tuple[str | None, str] | None,
    dtype: str | None,
    wasted: int,
) -> None:
    around = [one or (None, None) for one in (around_copy, around_cast)]
    spans = [
        {"name": "aten::copy_", "input_shapes": shapes, "input_dtypes": dtypes}
        for shapes, dtypes in around
    ]
    to_bf16 = cast(50, 2048, CAST.replace("(float)", f"({BF16})")) | {"span_id": 1}
    trace = make_trace(spans=spans, memcpys=[copy(0, 10, 8192, span_id=0)], kernels=[to_bf16])
    row = whole(trace)
    assert (row["wasteful_dtype"], row["wasted_bytes"]) == (dtype, wasted)
    said = " ".join(notes(trace, copy_cost(trace)))
    recorded = (
        around_copy is not None and "Scalar" not in around_copy[1]
    ) or around_cast is not None
    assert ("recorded as a" in said) == (wasted > 0 and recorded)
    assert ("consistent with a" in said) == (wasted > 0 and not recorded)


def test_a_cast_of_another_tensor_gives_way_to_the_right_one() -> None:
    """Two casts fit by size. The first one's op recorded that it read something else."""
    spans = [
        {"input_shapes": "[[1024]]", "input_dtypes": '["double"]'},
        {"input_shapes": "[[1000]]", "input_dtypes": '["double"]'},
    ]
    casts = [cast(50, 1024) | {"span_id": 1}, cast(70, 1024) | {"span_id": 0}]
    trace = make_trace(spans=spans, memcpys=[copy(0, 10, 8192)], kernels=casts)
    assert whole(trace)["wasted_bytes"] == 4096
    assert (
        whole(make_trace(spans=spans, memcpys=[copy(0, 10, 8192)], kernels=casts[:1]))[
            "wasted_bytes"
        ]
        == 0
    )


def test_copies_of_unknown_size_enter_no_bandwidth() -> None:
    """1000 bytes in 100 ns are 10 GB/s, however long the copy of unknown size took."""
    trace = make_trace(memcpys=[copy(0, 100, 1000), copy(200, 900, 0)])
    row = whole(trace)
    assert (row["n_calls"], row["n_unsized"], row["duration_total_ns"]) == (2, 1, 800)
    assert row["bandwidth_bytes_per_s"] == 1e10
    assert "1 of 2 copies have no known size" in notes(trace, copy_cost(trace))[0]


def test_a_cast_belongs_to_the_last_copy_before_it() -> None:
    trace = make_trace(memcpys=[copy(0, 10, 8192), copy(20, 30, 8192)], kernels=[cast(50, 1024)])
    assert whole(trace)["wasted_bytes"] == 4096


def test_notes_count_the_casts_of_each_kind_of_copy() -> None:
    trace = make_trace(
        memcpys=[copy(0, 10, 8192), copy(100, 110, 8192), copy(200, 210, 8192, "pinned")],
        kernels=[cast(50, 1024), cast(250, 1024)],
    )
    said = notes(trace, copy_cost(trace))
    assert (
        "1 of 2 copies are each followed by a cast that reads 8 bytes an element and writes 4"
        in said[0]
    )
    assert "25% of the bytes copied are waste" in said[0]
    assert "1 of 1 copies" in said[2]
    assert "50% of the bytes copied are waste" in said[2]


def test_notes_on_pinning() -> None:
    base = make_trace(memcpys=[copy(0, 20_000, MB, "pinned")])
    trace = make_trace(memcpys=[copy(0, 100_000, MB)])
    assert "no pinned copy was seen" in notes(trace, copy_cost(trace))[0]
    said = notes(trace, copy_cost(trace, base=base))[0]
    assert "10.0 GB/s" in said
    assert "take 20.0 µs instead of 100 µs: pinning would save 80.0 µs" in said
    small = make_trace(memcpys=[copy(0, 700, 4)])
    assert "would not make these copies faster" in notes(small, copy_cost(small, base=base))[0]


def test_copies_that_took_no_time_and_held_no_bytes() -> None:
    trace = make_trace(memcpys=[copy(5, 5, 0), copy(5, 5, 0, "pinned")])
    found = copy_cost(trace)
    assert found["bandwidth_bytes_per_s"].to_list() == [None, None]
    said = notes(trace, found)
    assert ["no bandwidth to tell" in note for note in said] == [False, True, False, True]
    assert "1 of 1 copies have no known size" in said[0]


def test_without_copies() -> None:
    with pytest.raises(MissingTableError, match="inside the profiled region"):
        copy_cost(make_trace(kernels=[kernel(0, 5)]))


COPY = st.builds(
    lambda start, length, size, source, step: copy(start, start + length, size, source, step=step),
    st.integers(0, 200),
    st.integers(0, 50),
    st.integers(0, 10**6),
    st.sampled_from(["pageable", "pinned"]),
    st.sampled_from([None, 0, 1]),
)
KERNEL = st.builds(
    lambda start, length: kernel(start, start + length), st.integers(0, 200), st.integers(0, 50)
)


@given(st.lists(COPY, min_size=1), st.lists(KERNEL), st.integers(0, 10**18))
def test_sums_exposure_order_and_shift(
    copies: list[dict[str, Any]], kernels: list[dict[str, Any]], shift: int
) -> None:
    found = copy_cost(make_trace(memcpys=copies, kernels=kernels))
    assert (found["exposed_ns"] <= found["duration_total_ns"]).all()
    assert (found["exposed_ns"] >= 0).all()
    overall = found.filter(pl.col("step").is_null())
    assert overall["size_bytes"].sum() == sum(row["size_bytes"] for row in copies)
    assert overall["duration_total_ns"].sum() == sum(row["duration_ns"] for row in copies)
    moved = [
        [row | {"start_ns": row["start_ns"] + shift} for row in reversed(rows)]
        for rows in (copies, kernels)
    ]
    assert_frame_equal(copy_cost(make_trace(memcpys=moved[0], kernels=moved[1])), found)


def moved_page(direction: str, start: float, end: float, **more: Any) -> dict[str, Any]:
    memory = {"source_memory": "managed", "destination_memory": "managed"}
    times = {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000)}
    return {"direction": direction, "size_bytes": 4_000_000, **memory, **times, **more}


def test_kernels_that_wait_for_pages_of_managed_memory() -> None:
    """Pages arrive from 20 to 80 µs of a kernel that runs from 10 to 100, and from 210 on.

    The second kernel runs to 230 only. A copy that a call asks for is no move of pages.
    """
    trace = make_trace(
        spans=[
            {"kind": "op", "name": "aten::mul_"},
            {"kind": "nvtx", "name": "read", "start_ns": 300_000, "duration_ns": 90_000},
        ],
        api_calls=[{"api": "cudaMemcpyAsync", "kind": "memcpy"}],
        kernels=[
            {"start_ns": 10_000, "duration_ns": 90_000, "span_id": 0},
            {"start_ns": 200_000, "duration_ns": 30_000, "name": "void f<int>(int*)"},
            {"start_ns": 240_000, "duration_ns": 10_000},
        ],
        memcpys=[
            *[moved_page("h2d", start, start + 10) for start in (20, 40, 70)],
            moved_page("h2d", 210, 235),
            moved_page("d2h", 310, 320),
            moved_page("h2d", 241, 243, api_call_id=0),
        ],
    )
    said = " ".join(notes(trace, copy_cost(trace)))
    assert "move 4 times to the device, 16.000 MB in 55.0 µs" in said
    assert "and 1 times to the host, 4.000 MB in 10.0 µs" in said
    assert "2 kernels wait for them, for 80.0 µs (60.0 µs in aten::mul_, 20.0 µs in f)" in said
    assert "back to the host 4.000 MB in read" in said
    assert "cudaMemPrefetchAsync" in said


def test_copies_by_calls_of_managed_memory_move_no_pages() -> None:
    trace = make_trace(
        api_calls=[{"api": "cudaMemcpyAsync", "kind": "memcpy"}],
        memcpys=[moved_page("h2d", 1, 3, api_call_id=0)],
    )
    (said,) = notes(trace, copy_cost(trace))
    assert said.startswith("Rank 0, h2d from managed memory: 2000.0 GB/s")


MANAGED = Path(__file__).parents[1] / "samples/nsys/managed"


def test_pages_that_moved_on_an_h200_are_those_of_nsys() -> None:
    """Bytes, times and counts are those that nsys stats printed; the waits are counted anew."""
    trace = tl.collect(MANAGED / "managed.sqlite")
    said = " ".join(notes(trace, copy_cost(trace)))
    for statistics in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
        for row in pl.read_csv(MANAGED / f"managed_stats_{statistics}.csv").iter_rows(named=True):
            way = "device" if row["Operation"].endswith("Host-to-Device]") else "host"
            assert f"{row['Count']:,} times to the {way}" in said
            total = f"{row['Total (MB)']:.3f} MB" if "Total (MB)" in row else None
            assert (total or f"in {row['Total Time (ns)'] / 1e6:#.3g} ms") in said
    with closing(sqlite3.connect(f"file:{MANAGED}/managed.sqlite?mode=ro", uri=True)) as database:
        kernels = database.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
        moves = database.execute(
            "SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 11"
        ).fetchall()
    waits = []
    for begun, ended in kernels:
        inside = [(start, end) for start, end in moves if begun <= start < ended]
        if inside:
            last = max(end for _, end in inside)
            waits.append(min(last, ended) - min(start for start, _ in inside))
    assert len(waits) == 4
    assert f"4 kernels wait for them, for {sum(waits) / 1e6:#.3g} ms" in said
    (only,) = (text for text in advise(trace) if "managed memory" in text)
    assert f"up to {sum(waits) / 8e6:.2f} ms a step" in only
    share = sum(waits) / sum(ended - begun for begun, ended in kernels)
    (caveat,) = verdict(trace)["caveat"]
    assert caveat.endswith(f"pages of managed memory move during {share:.1%} of kernel time")
