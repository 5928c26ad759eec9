"""What a notebook shows of a report: the answer with its bar, once."""

import pytest
import rich.console
from msgspec.structs import replace

from tests.test_cpu_only import process, step
from tests.test_cpu_work import LARGE, op
from tracelens.answers import make_answer
from tracelens.answers.answer import Answer, Change
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.views.answer_text import answer_text
from tracelens.views.notebook import ReportView
from tracelens.views.summary import to_summary


def arithmetic() -> Trace:
    """Six steps of 1 ms. A product takes 0.9 of each."""
    steps = [step(i, 1_000 * i, 1_000 * i + 1_000) for i in range(6)]
    return process(*steps, *(op(1_000 * i, 1_000 * i + 900, "aten::mm", LARGE) for i in range(6)))


def test_a_notebook_shows_the_answer_and_its_bar_first() -> None:
    shown = arithmetic().report()._repr_html_()
    assert "<b>The CPU does arithmetic: 90 % of a step of 1.00 ms</b>" in shown
    assert 0 < shown.index("<svg") < shown.index("<details>")
    assert "arithmetic 90 %" in shown


def test_a_notebook_shows_frames_doubts_and_what_changes_give() -> None:
    change = Change("wait less", saved_frac=0.5, after_ns=1_000_000)
    answer = Answer("It waits", rows=("12  Python",), changes=(change,), doubts=("cut off",))
    shown = ReportView(replace(build_report(arithmetic()), whole=answer))._repr_html_()
    assert "<pre>12  Python</pre>" in shown
    assert "<li>Wait less: a step then takes at least 1.00 ms</li>" in shown
    assert "<p>cut off</p>" in shown


def test_text_is_only_written_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook rich displays the output of a console, whatever its stream is."""
    displayed: list[object] = []
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *parts: displayed.append(parts))
    trace = arithmetic()
    assert "The CPU does arithmetic" in answer_text(make_answer(trace))
    assert "computes 90.0%" in str(trace.report())
    assert displayed == []


def test_a_summary_begins_with_the_same_answer() -> None:
    report = build_report(arithmetic())
    answer = answer_text(make_answer(report.trace))
    assert f"\n    {answer.splitlines()[0]}\n" in to_summary(report)
