"""Real Nsight Systems captures, end to end: every cell that nsys itself printed of them, from our tables."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import nsys_exports, nsys_stats
from tests.cases import declared
from tracelens.collectors import collect, nsys
from tracelens.collectors.nsys import export as reading
from tracelens.collectors.nsys.sqlite import SqliteExport
from tracelens.storage.table import DataType
from tracelens.trace.capture import Capture

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "samples" / "nsys", ROOT.parent / "shared" / "data" / "nsys")
SAMPLE = FOLDERS[0] / "eager_resnet50.sqlite"


def _printed() -> Iterator[tuple[Path, str]]:
    """Every table that nsys printed, with the export it was printed of."""
    for folder in FOLDERS:
        for file in sorted(folder.glob("*_stats_*.csv")):
            capture, _, table = file.stem.partition("_stats_")
            yield folder / f"{capture}.sqlite", table


@cache
def _capture(path: Path) -> Capture:
    (capture,) = nsys.read(path)
    capture.tables = declared(capture.tables)
    return capture


@pytest.mark.parametrize(("export", "table"), list(_printed()), ids=lambda x: x if isinstance(x, str) else x.stem)
def test_every_row_that_nsys_printed(export: Path, table: str) -> None:
    tables = _capture(export).tables
    if table == "cuda_gpu_trace":
        with closing(sqlite3.connect(f"file:{export}?mode=ro", uri=True)) as database:
            (began,) = database.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        ours = nsys_stats.cuda_gpu_trace(tables, began)
    else:
        ours = nsys_stats.SUMMARIES[table](tables)
    with export.with_name(f"{export.stem}_stats_{table}.csv").open(newline="") as stream:
        theirs = [tuple(row) for row in csv.reader(stream)][1:]
    assert theirs
    assert nsys_stats.differences(ours, theirs) == []


def test_the_comparison_covers_all_tables_in_the_samples() -> None:
    printed = {table for export, table in _printed() if export.parent == FOLDERS[0]}
    assert printed == set(nsys_stats.SUMMARIES) | {"cuda_gpu_trace"}


def test_the_comparison_sees_a_difference() -> None:
    assert nsys_stats.differences([("1", "a")], [("2", "a")]) == ["ours: ('1', 'a')", "nsys: ('2', 'a')"]
    assert nsys_stats.differences([("1", "a")], [("1", "a"), ("1", "a")]) == ["1 rows of ours, 2 of nsys"]


@pytest.mark.parametrize("name", ["eager_resnet50", "cudagraph_resnet50", "train_f64_resnet50", "first_run_resnet50"])
def test_nsys_own_parquet_and_arrow_give_the_same_tables(name: str) -> None:
    folder = FOLDERS[1]
    others = [p for p in (folder / f"{name}_parquetdir", folder / f"{name}_arrowdir") if p.is_dir()]
    if not others:
        pytest.skip(f"{name} as Parquet or Arrow is not at hand; only the samples ship with the repository")
    for other in others:
        _assert_same(_capture(folder / f"{name}.sqlite"), _capture(other))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_sample_rewritten_gives_the_same_tables(tmp_path: Path, suffix: str) -> None:
    _assert_same(_capture(SAMPLE), _capture(nsys_exports.rewrite(SAMPLE, tmp_path / "export", suffix)))


def _assert_same(one: Capture, other: Capture) -> None:
    assert one.tables.keys() == other.tables.keys()
    for name, frame in one.tables.items():
        assert frame.equals(other.tables[name]), name
    assert one.diagnostics.frame().equals(other.diagnostics.frame())
    assert (one.versions, one.settings, one.time_base) == (other.versions, other.settings, other.time_base)


def test_the_fast_reader_gives_the_same_frames() -> None:
    pytest.importorskip("connectorx", reason="the extra tracelens-toolkit[sqlite] is not installed")
    fast, slow = SqliteExport(SAMPLE), SqliteExport(SAMPLE, fast=False)
    assert fast._fast_read("CUPTI_ACTIVITY_KIND_KERNEL", ["start"], (1, 9)) is not None
    for table, columns in fast.columns.items():
        wanted: dict[str, DataType] = {
            name: pl.String if name in {"name", "value", "text", "label"} else pl.Int64 for name in sorted(columns)
        }
        assert fast.frame(table, wanted).equals(slow.frame(table, wanted)), table


def test_rows_that_the_fast_reader_rejects_are_read_the_slow_way(tmp_path: Path) -> None:
    """Connectorx takes a column's word for its type; of a chunk with a text among numbers it gives nothing."""
    pytest.importorskip("connectorx", reason="the extra tracelens-toolkit[sqlite] is not installed")
    path = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        rows = [("text" if i == 700 else i, f"name {i}") for i in range(1000)]
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
        database.commit()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_CHUNK_CELLS", 200)
        found = SqliteExport(path)
        columns: dict[str, DataType] = {"id": pl.Int64, "value": pl.String}
        chunks = list(found.chunks("StringIds", columns))
        fast = [found._fast_read("StringIds", ["id"], (at, at + 99)) is not None for at in range(1, 1000, 100)]
    assert [chunk.height for chunk in chunks] == [100] * 10
    assert fast == [True] * 7 + [False] + [True] * 2
    assert pl.concat(chunks).rows() == [(None if i == 700 else i, f"name {i}") for i in range(1000)]


def test_rowids_far_apart_do_not_make_it_look_for_rows_between(tmp_path: Path) -> None:
    path = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        ends = [(-(2**62), 1, "first"), (2**62, 2, "last")]
        database.executemany("INSERT INTO StringIds (rowid, id, value) VALUES (?, ?, ?)", ends)
        database.commit()
    columns: dict[str, DataType] = {"id": pl.Int64, "value": pl.String}
    assert SqliteExport(path).frame("StringIds", columns).rows() == [(1, "first"), (2, "last")]


def test_strings_that_nothing_refers_to_stay_out_of_the_trace(tmp_path: Path) -> None:
    """Columns of names are written as dictionaries: they hold the names used, and of StringIds nothing else."""
    secret = "TOKEN=of-the-environment"  # noqa: S105 - none
    strings = nsys_exports.strings("cudaLaunchKernel_v7000", "gemm", secret, "step 0")
    rows = {
        "StringIds": strings,
        nsys_exports.RUNTIME: [nsys_exports.call(10, 12, 1, 1)],
        nsys_exports.KERNEL: [nsys_exports.kernel(20, 30, 2, 1)],
    }
    trace = collect(nsys_exports.write(tmp_path / "export.sqlite", rows)).write(tmp_path / "x.tracelens")
    assert trace.kernels["name"].to_list() == ["gemm"]
    for file in (tmp_path / "x.tracelens").rglob("*.parquet"):
        texts = [f.name for f in pq.read_schema(file) if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        for column in pq.read_table(file, read_dictionary=texts, partitioning=None).columns:
            dictionary = column.chunk(0).dictionary if pa.types.is_dictionary(column.type) else pa.array([])
            assert secret not in dictionary.to_pylist()


def test_facts_of_the_eager_sample() -> None:
    """Counts by nsys: 552 + 108 + 57 launches, of 717 kernels, three steps of 239 each; the clock by its own table."""
    capture = _capture(SAMPLE)
    kernels, calls = capture.tables["kernels"], capture.tables["api_calls"]
    assert kernels.height == 717
    assert kernels["link"].unique().to_list() == ["launched"]
    assert kernels["step"].value_counts(sort=True).sort("step").rows() == [(0, 239), (1, 239), (2, 239)]
    assert calls.filter(pl.col("kind") == "kernel_launch").height == 717
    assert capture.time_base == "unix_epoch"
    assert kernels["start_ns"].min() == 1795233992735914747 + 12270688
    assert capture.versions == {"nsys": "2025.3.2.0", "nsys_schema": "3.20.3", "driver": "580.159.04"}
    assert capture.settings == {"traced": ["NvtxEvents", "Cuda"], "cuda_graph_trace": "node"}
    assert capture.tables["devices"].select("name", "sm_count", "compute_capability").rows() == [
        ("NVIDIA H200", 132, "9.0")
    ]
    assert capture.complete
    assert set(capture.reasons) == {"memcpys", "counters", "collectives", "allocations", "layers"}
