"""Places that a command reads from or writes to: circles of links, the trace itself, a closed input."""

import sys
from pathlib import Path

import pytest

from tests.cases import make_trace
from tests.command_line import command_line


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
        assert "lies in run.tracelens, which is read" in done.err
        assert (trace / "manifest.json").read_bytes() == manifest
    asked = "SELECT name FROM kernels"
    done = command_line(capsys, "query", trace, asked, "--out", trace / "kernels" / "x.csv")
    assert done.code == 2


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


def test_a_closed_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = command_line(capsys, "report", "-")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "standard input: expected a trace, found it closed" in done.err
