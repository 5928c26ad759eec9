"""`tracelens baseline`: runs kept under a name, and a new run judged by them."""

from pathlib import Path

import polars as pl
import pytest

from tests.command_line import Result, command_line
from tests.test_gate import run
from tracelens.errors import SourceError, UsageError
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.baselines import LATEST, add_run, folder_of, runs_of, with_runs

GATE = ("--fail-on", "gpu_time > +5%", "--strict")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stored(name: str, *kernels: int) -> Path:
    """Store a run of three steps with a kernel of each duration."""
    run(*kernels).write(name)
    return Path(name)


def judged(capsys: pytest.CaptureFixture[str], new: Path) -> Result:
    """Report a run against the baseline `net`, with the gate."""
    return command_line(capsys, "report", new, "--against", "baseline:net", *GATE)


def test_a_new_run_is_judged_by_the_runs_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    olds = [stored(f"old{at}.tracelens", 100_000 + 500 * at) for at in range(3)]
    added = command_line(capsys, "baseline", "add", "net", *olds)
    assert added.code == 0
    assert len(runs_of("net")) == 3
    assert judged(capsys, stored("same.tracelens", 100_400)).code == 0
    slow = judged(capsys, stored("slow.tracelens", 120_000))
    assert slow.code == 3
    assert "gate failed: gpu_time > +5%" in slow.err


def test_a_new_run_within_what_the_runs_vary_by_passes(capsys: pytest.CaptureFixture[str]) -> None:
    olds = [stored(f"old{at}.tracelens", ns) for at, ns in enumerate((80_000, 100_000, 125_000))]
    command_line(capsys, "baseline", "add", "net", *olds)
    assert judged(capsys, stored("new.tracelens", 120_000)).code != 3


def test_the_latest_runs_judge_in_the_order_in_which_they_came() -> None:
    places = [add_run("net", run(100 + at)) for at in range(LATEST + 2)]
    assert runs_of("net") == places
    assert with_runs([Path("a"), Path("baseline:net")]) == [Path("a"), *places[2:]]
    assert [Trace.open(place).kernels["duration_ns"][0] for place in places[:2]] == [100, 101]


def test_a_name_may_stand_behind_a_folder() -> None:
    assert folder_of("kept/here/net") == Path("kept/here/net")
    assert add_run("kept/net", run(100)).parent == Path("kept/net")
    assert len(runs_of("kept/net")) == 1


def test_a_run_of_another_program_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels and layers of other names are another program's: nothing of such a call is kept."""
    one, more = stored("one.tracelens", 100), stored("more.tracelens", 110)
    other = run(100)
    tables = {name: other.frame(name) for name in TABLES}
    for table, column in (("kernels", "name"), ("layers", "module_path")):
        tables[table] = tables[table].with_columns(pl.lit("another").alias(column))
    Trace(other.manifest, {name: frame.lazy() for name, frame in tables.items()}).write(
        "o.tracelens"
    )
    mixed = command_line(capsys, "baseline", "add", "net", one, "o.tracelens")
    assert mixed.code == 2
    assert "are two programs" in mixed.err
    assert command_line(capsys, "baseline", "add", "net", one).code == 0
    assert command_line(capsys, "baseline", "add", "net", more, "o.tracelens").code == 2
    assert len(runs_of("net")) == 1


def test_too_few_runs_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    added = command_line(capsys, "baseline", "add", "net", stored("one.tracelens", 100))
    assert "net has 1 of the 3 runs" in added.err


def test_a_name_without_runs_is_answered_with_the_near_one() -> None:
    add_run("resnet", run(100))
    with pytest.raises(SourceError, match="holds no run; near: resnet"):
        runs_of("resnt")


@pytest.mark.parametrize("name", ["", "..", "a/..", ".hidden", "a b", "a\x1b[0m"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a name of a baseline"):
        folder_of(name)


def test_a_baseline_within_a_trace_leaves_nothing_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outer = stored("outer.tracelens", 100)
    before = sorted(outer.rglob("*"))
    added = command_line(capsys, "baseline", "add", f"{outer}/net", outer)
    assert (added.code, sorted(outer.rglob("*"))) == (1, before)
    assert "lies in the trace outer.tracelens" in added.err


def test_baselines_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    add_run("net", run(100))
    add_run("net", run(101))
    listed = command_line(capsys, "baseline", "list")
    assert listed.code == 0
    (row,) = [line.split() for line in listed.out.splitlines() if line.split()[:1] == ["net"]]
    assert row[1] == "2"


def test_an_empty_baseline_and_a_run_named_by_hand_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder_of("fresh").mkdir(parents=True)
    folder_of("net").mkdir()
    run(100).write(folder_of("net") / "nightly.tracelens")
    listed = command_line(capsys, "baseline", "list")
    assert listed.code == 0
    rows = [line.split() for line in listed.out.splitlines()]
    assert [row[:2] for row in rows if row[:1] in (["fresh"], ["net"])] == [
        ["fresh", "0"],
        ["net", "1"],
    ]
    assert "nigh-" not in listed.out
