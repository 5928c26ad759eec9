"""Nsight Systems inputs that are damaged, foreign, locked, or need nsys: errors with advice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.nsys_exports import KERNEL, RUNTIME, call, kernel, rewrite, strings, write
from tests.selection import only
from tests.test_nsys import SAMPLE
from tracelens.collectors import nsys
from tracelens.collectors.nsys import tool
from tracelens.collectors.nsys.export import open_directory, wanted
from tracelens.collectors.nsys.sniffing import MAGIC
from tracelens.errors import SourceError, ToolError, TracelensError


@pytest.fixture
def export(tmp_path: Path) -> Path:
    tables = {
        "StringIds": strings("cudaLaunchKernel", "gemm"),
        RUNTIME: [call(0, 1, 1, 1)],
        KERNEL: [kernel(2, 3, 2, 1)],
    }
    return write(tmp_path / "export.sqlite", tables)


def _other_database(path: Path) -> None:
    write(path, {"bookmarks": [{"id": 1}], "history": [{"id": 1}]})


def _cut(path: Path) -> None:
    path.write_bytes(SAMPLE.read_bytes()[:100_000])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b""), "found an empty file"),
        (lambda path: path.write_text("{}"), r"found the bytes 7b 7d at byte 0"),
        (_other_database, r"found a SQLite file with other tables \(bookmarks, history\)"),
        (lambda path: path.write_bytes(MAGIC), r"cannot be read|with other tables \(none\)"),
        (_cut, "it ends at byte 100000 of 331776"),
        (lambda path: path.mkdir(), "found it empty"),
    ],
)
def test_what_is_no_export(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    path = tmp_path / "odd.sqlite"
    make(path)
    with pytest.raises(SourceError, match=message) as caught:
        nsys.read(path)
    assert str(caught.value).startswith(str(path))
    assert "nsys export --type" in str(caught.value)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or directory"):
        nsys.read(tmp_path / "export.sqlite")


def test_a_directory_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="found none of them"):
        nsys.read(tmp_path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kept", [0, 4, 200, -1, -9])
def test_a_cut_file_in_a_directory(tmp_path: Path, export: Path, suffix: str, kept: int) -> None:
    folder = rewrite(export, tmp_path / "folder", suffix)
    file = folder / f"{KERNEL}{suffix}"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SourceError, match=f"table {KERNEL} cannot be read to its end"):
        nsys.read(folder)


def test_a_locked_database(export: Path) -> None:
    with closing(sqlite3.connect(export)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            SourceError, match="locked by another program; wait for nsys export to end"
        ):
            nsys.read(export)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_a_file_without_permission(export: Path) -> None:
    export.chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        nsys.read(export)


def test_reading_leaves_the_file_and_its_folder_alone(export: Path) -> None:
    """This holds in WAL mode, too.

    There a reader that may write creates files beside the database.
    """
    with closing(sqlite3.connect(export)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    before = {file: file.read_bytes() for file in export.parent.iterdir()}
    folder_mode = export.parent.stat().st_mode
    nsys.read(export)
    assert {file: file.read_bytes() for file in export.parent.iterdir()} == before
    assert export.parent.stat().st_mode == folder_mode


def test_rows_that_still_lie_in_the_log_beside_the_file_are_read(export: Path) -> None:
    (expected,) = nsys.read(export)
    with closing(sqlite3.connect(export)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 1")
        writer.commit()
        before = {file.name: file.read_bytes() for file in export.parent.iterdir()}
        assert before[f"{export.name}-wal"]
        (found,) = nsys.read(export)
        assert {file.name: file.read_bytes() for file in export.parent.iterdir()} == before
    added = found.tables["kernels"]["duration_ns"] - expected.tables["kernels"]["duration_ns"]
    assert set(added) == {1}


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.sqlite", MAGIC + b"\0", True),
        ("a.db", MAGIC, True),
        ("a.nsys-rep", b"\x28\xb5\x2f\xfd", True),
        ("a.qdstrm", b"", True),
        ("a.json", b'{"traceEvents": []}', False),
        ("a.sqlite", b"", False),
    ],
)
def test_sniff_files(tmp_path: Path, name: str, head: bytes, expected: bool) -> None:
    path = tmp_path / name
    path.write_bytes(head)
    assert nsys.sniff(path, head) is expected


def test_sniff_directories(tmp_path: Path, export: Path) -> None:
    assert not nsys.sniff(tmp_path, b"")
    assert nsys.sniff(rewrite(export, tmp_path / "p", ".parquet"), b"")
    assert nsys.sniff(rewrite(export, tmp_path / "a", ".arrow"), b"")


@pytest.fixture(autouse=True)
def _no_real_nsys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "_USUAL", ())


def _stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A stand-in for nsys: a shell script that is called as nsys would be.

    It is the only program on PATH.
    """
    folder.mkdir()
    program = folder / "nsys"
    program.write_text(
        "#!/bin/sh\n# Stand-in for Nsight Systems, for tests.\n"
        '[ "$1" = --version ] && echo "NVIDIA Nsight Systems version 2025.3.1.90" && exit\n'
        f'type="$3" output="$5" report="$6"\n{script}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(b"a report")
    return path


def test_a_report_is_exported_to_parquet(
    tmp_path: Path, export: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rewrite(export, tmp_path / "made", ".parquet")
    script = (
        f'[ "$1 $2 $4 $type" = "export --type --output parquetdir" ] && /bin/cp -r "{folder}"'
        ' "$output"'
    )
    _stand_in(tmp_path / "bin", monkeypatch, script)
    (capture,) = nsys.read(report)
    assert capture.tables["kernels"]["name"].to_list() == ["gemm"]
    assert (capture.source.name, capture.source.size_bytes) == ("run.nsys-rep", 8)


def test_an_old_nsys_exports_sqlite(
    tmp_path: Path, export: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stand_in(
        tmp_path / "bin",
        monkeypatch,
        f'[ "$type" = sqlite ] || exit 1\n/bin/cp "{export}" "$output"',
    )
    (capture,) = nsys.read(report)
    assert capture.tables["kernels"].height == 1


def test_a_report_without_nsys(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolError, match=r"nsys export --type sqlite --output run\.sqlite run\.nsys-rep"
    ):
        nsys.read(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "complaint"),
    [("echo bad report >&2; exit 2", "bad report"), ("exit 0", "nothing written")],
)
def test_a_report_that_nsys_cannot_export(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str
) -> None:
    _stand_in(tmp_path / "bin", monkeypatch, script)
    with pytest.raises(ToolError, match=rf"could not export it \(.*{complaint}\); try nsys export"):
        nsys.read(report)


@pytest.mark.slow
def test_a_raw_capture_must_be_imported_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"raw")
    _stand_in(tmp_path / "bin", monkeypatch, "exit 1")
    with pytest.raises(ToolError, match=r"QdstrmImporter -i run\.qdstrm -o run\.nsys-rep"):
        nsys.read(path)


@pytest.mark.parametrize("column", ["start", "not there"])
def test_a_table_of_millions_of_rows_in_a_few_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    n_rows = 9_000_000
    file = tmp_path / f"{KERNEL}.parquet"
    pl.select(start=pl.repeat(0, n_rows)).write_parquet(file)
    assert file.stat().st_size < 100_000
    export = open_directory(tmp_path)
    assert export is not None
    with pytest.raises(
        SourceError,
        match=r"KERNEL\.parquet: expected a table .*set TRACELENS_MAX_EXPANSION above 200",
    ):
        export.frame(KERNEL, wanted([column]))
    monkeypatch.setenv("TRACELENS_MAX_EXPANSION", "1000000")
    assert export.frame(KERNEL, wanted([column])).height == n_rows


fuzz = settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def _read_or_refuse(path: Path) -> None:
    try:
        nsys.read(path)
    except TracelensError as error:
        assert str(path) in str(error)  # noqa: PT017  # either outcome is right


@fuzz
@given(rest=st.binary(max_size=2000))
def test_random_bytes_after_the_magic(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "random.sqlite"
    path.write_bytes(MAGIC + rest)
    with pytest.raises(SourceError):
        nsys.read(path)


@fuzz
@given(kept=st.integers(0, SAMPLE.stat().st_size - 1))
def test_random_truncation(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "cut.sqlite"
    path.write_bytes(SAMPLE.read_bytes()[:kept])
    with pytest.raises(SourceError):
        nsys.read(path)


@fuzz
@given(at=st.integers(0, 8000), damage=st.binary(min_size=1, max_size=40))
def test_random_damage(tmp_path: Path, export: Path, at: int, damage: bytes) -> None:
    raw = bytearray(export.read_bytes())
    at %= len(raw)
    raw[at : at + len(damage)] = damage[: len(raw) - at]
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(raw)
    _read_or_refuse(path)


@pytest.mark.parametrize("suffix", only([".parquet"], [".parquet", ".arrow"]))
@fuzz
@given(at=st.integers(0, 8000), damage=st.binary(min_size=1, max_size=40))
def test_random_damage_in_a_directory(
    tmp_path: Path, export: Path, suffix: str, at: int, damage: bytes
) -> None:
    folder = tmp_path / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    files = sorted(rewrite(export, folder, suffix).iterdir())
    file = files[at % len(files)]
    raw = bytearray(file.read_bytes())
    at %= len(raw)
    raw[at : at + len(damage)] = damage[: len(raw) - at]
    file.write_bytes(raw)
    _read_or_refuse(folder)
