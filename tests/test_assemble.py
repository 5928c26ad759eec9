"""From raw frames to a trace's tables: the same for any order, shift or packing of the events."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import declared
from tests.torch_files import CAPTURES, call, codes, kernel, needs_captures, read, rows, span, write
from tracelens.derive.assemble import assemble
from tracelens.schemas import TABLES
from tracelens.schemas.raw import RAW_TABLES
from tracelens.trace.capture import Capture, Diagnostics

IDS = ("span_id", "parent_id", "op_span_id", "api_call_id", "kernel_id", "memset_id", "memcpy_id")


VALUES: dict[Any, Any] = {
    pl.String: "x",
    pl.Boolean: False,
    pl.Float64: 0.0,
    pl.Int32: 7,
    pl.Int64: 7,
}


@pytest.mark.parametrize("name", [name for name in RAW_TABLES if name != "graph_nodes"])
def test_the_needed_raw_columns_are_enough(name: str) -> None:
    needed = {
        column.name: pl.Series([column.values[-1] if column.values else VALUES[column.dtype]])
        for column in RAW_TABLES[name]
        if not column.nullable
    }
    tables = assemble({name: pl.DataFrame(needed)}, Diagnostics())
    assert declared({name: tables[name]})[name].height == 1


@pytest.mark.parametrize("name", [name for name in RAW_TABLES if name != "graph_nodes"])
def test_derived_columns_are_no_raw_ones(name: str) -> None:
    """What a collector gives stays as it is."""
    table = RAW_TABLES[name]
    row = {
        c.name: pl.Series([c.values[0] if c.values else VALUES[c.dtype]], dtype=c.dtype)
        for c in table
    }
    given = pl.DataFrame({key: value for key, value in row.items() if key != "parent_hint"})
    tables = assemble({name: given}, Diagnostics())
    kept = [c.name for c in table if c.name in TABLES[name].names]
    assert declared({name: tables[name]})[name].select(kept).row(0) == given.select(kept).row(0)


def test_ids_count_up_in_time_and_point_at_each_other(tmp_path: Path) -> None:
    events = [
        kernel("k1", 30, 5, 2),
        kernel("k0", 20, 5, 1),
        call("cudaLaunchKernel", 12, 1, 2),
        call("cudaLaunchKernel", 6, 1, 1),
        span("inner", 11, 4),
        span("other thread", 1, 50, tid=2),
        span("outer", 5, 20),
    ]
    capture = read(write(tmp_path / "t.json", events))
    assert rows(capture, "spans", "span_id", "name", "parent_id", "depth") == [
        (0, "other thread", None, 0),
        (1, "outer", None, 0),
        (2, "inner", 1, 1),
    ]
    assert rows(capture, "api_calls", "api_call_id", "correlation_id", "span_id") == [
        (0, 1, 1),
        (1, 2, 2),
    ]
    assert rows(capture, "kernels", "kernel_id", "name", "api_call_id", "span_id") == [
        (0, "k0", 0, 1),
        (1, "k1", 1, 2),
    ]


def test_a_kernel_is_classified_by_the_op_that_launched_it(tmp_path: Path) -> None:
    triton = span("triton_poi_fused_relu_0", 20, 9, args={"kernel_backend": "triton"})
    events = [
        span("aten::_softmax", 0, 10),
        call("cudaLaunchKernel", 2, 1, 1),
        kernel("some_kernel", 30, 1, 1),
        triton,
        call("cuLaunchKernel", 22, 1, 2, cat="cuda_driver"),
        kernel("triton_poi_fused_relu_0", 40, 1, 2),
    ]
    capture = read(write(tmp_path / "t.json", events))
    # The first one's name says nothing, of its library neither; what it computes, the op tells.
    assert rows(capture, "kernels", "library", "primitive") == [
        ("other", "softmax"),
        ("triton", "elementwise"),
    ]


def test_durations_of_days_are_kept_and_flagged(tmp_path: Path) -> None:
    day_us = 86_400 * 10**6
    capture = read(
        write(
            tmp_path / "t.json", [kernel("k", 1, day_us, 1), kernel("overflow", 2, day_us + 1, 2)]
        )
    )
    assert rows(capture, "kernels", "duration_ns") == [(day_us * 1000,), ((day_us + 1) * 1000,)]
    assert codes(capture)["duration_overflow"] == 1


def test_nothing_gives_no_tables() -> None:
    assert assemble({}, Diagnostics()) == {}


def test_tables_without_rows_are_left_out_and_have_a_reason(tmp_path: Path) -> None:
    capture = read(write(tmp_path / "t.json", [span("a", 1, 1)]))
    assert set(capture.tables) == {"spans", "activities", "ranks"}
    assert "ProfilerActivity.CUDA" in capture.reasons["kernels"]
    assert "with_modules=True" in capture.reasons["layers"]


def alike(one: Capture, other: Capture) -> None:
    """Return whether every table has the same rows.

    Ids do not count, nor the order of equal times.
    """
    assert set(one.tables) == set(other.tables)
    for name, frame in one.tables.items():
        plain = frame.drop(IDS, strict=False)
        order = plain.columns
        assert plain.sort(order).equals(other.tables[name].drop(IDS, strict=False).sort(order)), (
            name
        )


@needs_captures
@pytest.mark.parametrize("name", ["alexnet_eager", "resnet50_cudagraph"])
def test_order_layout_packing_and_shift_change_nothing(tmp_path: Path, name: str) -> None:
    path = CAPTURES / f"{name}.pt.trace.json.gz"
    original, document = read(path), json.loads(gzip.decompress(path.read_bytes()))
    alike(
        original,
        read(write(tmp_path / "compact.json", json.dumps(document, separators=(",", ":")))),
    )
    random.Random(7).shuffle(document["traceEvents"])  # noqa: S311
    alike(original, read(write(tmp_path / "shuffled.json.gz", json.dumps(document))))
    shift = 86_400 * 10**9
    shifted = read(
        write(
            tmp_path / "shifted.json",
            json.dumps(document | {"baseTimeNanoseconds": document["baseTimeNanoseconds"] + shift}),
        )
    )
    for table, frame in shifted.tables.items():
        moments = [column for column in ("start_ns", "time_ns") if column in frame.columns]
        shifted.tables[table] = frame.with_columns(pl.col(moments) - shift)
    alike(original, shifted)
