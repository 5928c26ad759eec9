"""Real Nsight Systems captures, end to end: every cell that nsys printed, from our tables."""

from __future__ import annotations

import csv
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samples.nsys.cut import cut
from tests import nsys_exports, nsys_stats
from tests.cases import declared
from tests.selection import every, only
from tests.sources import MORE
from tracelens.collectors import collect, nsys
from tracelens.collectors.nsys import export as reading
from tracelens.collectors.nsys.sqlite import SqliteExport
from tracelens.storage.table import DataType
from tracelens.trace.capture import Capture

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "samples" / "nsys", MORE / "nsys")
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


@pytest.mark.parametrize(
    ("export", "table"),
    every(3, [pytest.param(*one) for one in _printed()]),
    ids=lambda x: x if isinstance(x, str) else x.stem,
)
def test_every_row_that_nsys_printed(export: Path, table: str) -> None:
    tables = _capture(export).tables
    if table == "cuda_gpu_trace":
        with closing(sqlite3.connect(f"file:{export}?mode=ro", uri=True)) as database:
            (began,) = database.execute(
                "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"
            ).fetchone()
        ours = nsys_stats.cuda_gpu_trace(tables, began)
    else:
        ours = nsys_stats.SUMMARIES[table](tables)
    with export.with_name(f"{export.stem}_stats_{table}.csv").open(newline="") as stream:
        theirs = [tuple(row) for row in csv.reader(stream)][1:]
    assert theirs
    assert nsys_stats.differences(ours, theirs) == []


def test_cut_steps_hold_what_was_launched_in_them(tmp_path: Path) -> None:
    target = tmp_path / "cut.sqlite"
    cut(SAMPLE, target, "1", "2", "")
    begin, end = 17_062_581, 25_913_609  # of its NVTX ranges "step 1" and "step 2"
    with closing(sqlite3.connect(f"file:{SAMPLE}?mode=ro", uri=True)) as whole:
        launched = whole.execute(
            "SELECT work.start, value FROM CUPTI_ACTIVITY_KIND_KERNEL work"
            " JOIN CUPTI_ACTIVITY_KIND_RUNTIME call USING (correlationId)"
            " JOIN StringIds ON demangledName = id WHERE call.start BETWEEN ? AND ? ORDER BY 1",
            (begin, end),
        ).fetchall()
        (began,) = whole.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
    kernels = _capture(target).tables["kernels"].sort("start_ns")
    names = kernels["name"].cast(pl.String)
    assert list(zip(kernels["start_ns"] - began, names, strict=True)) == launched
    with pytest.raises(SystemExit, match="no steps 1 to 7"):
        cut(SAMPLE, target, "1", "7", "")


def test_the_comparison_covers_all_tables_in_the_samples() -> None:
    printed = {table for export, table in _printed() if export.parent == FOLDERS[0]}
    assert printed == set(nsys_stats.SUMMARIES) | {"cuda_gpu_trace"}


def test_the_comparison_sees_a_difference() -> None:
    assert nsys_stats.differences([("1", "a")], [("2", "a")]) == [
        "ours: ('1', 'a')",
        "nsys: ('2', 'a')",
    ]
    assert nsys_stats.differences([("1", "a")], [("1", "a"), ("1", "a")]) == [
        "1 rows of ours, 2 of nsys"
    ]


@pytest.mark.parametrize(
    "name", ["eager_resnet50", "cudagraph_resnet50", "train_f64_resnet50", "first_run_resnet50"]
)
def test_nsys_own_parquet_and_arrow_give_the_same_tables(name: str) -> None:
    folder = FOLDERS[1]
    others = [p for p in (folder / f"{name}_parquetdir", folder / f"{name}_arrowdir") if p.is_dir()]
    if not others:
        pytest.skip(
            f"{name} as Parquet or Arrow is not at hand; only the samples ship with the repository"
        )
    for other in others:
        _assert_same(_capture(folder / f"{name}.sqlite"), _capture(other))


@pytest.mark.parametrize("suffix", only([".parquet"], [".parquet", ".arrow"]))
def test_a_sample_rewritten_gives_the_same_tables(tmp_path: Path, suffix: str) -> None:
    _assert_same(
        _capture(SAMPLE), _capture(nsys_exports.rewrite(SAMPLE, tmp_path / "export", suffix))
    )


def _assert_same(one: Capture, other: Capture) -> None:
    assert one.tables.keys() == other.tables.keys()
    for name, frame in one.tables.items():
        assert frame.equals(other.tables[name]), name
    assert one.diagnostics.frame().equals(other.diagnostics.frame())
    assert (one.versions, one.settings, one.time_base) == (
        other.versions,
        other.settings,
        other.time_base,
    )


@pytest.fixture
def n_arrow_chunks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each chunk that ADBC gives while the test runs."""
    pytest.importorskip(
        "adbc_driver_sqlite", reason="the extra tracelens-toolkit[sqlite] is not installed"
    )
    heights: list[int] = []
    original = SqliteExport._arrow_chunks

    def counted(
        self: SqliteExport, table: str, columns: Mapping[str, DataType]
    ) -> Iterator[pl.DataFrame]:
        for chunk in original(self, table, columns):
            heights.append(chunk.height)
            yield chunk

    monkeypatch.setattr(SqliteExport, "_arrow_chunks", counted)
    return heights


def test_adbc_and_python_rows_give_the_same_frames(
    n_arrow_chunks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"name", "value", "text", "label"}
    export = SqliteExport(SAMPLE)
    wanted: dict[str, dict[str, DataType]] = {
        table: {name: pl.String if name in texts else pl.Int64 for name in sorted(columns)}
        for table, columns in export.columns.items()
    }
    by_arrow = {table: export.frame(table, columns) for table, columns in wanted.items()}
    assert max(n_arrow_chunks) > 1000
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    for table, columns in wanted.items():
        assert export.frame(table, columns).equals(by_arrow[table]), table


@pytest.mark.parametrize(("at", "in_arrow"), [(700, [100] * 7), (0, [])])
def test_values_of_another_type_are_read_as_python_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_arrow_chunks: list[int],
    at: int,
    in_arrow: list[int],
) -> None:
    path = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        rows = [("text" if i == at else i, f"name {i}") for i in range(1000)]
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
        database.commit()
    monkeypatch.setattr(reading, "_CHUNK_CELLS", 200)
    columns: dict[str, DataType] = {"id": pl.Int64, "value": pl.String}
    found = SqliteExport(path).frame("StringIds", columns)
    assert n_arrow_chunks == in_arrow
    assert found.rows() == [(None if i == at else i, f"name {i}") for i in range(1000)]


def test_a_text_column_that_begins_with_nulls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "export.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, text TEXT)")
        rows = [(i, "late" if i > 7 else None) for i in range(9)]
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?)", rows)
        database.commit()
    monkeypatch.setattr(reading, "_CHUNK_CELLS", 6)
    found = SqliteExport(path).frame("NVTX_EVENTS", {"start": pl.Int64, "text": pl.String})
    assert found.rows() == rows


def test_strings_that_nothing_refers_to_stay_out_of_the_trace(tmp_path: Path) -> None:
    """Columns of names are written as dictionaries.

    They hold the names used, and nothing else of StringIds.
    """
    secret = "TOKEN=of-the-environment"  # noqa: S105 - none
    strings = nsys_exports.strings("cudaLaunchKernel_v7000", "gemm", secret, "step 0")
    rows = {
        "StringIds": strings,
        nsys_exports.RUNTIME: [nsys_exports.call(10, 12, 1, 1)],
        nsys_exports.KERNEL: [nsys_exports.kernel(20, 30, 2, 1)],
    }
    trace = collect(nsys_exports.write(tmp_path / "export.sqlite", rows)).write(
        tmp_path / "x.tracelens"
    )
    assert trace.kernels["name"].to_list() == ["gemm"]
    for file in (tmp_path / "x.tracelens").rglob("*.parquet"):
        texts = [
            f.name
            for f in pq.read_schema(file)
            if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)
        ]
        for column in pq.read_table(file, read_dictionary=texts, partitioning=None).columns:
            dictionary = (
                column.chunk(0).dictionary if pa.types.is_dictionary(column.type) else pa.array([])
            )
            assert secret not in dictionary.to_pylist()


def test_facts_of_the_eager_sample() -> None:
    """Counts by nsys: 552 + 108 + 57 launches, of 717 kernels, three steps of 239 each.

    The clock is from its own table.
    """
    capture = _capture(SAMPLE)
    kernels, calls = capture.tables["kernels"], capture.tables["api_calls"]
    assert kernels.height == 717
    assert kernels["link"].unique().to_list() == ["launched"]
    assert kernels["step"].value_counts(sort=True).sort("step").rows() == [
        (0, 239),
        (1, 239),
        (2, 239),
    ]
    assert calls.filter(pl.col("kind") == "kernel_launch").height == 717
    assert capture.time_base == "unix_epoch"
    assert kernels["start_ns"].min() == 1795233992735914747 + 12270688
    assert capture.versions == {
        "nsys": "2025.3.2.0",
        "nsys_schema": "3.20.3",
        "driver": "580.159.04",
    }
    assert capture.settings == {"traced": ["NvtxEvents", "Cuda"], "cuda_graph_trace": "node"}
    assert capture.tables["devices"].select("name", "sm_count", "compute_capability").rows() == [
        ("NVIDIA H200", 132, "9.0")
    ]
    assert capture.complete
    assert set(capture.reasons) == {"memcpys", "counters", "collectives", "allocations", "layers"}
