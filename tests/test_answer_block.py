"""The first screen of the page: the answer's bars and changes as the template draws them."""

import re

import pytest

from tests.cases import make_trace
from tracelens.report import build_report
from tracelens.views.first_screen import BarPart, answer_block
from tracelens.views.page import to_html
from tracelens.views.palette import WORKS

STEPS = [{"step": at, "start_ns": 1_000_000 * at, "duration_ns": 1_000_000} for at in range(3)]
KERNELS = [
    {"name": "k<script>", "step": at, "start_ns": 1_000_000 * at, "duration_ns": 900_000}
    for at in range(3)
    for _ in range(1)
] * 10
"""Three steps of 1 ms in which the device works for 0.9 ms."""


def report_of_steps() -> object:
    return build_report(make_trace(steps=STEPS, kernels=KERNELS), None, ["verdict"])


def test_a_bar_covers_the_step_and_work_differs_from_waiting() -> None:
    block = answer_block(report_of_steps())  # type: ignore[arg-type]
    (bar,) = block.bars
    assert bar.parts[0] == BarPart(0.0, 90.0, WORKS["compute"], "compute", 90)
    assert sum(part.percent for part in bar.parts) == 100
    assert not {part.look for part in bar.parts[1:]} & {*WORKS.values()}
    ends = [part.begin + part.width for part in bar.parts]
    assert [round(part.begin, 2) for part in bar.parts[1:]] == [round(end, 2) for end in ends[:-1]]
    assert round(ends[-1], 1) == 100.0


@pytest.mark.slow  # it bundles the charts' library in another process
def test_the_page_begins_with_the_sentence_and_folds_the_rest() -> None:
    page = to_html(report_of_steps())  # type: ignore[arg-type]
    header = page[page.index("<header>") : page.index("</header>")]
    # Numbers and units stand on one line: the space between them does not break.
    assert re.search(r"<h1>[^<]*90&nbsp;% of a step of 1.00&nbsp;ms</h1>", header)
    assert header.index("<h1>") < header.index("<svg") < header.index("<details")
    assert "k<script>" not in page
