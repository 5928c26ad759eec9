"""Several processes at one target, and temporary folders of processes that were killed."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cases import make_trace
from tracelens.errors import SourceError
from tracelens.storage.folders import OwnFolder
from tracelens.trace import Trace, target_folder
from tracelens.trace.capture import Capture, SourceFile
from tracelens.trace.combine import combine

N = 6


def written_at_once(
    target: Path, monkeypatch: pytest.MonkeyPatch, *, force: bool
) -> list[Trace | SourceError]:
    """Return what each of several writers at one target is told.

    None begins before all have seen that they may write.
    """
    together, check = threading.Barrier(N), target_folder.check_target

    def check_together(path: Path, *, force: bool) -> None:
        check(path, force=force)
        together.wait(30)

    monkeypatch.setattr("tracelens.trace.writing.check_target", check_together)

    def write(number: int) -> Trace | SourceError:
        try:
            return make_trace(memsets=[{"size_bytes": number}]).write(target, force=force)
        except SourceError as error:
            return error

    with ThreadPoolExecutor(N) as pool:
        return list(pool.map(write, range(N)))


def test_without_force_one_of_several_writers_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = written_at_once(tmp_path / "t.tracelens", monkeypatch, force=False)
    (winner,) = (n for n, one in enumerate(told) if isinstance(one, Trace))
    assert Trace.open(tmp_path / "t.tracelens").memsets["size_bytes"].to_list() == [winner]
    messages = [str(one) for one in told if isinstance(one, SourceError)]
    assert len(messages) == N - 1
    assert all(
        "another process wrote it meanwhile, and its trace stays" in message for message in messages
    )
    assert [path.name for path in tmp_path.iterdir()] == ["t.tracelens"]


def test_with_force_the_last_of_several_writers_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_trace(memsets=[{"size_bytes": N}]).write(tmp_path / "t.tracelens")
    told = written_at_once(tmp_path / "t.tracelens", monkeypatch, force=True)
    assert [type(one) for one in told] == [Trace] * N
    assert Trace.open(tmp_path / "t.tracelens").memsets["size_bytes"].item() in range(N)
    assert [path.name for path in tmp_path.iterdir()] == ["t.tracelens"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tracelens.storage.folders import OwnFolder

folder = OwnFolder("tracelens-live-")
(Path(folder.name) / "process.1.pt.trace.json").write_text("private")
print(folder.name, flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary ones."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def age(folder: Path) -> None:
    """Make a folder an hour old."""
    then = folder.stat().st_mtime - 3600
    os.utime(folder, (then, then))


@pytest.mark.parametrize("end", ["killed", "running"])
def test_what_a_killed_process_left_is_removed_and_nothing_else(temporary: Path, end: str) -> None:
    command = [sys.executable, "-c", KILLED, end]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        left = Path(process.stdout.readline().strip())
        if end == "killed":
            process.wait()
        assert left.parent == temporary
        assert stat.S_IMODE(left.stat().st_mode) == 0o700
        other, link = temporary / "tracelens-live-of mine", temporary / "tracelens-live-abcdefgh"
        other.mkdir()
        link.symlink_to(other)
        for folder in (left, other):
            age(folder)
        with OwnFolder("tracelens-live-") as own:
            assert Path(own).is_dir()
            assert left.exists() == (end == "running")
            assert other.is_dir()
            assert link.is_symlink()
        assert not Path(own).exists()
        process.communicate()


def test_no_machine_code_is_cached(tmp_path: Path) -> None:
    """A cut or foreign file in the cache of compiled kernels killed runs, or ran as code.

    So nothing is kept anywhere.
    """
    places = [tmp_path / name for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR")]
    for place in places:
        place.mkdir()
    sample = (
        Path(__file__).parents[1]
        / "samples"
        / "planted"
        / "captures"
        / "little_work.pt.trace.json.gz"
    )
    command = [
        sys.executable,
        "-m",
        "tracelens",
        "collect",
        "torch",
        str(sample),
        "--out",
        str(tmp_path / "t"),
    ]
    environment = os.environ | {place.name: str(place) for place in places}
    subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
    subprocess.run(
        [*command[:3], "report", str(tmp_path / "t")],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert [file for place in places for file in place.rglob("*")] == []


@pytest.mark.parametrize("turn", [list, lambda codes: list(reversed(codes))])
def test_what_was_dropped_stands_in_one_order(turn: Callable[[list[str]], list[str]]) -> None:
    capture = Capture("torch", SourceFile("t", "torch", 1, "0" * 64), {}, producer="p")
    for code in turn(["category_b", "args_damaged", "category_a"]):
        capture.diagnostics.add("loss", code, "lost")
    dropped = [row["code"] for row in combine([capture]).manifest.dropped]
    assert dropped == ["args_damaged", "category_a", "category_b"]
