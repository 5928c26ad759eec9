"""A damaged or tampered trace directory: an error that names the file, and bounded memory."""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cases import make_trace
from tracelens.collectors import collect
from tracelens.errors import SourceError
from tracelens.trace import Trace

PART = "spans/rank=0/part-0.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace of three spans and a kernel."""
    spans: list[dict[str, Any]] = [
        {"name": "a", "duration_ns": 9},
        {"name": "b", "parent_id": 0},
        {"name": "c"},
    ]
    made = make_trace(spans=spans, kernels=[{}]).write(tmp_path / "t.tracelens")
    assert made.path is not None
    return made.path


def rewrite(file: Path, **columns: Any) -> None:
    """Put other columns into a part."""
    pl.read_parquet(file, glob=False).with_columns(**columns).write_parquet(file)


@pytest.mark.parametrize(
    ("column", "dtype", "found"),
    [
        ("duration_ns", pl.String, "should be int64, is .*string"),
        ("duration_ns", pl.Int32, "should be int64, is int32"),
        ("parent_id", pl.UInt64, "should be int64, is uint64"),
        ("name", pl.Binary, "should be string, is .*binary"),
        ("depth", pl.List(pl.Int32), "should be int32, is .*list"),
    ],
)
def test_a_column_of_another_type_is_refused_on_opening(
    folder: Path, column: str, dtype: Any, found: str
) -> None:
    old = pl.read_parquet(folder / PART, glob=False)[column]
    new = old.implode().repeat_by(3).explode() if dtype == pl.List(pl.Int32) else old.cast(dtype)
    rewrite(folder / PART, **{column: new})
    with pytest.raises(SourceError, match=rf"part-0\.parquet: column {column} {found}"):
        Trace.open(folder)


def test_names_of_columns_that_are_no_text(folder: Path) -> None:
    content = (folder / PART).read_bytes()
    (folder / PART).write_bytes(content.replace(b"duration_ns", b"duratio\xff_ns"))
    with pytest.raises(SourceError, match=r"part-0\.parquet: cannot be read as Parquet"):
        Trace.open(folder)


def test_text_that_is_no_unicode(folder: Path) -> None:
    table = pq.read_table(folder / PART, partitioning=None)
    broken = pa.array([b"\xff\xfe", b"b", b"\xc3"], pa.large_binary()).view(pa.large_string())
    at = table.schema.get_field_index("name")
    pq.write_table(table.set_column(at, "name", broken), folder / PART)
    for read in (
        lambda t: t.frame("spans"),
        lambda t: t.select("spans", "name"),
        lambda t: [*t.batches("spans", "name")],
    ):
        with pytest.raises(SourceError, match=r"t\.tracelens/spans: cannot be read as Parquet"):
            read(Trace.open(folder))


MANIFESTS: dict[str, tuple[str, Any, str]] = {
    "rows as text": ("n_rows", {"spans": {"0": "3"}}, "Expected `int`, got `str` - at `.\\.n_rows"),
    "rows below 0": ("n_rows", {"spans": {"0": -3}}, "n_rows should be whole numbers"),
    "names below 0": ("n_names", {"spans": {"0": -3}}, "n_names should be whole numbers"),
    "more rows than can be": (
        "n_rows",
        {"spans": {"0": 10**400}},
        "a number has more than 64 bits",
    ),
    "a rank that leaves the folder": (
        "n_rows",
        {"spans": {"0/../../..": 3}},
        "n_rows should be by table and rank",
    ),
    "a rank below 0": ("n_rows", {"spans": {"-1": 3}}, "n_rows should be by table and rank"),
    "a rank of other digits": ("n_rows", {"spans": {"٣": 3}}, "n_rows should be by table and rank"),
    "ranks below 0": ("ranks", [-5], "ranks should be whole numbers from 0 on"),
    "ranks of more than 31 bits": ("ranks", [2**31], "ranks should be whole numbers from 0 on"),
    "a size as text": ("sources", [{"size_bytes": "1"}], "size_bytes of a source should be int"),
    "a size of 400 digits": (
        "sources",
        [{"size_bytes": 10**400}],
        "a number has more than 64 bits",
    ),
    "settings as a list": ("sources", [{"settings": []}], "settings of a source should be dict"),
    "a setting of 400 digits": (
        "sources",
        [{"settings": {"a": [10**400]}}],
        "a number has more than 64 bits",
    ),
    "half a character": ("sources", [{"name": "\ud800"}], "surrogates not allowed"),
    "a precision of 400 digits": ("time_precision_ns", 10**400, "a number has more than 64 bits"),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_whose_values_cannot_be_true(folder: Path, what: str) -> None:
    key, value, message = MANIFESTS[what]
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(SourceError, match=rf"manifest\.json: is damaged: .*{message}"):
        Trace.open(folder)


@pytest.mark.parametrize("linked", ["", "rank=0", "rank=0/part-0.parquet"])
def test_no_part_lies_elsewhere(folder: Path, tmp_path: Path, linked: str) -> None:
    inside = folder / "spans" / linked
    inside.rename(tmp_path / "elsewhere")
    inside.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match=r"part-0\.parquet: is a link, or in a linked folder"):
        Trace.open(folder)


def test_a_part_that_is_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / PART).unlink()
    os.mkfifo(folder / PART)
    with pytest.raises(SourceError, match=r"part-0\.parquet: is no file"):
        Trace.open(folder)


def test_a_table_that_would_take_far_more_memory_than_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, n_rows = folder / "allocations" / "rank=0" / "part-0.parquet", 3_000_000
    file.parent.mkdir(parents=True)
    zeros = pa.nulls(n_rows, pa.int64()).fill_null(0)
    names = ("time_ns", "size_bytes", "address", "allocated_bytes", "reserved_bytes", "device_id")
    columns = {name: zeros.cast(pa.int32()) if name == "device_id" else zeros for name in names}
    pq.write_table(pa.table(columns), file, compression="zstd")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["n_rows"]["allocations"] = {"0": n_rows}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert file.stat().st_size < 200_000
    expected = (
        r"bytes that become .*allocations/rank=0/part-0\.parquet; set TRACELENS_MAX_EXPANSION"
        r" above 200"
    )
    with pytest.raises(SourceError, match=expected):
        Trace.open(folder)
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", "1000000")
    assert Trace.open(folder).height("allocations") == n_rows


@pytest.mark.parametrize("kind", [None, "torch"])
def test_a_pipe_in_a_folder_of_sources_is_refused(tmp_path: Path, kind: str | None) -> None:
    os.mkfifo(tmp_path / "rank1.json")
    for path in (tmp_path, tmp_path / "rank1.json"):
        with pytest.raises(SourceError, match=r"rank1\.json: is a pipe, a socket or a device"):
            collect(path, kind=kind)


def test_a_pipe_in_an_export_of_nsys_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    with pytest.raises(SourceError, match=r"KERNEL\.parquet: is a pipe"):
        collect(tmp_path)
