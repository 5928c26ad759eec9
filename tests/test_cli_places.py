"""Places that a command reads or writes: circles of links, the trace itself, a closed input."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases import make_trace
from tests.command_line import command_line
from tracelens.cli.io import losses

SAMPLE = next(iter(sorted((Path(__file__).parents[1] / "samples" / "torch").glob("*.json.gz"))))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    make_trace(kernels=[{"name": "gemm", "duration_ns": 5}]).write(tmp_path / "run.tracelens")
    return tmp_path / "run.tracelens"


@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_result_is_not_written_into_the_trace_that_is_read(
    option: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = (trace / "manifest.json").read_bytes()
    for place in (trace / "manifest.json", trace / "kernels" / "new.json"):
        done = command_line(capsys, "report", trace, option, place)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "lies in the trace run.tracelens" in done.err
        assert (trace / "manifest.json").read_bytes() == manifest
    asked = "SELECT name FROM kernels"
    done = command_line(capsys, "query", trace, asked, "--out", trace / "kernels" / "x.csv")
    assert done.code == 2


def test_a_result_is_not_written_into_another_trace(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = trace.with_name("other.tracelens")
    make_trace().write(other)
    manifest = (other / "manifest.json").read_bytes()
    for words in (
        ("report", trace, "--out", other / "manifest.json"),
        ("peaks", "--out", other / "manifest.json"),
    ):
        done = command_line(capsys, *words)
        assert (done.code, done.err.count("\n")) == (2, 1), words
        assert "lies in the trace other.tracelens" in done.err
    assert (other / "manifest.json").read_bytes() == manifest


@pytest.mark.parametrize("place", ["inner.tracelens", "kernels/inner.tracelens"])
def test_no_trace_is_collected_into_another(
    trace: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody would look for a trace there, and `collect --force` of the outer one removed it."""
    source = tmp_path / "one.json"
    source.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}]}'
    )
    link = tmp_path / "link"
    link.symlink_to(trace)
    for outer in (trace, link):
        done = command_line(capsys, "collect", "torch", source, "--out", outer / place)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert f"lies in the trace {trace.name}" in done.err
        assert not (outer / place).exists()


def test_an_export_without_a_name_is_not_written_into_the_trace(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace)
    before = sorted(trace.rglob("*"))
    done = command_line(capsys, "export", ".", "--to", "folded")
    assert done.code == 2
    assert "lies in the trace run.tracelens" in done.err
    assert sorted(trace.rglob("*")) == before


def test_a_result_may_be_put_beside_the_sources_in_their_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    shutil.copy(SAMPLE, folder / "rank0.json.gz")
    content = (folder / "rank0.json.gz").read_bytes()
    done = command_line(capsys, "report", folder, "--all", "--out", folder / "report.txt")
    assert (done.code, (folder / "report.txt").is_file()) == (0, True), done.err
    done = command_line(
        capsys, "report", folder, "--format", "text", "--out", folder / "rank0.json.gz"
    )
    assert done.code == 2
    assert (folder / "rank0.json.gz").read_bytes() == content


@pytest.mark.parametrize("name", ["page.html", "page"])
def test_a_run_does_not_replace_a_page(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its trace must not take the page's place either. That is said before the program starts."""
    if name == "page":
        (tmp_path / "page.html").write_text("mine")
    done = command_line(capsys, "run", "--out", tmp_path / name, sys.executable, "-c", "1/0")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "page.html: the page would replace it" in done.err


def test_equal_warnings_are_one_with_a_count() -> None:
    rows = [
        {"rank": rank, "severity": "loss", "code": "c", "text": "lost", "count": 11}
        for rank in range(3)
    ]
    assert losses(make_trace(diagnostics=rows)) == ["lost (33 times)"]


@pytest.mark.parametrize("words", [("--help",), ("report", "run.json"), ("collect", "torch", "x")])
def test_too_little_memory_is_one_line(words: tuple[str, ...]) -> None:
    """Below that, the libraries end the process while they are loaded, each in its own way."""
    code = (
        "import resource, sys; from tracelens.__main__ import main;"
        "resource.setrlimit(resource.RLIMIT_AS, (600_000 << 10,) * 2); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: ulimit -v 600000 allows 0.6 GB of memory; tracelens reserves 2 GB: raise it\n"
    )


def test_memory_that_is_used_up_is_one_line(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tracelens.cli.reporting.make_answer", fail)
    done = command_line(capsys, "report", trace)
    assert (done.code, done.err.count("\n")) == (1, 1), done.err
    assert done.err.startswith("error: this process has used all memory that it may take")


def test_two_results_are_two_files(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = trace.parent / "page.html"
    done = command_line(capsys, "report", trace, "--html", page, "--out", page)
    assert (done.code, page.exists()) == (2, False)
    assert "is named for two results" in done.err


def test_links_that_lead_in_a_circle(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    circle = trace.parent / "a"
    circle.symlink_to(trace.parent / "b")
    (trace.parent / "b").symlink_to(circle)
    for words in (
        ("report", circle),
        ("plan", circle, circle),
        ("query", circle, "SELECT name FROM kernels"),
        ("report", trace, "--against", circle),
    ):
        done = command_line(capsys, *words)
        assert done.code in {1, 2}, words
        assert done.err.startswith("error: "), done.err
        assert done.err.count("\n") == 1, done.err
    done = command_line(capsys, "report", trace, "--out", circle, "--format", "json")
    assert (done.code, circle.is_file()) == (0, True)  # as for any link, what it stands for


def test_what_a_folder_cannot_be_listed_for_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a").symlink_to("a")
    done = command_line(capsys, "clean", tmp_path / "run")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert f"cannot be listed: {os.strerror(errno.ELOOP)}" in done.err


def test_a_closed_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = command_line(capsys, "report", "-")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "standard input: expected a trace, found it closed" in done.err


def test_a_folder_that_one_may_not_enter_is_one_line(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be another user's. pathlib raises PermissionError there, which root never meets."""
    inside, stat = trace.parent / "closed" / "x.json", os.stat

    def refusing(path: Any, **options: Any) -> os.stat_result:
        if str(path).startswith(str(inside)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refusing)
    for words in (
        ("report", inside),
        ("collect", "torch", inside),
        ("check", inside),
        ("clean", inside),
        ("plan", inside, inside),
        ("report", trace, "--html", inside),
        ("query", trace, "SELECT 1 AS a", "--out", inside, "--format", "csv"),
    ):
        done = command_line(capsys, *words)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert "x.json" in done.err
        assert "Permission denied" in done.err
