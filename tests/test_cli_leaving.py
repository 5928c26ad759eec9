"""Exports from the command line, bad input to them, and habits: completion, -h, width, doctor."""

import json
import logging
import os
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cases import make_trace
from tests.command_line import Result, command_line
from tests.sample_reports import ESCAPES, SCRIPT
from tracelens.cli import doctor
from tracelens.cli.collect.timings import collect_timings
from tracelens.cli.io import progress, screen
from tracelens.errors import SourceError
from tracelens.exports import EXPORTS
from tracelens.progress import Share, log_share
from tracelens.running.program import run_program
from tracelens.schemas import SCHEMA_VERSION
from tracelens.views.formats.format import WIDTH

ROOT = Path(__file__).resolve().parents[1]
LONG = "void f<" + "T," * 500_000 + ">"
KERNELS = [
    {"name": name, "start_ns": 10 * at, "duration_ns": at, "step": at // 2, "stream_id": 7}
    for at, name in enumerate((SCRIPT, ESCAPES, LONG, "k"))
]
SPANS = [
    {name: row[name] for name in ("name", "start_ns", "step")} | {"duration_ns": 9, "self_ns": 9}
    for row in KERNELS
]
STEPS = [{"step": step, "start_ns": 20 * step, "duration_ns": 20} for step in (0, 1)]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with the trace run.tracelens."""
    monkeypatch.chdir(tmp_path)
    make_trace(kernels=KERNELS, spans=SPANS, steps=STEPS).write("run.tracelens")
    return partial(command_line, capsys)


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_holds_hostile_names_as_escapes(name: str, run: Run) -> None:
    done = run("export", "run.tracelens", "--to", name)
    assert (done.code, done.out) == (0, "")
    file = Path(f"run{EXPORTS[name].ending}")
    assert done.err.startswith(f"wrote {file}: ")
    data = file.read_text(errors="replace")
    assert "\u202e" not in data
    assert "\x1b[31m" not in data
    assert "u202egnp.exe" in data
    assert data.count(LONG) == 1
    assert (
        len(
            run(
                "export", "run.tracelens", "--to", name, "--steps", "0", "--ranks", 0, "--out", "x"
            ).err
        )
        < 200
    )
    assert LONG not in Path("x").read_text(errors="replace")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "say what to write: --to folded|folded_host|perfetto|speedscope"),
        (
            ["--to", "speedscop"],
            2,
            "no export is called speedscop; near: speedscope, perfetto",
        ),
        (
            ["--to", "folded", "--steps", "0,9"],
            2,
            "no step 9 in this trace; its steps are: 0, 1; choose of these with --steps",
        ),
        (
            ["--to", "folded", "--ranks", "1"],
            2,
            "no rank 1 in this trace; its ranks are: 0; choose of these with --ranks",
        ),
        (
            ["--to", "folded", "--steps", "1-x"],
            2,
            "--steps 1-x: expected numbers such as 0,2-4, found 1-x",
        ),
        (
            ["--to", "folded", "--out", "none/x"],
            1,
            (
                "none/x: cannot be written: No such file or directory; make the folder none, or"
                " name another place"
            ),
        ),
    ],
)
def test_an_export_that_cannot_be_is_a_line_and_leaves_nothing(
    words: list[str], code: int, said: str, run: Run
) -> None:
    done = run("export", "run.tracelens", *words)
    assert (done.code, done.out, done.err) == (code, "", f"error: {said}\n")
    assert [*map(str, Path().iterdir())] == ["run.tracelens"]


@pytest.mark.parametrize("name", EXPORTS)
def test_a_full_disk_leaves_the_file_that_was_there(name: str, run: Run) -> None:
    Path("x").write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        done = run("export", "run.tracelens", "--to", name, "--out", "x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.code, done.err) == (
        1,
        "error: x: cannot be written: File too large; free space, or name another place\n",
    )
    assert Path("x").read_text() == "before"
    assert sorted(map(str, Path().iterdir())) == ["run.tracelens", "x"]


def test_a_base_of_a_newer_version_is_a_line(run: Run) -> None:
    make_trace(kernels=KERNELS).write("new.tracelens")
    file = Path("new.tracelens/manifest.json")
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"schema_version": SCHEMA_VERSION + 1})
    )
    for words in (
        ["report", "run.tracelens", "--against", "new.tracelens", "--out", "x.json"],
        ["export", "new.tracelens", "--to", "folded", "--out", "x.json"],
        ["query", "new.tracelens", "SELECT 1", "--out", "x.json"],
    ):
        done = run(*words)
        assert (done.code, done.out) == (1, "")
        assert re.fullmatch(
            r"error: new.tracelens: schema version \d+, .*; install a newer tracelens.*\n", done.err
        )
        assert not Path("x.json").exists()


def test_short_help_and_completion_of_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("export", "-h").out == run("export", "--help").out
    monkeypatch.setenv("_TRACELENS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tracelens report run.tracelens --section top_k")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert run().out.split() == ["top_kernels"]


def test_a_name_that_is_unknown_has_near_ones(run: Run) -> None:
    assert (
        "; near: layer_attribution"
        in run("report", "run.tracelens", "--section", "layers_attribution").err
    )
    assert "; near: kernels" in run("schema", "kernel").err


@pytest.mark.slow
def test_doctor_lists_the_packages_of_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    packages = {re.split(r"[>=<[]", line)[0] for lines in extras.values() for line in lines} - {
        "tracelens-toolkit"
    }
    assert packages <= set(doctor.examine()["tool"])


def test_a_pipe_is_as_wide_as_columns_says_and_a_file_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert screen().width == 72
    assert screen(to_file=True).width == WIDTH
    for strange in ("", "0", "wide"):
        monkeypatch.setenv("COLUMNS", strange)
        assert screen().width == WIDTH


def test_what_takes_minutes_is_said_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger("tracelens.advisor.measuring.measure")
    with progress("measuring"):
        log.info("measuring cpp")
        log.debug("cpp, round 1 of 12")
    log.info("not shown")
    assert capsys.readouterr().err == "measuring cpp\n"


def test_progress_has_a_share_a_size_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    log = logging.getLogger("tracelens.trace.sources")
    with progress("reading"):
        log_share(log, Share(5_000_000, 20_000_000, is_bytes=True), "2 of 4 sources")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    (line,) = {line.strip() for line in drawn.splitlines() if "2 of 4" in line and "%" in line}
    assert "reading: 2 of 4 sources" in line
    assert " 25% 5.0/20.0 MB " in line
    with progress("reading"):
        log_share(log, Share(5_000_000, 20_000_000, is_bytes=True), "2 of 4 sources")
        log_share(log, Share(1_000_000, 5_000_000, is_bytes=True, is_part=True), "b.json")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "reading: 2 of 4 sources" in drawn
    assert " 30% 6.0/20.0 MB " in drawn
    with progress("measuring"):
        log_share(log, Share(3, 12), "cpp, round 1 of 4")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r" 25% +3/12 ", drawn)


def test_a_program_has_the_terminal_until_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("reading what torch recorded", late=True):
        sys.stderr.write("the program's own words\n")
        assert capsys.readouterr().err == "the program's own words\n"
        run_program([sys.executable, "-c", ""])
    assert "reading what torch recorded: the program has ended" in capsys.readouterr().err


SUBJECT = """
import subprocess, sys, threading, time

def model():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    threading.Thread(target=time.sleep, args=(1000,)).start()
    raise ValueError("no model")
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="the processes that a process started are told by /proc"
)
def test_what_a_subject_of_timings_left_running_ends_with_it(tmp_path: Path) -> None:
    """Its process holds the standard output open.

    Without an end nobody could wait for the command.
    """
    (tmp_path / "subject.py").write_text(SUBJECT)
    command = [sys.executable, "-m", "tracelens", "collect", "timings", "subject.py:model"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert (
        done.stderr.splitlines()[-1] == "subject.py:model: a thread that it left running was ended"
    )


def test_what_no_subject_of_timings_started_runs_on(run: Run) -> None:
    with pytest.raises(SourceError):  # as a program does that calls the command's function
        collect_timings("missing.py:model")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert run("query", "run.tracelens", "SELECT 1").code == 0
        assert run("collect", "timings", "missing.py:model").code == 1
        assert run("query", "run.tracelens", "SELECT 1").code == 0
        assert other.poll() is None
        other.communicate(b"\n", timeout=60)
    assert other.returncode == 0, "it was not ended by a signal"
