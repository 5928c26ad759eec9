"""Replacing a trace: in one step, or with signals waiting, and moved back after a kill."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.cli.collect.request import tell_of
from tracelens.errors import SourceError
from tracelens.storage import swap
from tracelens.storage.swap import exchange, replace_folder, restore
from tracelens.trace import directory
from tracelens.trace.capture import Manifest


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A new folder and the target, which hold a file each with their name."""
    for name in ("new", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    return tmp_path / "new", tmp_path / "target"


def test_folders_are_exchanged_in_one_step(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    new, target = folders
    if not exchange(new, target):
        pytest.skip("this file system cannot exchange two folders")
    assert [(folder / "name").read_text() for folder in (new, target)] == ["target", "new"]

    def renamed(*_: Path) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(Path, "rename", renamed)
    replace_folder(new, target)
    assert (target / "name").read_text() == "target"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [1, 2])
def test_a_signal_between_two_renames_waits(
    number: signal.Signals,
    after: int,
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new, target = folders
    rename, renamed = Path.rename, []

    def rename_and_stop(self: Path, other: Path) -> Path:
        moved = rename(self, other)
        renamed.append(self.name)
        if len(renamed) == after:
            os.kill(os.getpid(), number)
        return moved

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    monkeypatch.setattr(swap, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", rename_and_stop)
    before = signal.signal(number, stop)
    try:
        with pytest.raises(SystemExit):
            replace_folder(new, target)
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)
    assert renamed == ["target", "new"]
    assert (target / "name").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def ended_process() -> int:
    """The id of a process that is gone."""
    code = "import os; print(os.getpid())"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def test_a_trace_that_a_killed_process_moved_aside_is_back(tmp_path: Path) -> None:
    target = tmp_path / "run.tracelens"
    for attempt in ("read", "write"):
        shutil.rmtree(target, ignore_errors=True)
        aside = tmp_path / f".run.tracelens.{ended_process()}.x1.old"
        aside.mkdir()
        make_trace(kernels=[{"name": "gemm"}]).write(aside / "trace")
        if attempt == "read":
            assert tl.open(target).kernels["name"].to_list() == ["gemm"]
        else:
            with pytest.raises(SourceError, match="exists already"):
                make_trace().write(target)
        assert [path.name for path in tmp_path.iterdir()] == ["run.tracelens"]
    assert tl.open(target).kernels["name"].to_list() == ["gemm"]


def test_tables_of_two_traces_are_never_mixed(tmp_path: Path) -> None:
    """Both have as many rows, so that no count tells them apart."""
    target = tmp_path / "run.tracelens"
    both = [
        make_trace(kernels=[{"name": name}], memsets=[{"duration_ns": 1}])
        for name in ("old", "new")
    ]
    both[0].write(target)
    read = tl.open(target)
    assert read.select("kernels", "name").item() == "old"
    both[1].write(target, force=True)
    assert read.select("kernels", "name").item() == "old"
    for ask in (
        lambda: read.select("memsets", "duration_ns"),
        lambda: read.memsets,
        lambda: [*read.batches("memsets", "duration_ns")],
        lambda: read.sql("SELECT duration_ns FROM memsets"),
    ):
        with pytest.raises(SourceError, match="another trace took its place"):
            ask()
    assert tl.open(target).kernels["name"].item() == "new"


def test_a_collection_that_is_replaced_at_once_did_its_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.tracelens"
    written = make_trace(kernels=[{"name": "old"}]).write(target)
    make_trace(kernels=[{"name": "new"}]).write(target, force=True)
    tell_of(written, target)
    assert capsys.readouterr().err.endswith("run.tracelens; another trace replaced it at once\n")


def test_a_trace_replaced_meanwhile_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "run.tracelens"
    make_trace(kernels=[{"name": "old"}]).write(target)
    read = directory.read_manifest

    def read_and_replace(folder: Path) -> Manifest:
        manifest = read(folder)
        if manifest.n_rows["kernels"] == {"0": 1}:
            make_trace(kernels=[{"name": "new"}, {"name": "new"}]).write(target, force=True)
        return manifest

    monkeypatch.setattr("tracelens.trace.trace.read_manifest", read_and_replace)
    assert tl.open(target).kernels["name"].to_list() == ["new", "new"]


def test_nothing_is_moved_back_while_its_process_runs(tmp_path: Path) -> None:
    aside = tmp_path / f".run.tracelens.{os.getpid()}.x1.old"
    (aside / "trace").mkdir(parents=True)
    assert not restore(tmp_path / "run.tracelens")
    assert (aside / "trace").is_dir()
