"""Logs of gdb made to fill the machine: bounded in memory and time."""

import tracemalloc
from pathlib import Path

import pytest

from tracelens.collectors import gdb
from tracelens.errors import SourceError

FRAME = "#0  0x00007f2a1c0d2e50 in cudaLaunchKernel () from /usr/lib/libcudart.so.12\n"


def test_a_log_of_gigabytes_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.txt"
    with path.open("wb") as stream:
        stream.write(FRAME.encode())
        stream.truncate(3 << 30)  # a line of 3 GB that takes no disk
    tracemalloc.start()
    with pytest.raises(
        SourceError, match=r"log\.txt: .*more than 64 MiB; set TRACELENS_MAX_LOG_MIB above 64"
    ):
        gdb.read(path)
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


def test_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text(FRAME + "x" * (1 << 20))
    monkeypatch.setenv("TRACELENS_MAX_LOG_MIB", "1")
    with pytest.raises(SourceError, match="TRACELENS_MAX_LOG_MIB above 1"):
        gdb.read(path)
    monkeypatch.setenv("TRACELENS_MAX_LOG_MIB", "2")
    (capture,) = gdb.read(path)
    assert capture.tables["frames"].height == 1


def test_a_stack_of_thirty_thousand_frames(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(FRAME.replace("#0 ", f"#{i} ") for i in range(30_000)))
    (capture,) = gdb.read(path)
    assert capture.tables["frames"].height == 30_000
    assert capture.tables["stacks"]["depth"].to_list() == [30_000]
