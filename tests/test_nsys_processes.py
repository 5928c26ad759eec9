"""Processes of one nsys file as ranks: a real capture, every second call moved to another one."""

import pickle
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from contextvars import Context
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests import nsys_exports
from tests.command_line import command_line
from tests.nsys_exports import KERNEL, MEMCPY, NVTX, RUNTIME, packed
from tests.selection import only
from tests.sources import SAMPLES
from tracelens.cli.collect import request
from tracelens.collectors import nsys
from tracelens.jobs.job import Work, attempted
from tracelens.jobs.tasks import Task

SAMPLE = SAMPLES / "nsys" / "eager_resnet50.sqlite"
FIRST, SECOND, LAUNCHER = 462, 7001, 400
SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
TOTALS = ("kernels", "memcpys", "memsets", "api_calls", "spans", "synchronizations")


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture as if another process had made every second call, on its own GPU 0."""
    path = tmp_path_factory.mktemp("nsys") / "two.sqlite"
    shutil.copyfile(SAMPLE, path)
    path.chmod(0o644)
    moved = (SECOND - FIRST) << 24
    with closing(sqlite3.connect(path)) as database:
        tables = {
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        for table in {KERNEL, MEMCPY, nsys_exports.MEMSET, SYNCHRONIZATION} & tables:
            database.execute(
                f"UPDATE {table} SET globalPid = globalPid + {moved} WHERE correlationId % 2"  # noqa: S608
            )
        database.execute(
            f"UPDATE {RUNTIME} SET globalTid = globalTid + {moved} WHERE correlationId % 2"  # noqa: S608
        )
        database.execute(f"UPDATE {NVTX} SET globalTid = globalTid + {moved} WHERE rowid % 3 = 0")  # noqa: S608
        # A launcher runs no kernel: what it did belongs to no rank.
        (tid,) = database.execute(
            f"SELECT globalTid FROM {RUNTIME} WHERE correlationId % 2 = 0"  # noqa: S608
        ).fetchone()
        launches = "SELECT id FROM StringIds WHERE value LIKE '%Launch%'"
        last = f"(SELECT max(rowid) FROM {RUNTIME} WHERE nameId NOT IN ({launches}))"  # noqa: S608
        moved_to = tid + ((LAUNCHER - FIRST) << 24)
        database.execute(f"UPDATE {RUNTIME} SET globalTid = {moved_to} WHERE rowid = {last}")  # noqa: S608
        columns = [row[1] for row in database.execute("PRAGMA table_info(TARGET_INFO_CUDA_DEVICE)")]
        values = ", ".join({"gpuId": "1", "pid": str(SECOND)}.get(name, name) for name in columns)
        database.execute(
            f"INSERT INTO TARGET_INFO_CUDA_DEVICE SELECT {values} FROM TARGET_INFO_CUDA_DEVICE"  # noqa: S608
            " LIMIT 1"
        )
        columns = [row[1] for row in database.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
        values = ", ".join("1" if name == "id" else name for name in columns)
        database.execute(
            f"INSERT INTO TARGET_INFO_GPU SELECT {values} FROM TARGET_INFO_GPU LIMIT 1"  # noqa: S608
        )
        database.commit()
    return path


def read(path: Path, choice: str) -> tl.Trace:
    with nsys.ranked_by(choice):
        return tl.collect(path)


def test_a_task_reads_by_the_word_that_was_chosen(
    export: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def elsewhere(tasks: Sequence[Task], work: Work) -> Iterator[tuple[Task, Any]]:
        """Run tasks like a process that knows only what the driver sends it."""
        for task in tasks:
            yield task, Context().run(attempted, task, pickle.loads(pickle.dumps(work)))  # noqa: S301 - ours

    monkeypatch.setattr(request, "_engine", lambda *_: elsewhere)
    for word, ranks in (("file", [0]), ("process", [0, 1])):
        target = tmp_path / f"{word}.tracelens"
        words = ("--rank-by", word, "--engine", "local", "--out", target)
        assert command_line(capsys, "collect", "nsys", export, *words).code == 0
        assert tl.open(target).manifest.ranks == ranks
    done = command_line(capsys, "collect", "nsys", "--engine", "local", "--", "true")
    assert (done.code, done.err) == (
        2,
        "error: --engine belongs to a capture of FILES; leave it out here\n",
    )


def test_totals_of_the_ranks_are_the_files(export: Path) -> None:
    whole, ranks = read(export, "file"), read(export, "auto")
    assert (whole.manifest.ranks, ranks.manifest.ranks) == ([0], [0, 1])
    for name in TOTALS:
        assert ranks.height(name) == whole.height(name)
        if name != "synchronizations":
            assert ranks.frame(name)["duration_ns"].sum() == whole.frame(name)["duration_ns"].sum()
    with closing(sqlite3.connect(SAMPLE)) as database:
        (total,) = database.execute(f"SELECT sum(end - start) FROM {KERNEL}").fetchone()  # noqa: S608
        odd = database.execute(
            f"SELECT sum(end - start) FROM {KERNEL} WHERE correlationId % 2"  # noqa: S608
        ).fetchone()[0]
    of_rank = dict(ranks.kernels.group_by("rank").agg(pl.sum("duration_ns")).iter_rows())
    assert of_rank == {0: total - odd, 1: odd}
    assert ranks.kernels.group_by("rank").agg(pl.col("process_id").unique()).sort(
        "rank"
    ).rows() == [
        (0, [FIRST]),
        (1, [SECOND]),
    ]
    # Each process calls its GPU 0; the work of each is linked to its own calls.
    assert set(ranks.kernels["device_id"]) == {0}
    assert ranks.kernels["link"].unique().to_list() == ["launched"]
    calls = ranks.api_calls.select("rank", "api_call_id", caller="process_id")
    assert (
        ranks.kernels.join(calls, on=["rank", "api_call_id"])
        .filter(pl.col("caller") != pl.col("process_id"))
        .is_empty()
    )


def test_what_belongs_to_no_rank_is_counted(export: Path) -> None:
    ranks = read(export, "process")
    counted = ranks.diagnostics.filter(pl.col("code") == "rows_without_rank")
    assert counted.select("rank", "severity", "count").rows() == [(0, "info", 1)]
    assert ranks.api_calls.filter(pl.col("process_id") == LAUNCHER).select("rank").rows() == [(0,)]


@pytest.mark.parametrize("suffix", only([".parquet"], [".parquet", ".arrow"]))
def test_other_exports_have_the_same_ranks(export: Path, suffix: str, tmp_path: Path) -> None:
    other = read(nsys_exports.rewrite(export, tmp_path / "export", suffix), "auto")
    ranks = read(export, "auto")
    for name in TOTALS:
        assert other.frame(name).equals(ranks.frame(name))


def test_processes_that_share_a_device_are_one_rank_unless_told(tmp_path: Path) -> None:
    kernels = [nsys_exports.kernel(0, 5, 2, 1, 7), nsys_exports.kernel(6, 9, 2, 1, 9)]
    tables = {
        "StringIds": nsys_exports.NAMES,
        KERNEL: kernels,
        "META_DATA_EXPORT": nsys_exports.version("3.20.3"),
    }
    path = nsys_exports.write(tmp_path / "shared.sqlite", tables)
    assert read(path, "auto").manifest.ranks == [0]
    assert read(path, "process").kernels.select("rank", "process_id").rows() == [(0, 7), (1, 9)]


def test_samples_go_to_the_rank_of_their_gpu(tmp_path: Path) -> None:
    seen = [{"gpuId": 0, "cudaId": 0, "pid": 7}, {"gpuId": 1, "cudaId": 0, "pid": 9}]
    samples = [
        {"timestamp": 3, "typeId": gpu, "metricId": 5, "value": 10 + gpu} for gpu in (0, 1, 2)
    ]
    tables = {
        "StringIds": nsys_exports.NAMES,
        "META_DATA_EXPORT": nsys_exports.version("3.20.3"),
        "GPU_METRICS": samples,
        "TARGET_INFO_GPU": [nsys_exports.gpu(0), nsys_exports.gpu(1)],
        "TARGET_INFO_CUDA_DEVICE": seen,
        KERNEL: [nsys_exports.kernel(0, 5, 2, 1, 7), nsys_exports.kernel(6, 9, 2, 1, 9)],
        RUNTIME: [
            nsys_exports.call(0, 1, 1, 1, packed(7, 8)),
            nsys_exports.call(5, 6, 1, 1, packed(9, 9)),
        ],
    }
    trace = read(nsys_exports.write(tmp_path / "two.sqlite", tables), "auto")
    assert trace.counters.select("rank", "value").sort("value").rows() == [
        (0, 10.0),
        (1, 11.0),
        (0, 12.0),
    ]
    assert trace.devices.select("rank", "device_id").rows() == [(0, 0), (1, 0)]


def test_the_choice_on_the_command_line(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for choice, n in (("file", 1), ("process", 2)):
        out = tmp_path / f"{choice}.tracelens"
        assert (
            command_line(capsys, "collect", "nsys", export, "--rank-by", choice, "--out", out).code
            == 0
        )
        assert len(tl.open(out).manifest.ranks) == n
    refused = command_line(
        capsys, "collect", "nsys", export, "--rank-by", "device", "--out", tmp_path / "x"
    )
    assert refused.code == 2
    assert "--rank-by device: what a rank is can be auto, process, file" in refused.err
