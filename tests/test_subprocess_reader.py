"""Several large traces are read in processes, within a memory limit; none outlives its parent."""

import gzip
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tracelens as tl
from tests.selection import only
from tests.torch_files import kernel, span, write
from tracelens.cli.collect.request import Request, bytes_of, write_files
from tracelens.collectors import torch
from tracelens.errors import SourceError, UsageError
from tracelens.running import subprocess_reader
from tracelens.running.subprocess_reader import chosen_files, needs_bytes, plan, read_apart
from tracelens.schemas import TABLES

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("800M", 8 * 10**8),
        ("5", 5),
        ("7 b", 7),
        ("1tib", 2**40),
    ],
)
def test_sizes_of_memory(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "two", "-1GB", "0", "1e9", "1 PB", "1GB of it"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size of memory; give one such as 2GB"):
        bytes_of(text)


def sparse(path: Path, size: int) -> Path:
    """A file of that size which takes no room."""
    path.touch()
    os.truncate(path, size)
    return path


def test_as_many_at_a_time_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    each = needs_bytes(sparse(tmp_path / "one.json", 10**9))
    assert each > needs_bytes(sparse(tmp_path / "small.json", 10**6))
    needs = [each] * 4
    assert [
        plan(needs, limit).n_workers for limit in (1, each, 2 * each, 3 * each - 1, 9 * each)
    ] == [1, 1, 2, 2, 4]
    assert (
        plan([*needs, needs_bytes(sparse(tmp_path / "large.json", 10**10))], 2 * each).n_workers
        == 1
    )
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert plan(needs, 9 * each).n_workers == 3


def test_gzip_counts_as_what_it_holds(tmp_path: Path) -> None:
    packed, plain = tmp_path / "t.json.gz", tmp_path / "t.json"
    plain.write_bytes(bytes(10**8))
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    assert packed.stat().st_size < 10**6
    assert needs_bytes(packed) == needs_bytes(plain)


def test_one_large_trace_stays_in_this_process(tmp_path: Path) -> None:
    large = [sparse(tmp_path / f"{i}.json", subprocess_reader.WORTH_A_PROCESS) for i in range(2)]
    small = sparse(tmp_path / "small.json", subprocess_reader.WORTH_A_PROCESS - 1)
    assert chosen_files([large[0], small]) == []
    assert chosen_files([large[0], small, large[1]]) == large
    many = [small] * subprocess_reader.MANY
    assert chosen_files(many) == many
    assert chosen_files(many[1:]) == []


def test_a_trace_read_apart_is_the_one_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write(
            tmp_path / f"rank{rank}.json",
            [span("a", 1, 9), kernel("k", 3 + rank, 1, 1)] * (rank + 1),
        )
        for rank in range(3)
    ]
    monkeypatch.setattr(subprocess_reader, "WORTH_A_PROCESS", 1)
    out = tmp_path / "apart.tracelens"
    write_files(files, "torch", Request(out, force=False, ranks=None, max_memory="1"))
    assert "reading 3 traces, 1 at a time" in capsys.readouterr().err
    found, expected = tl.open(out), tl.collect(files)
    for name in TABLES:
        assert found.frame(name).equals(expected.frame(name)), name
    assert found.kernels["rank"].to_list() == [0, 1, 1, 2, 2, 2]
    assert found.manifest.sources == expected.manifest.sources
    assert {path.name for path in tmp_path.iterdir()} == {
        "apart.tracelens",
        *(file.name for file in files),
    }


def test_an_error_is_what_reading_says(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "good.json", [span("a", 1, 9)]),
        write(tmp_path / "bad.json", "no trace"),
    ]
    with pytest.raises(SourceError) as here:
        tl.collect(files[1], kind="torch")
    with pytest.raises(SourceError) as there:
        read_apart(torch.read, files, tmp_path / "parts", 2)
    assert str(there.value) == str(here.value)


STARTED = """
import sys
from pathlib import Path
from tracelens.collectors.torch import read
from tracelens.running.subprocess_reader import read_apart

if __name__ == "__main__":
    read_apart(read, [Path(name) for name in sys.argv[2:]], Path(sys.argv[1]), 2)
"""


@pytest.mark.parametrize(
    "sent", only([signal.SIGKILL], [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
)
def test_no_process_outlives_its_parent(tmp_path: Path, sent: signal.Signals) -> None:
    pipes = [tmp_path / "a.json", tmp_path / "b.json"]
    for pipe in pipes:
        os.mkfifo(pipe)
    command = [sys.executable, "-c", STARTED, str(tmp_path / "parts"), *map(str, pipes)]
    parent = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    # Opening a pipe to write waits until one of the processes reads it; it is in error once nobody
    # does.
    ends = [os.open(pipe, os.O_WRONLY) for pipe in pipes]
    parent.send_signal(sent)
    parent.wait(60)
    for end in ends:
        poll = select.poll()
        poll.register(end, select.POLLERR)
        assert poll.poll(60_000)
        os.close(end)
