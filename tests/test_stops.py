"""The number of modules to open to follow a path stays within a limit."""

import pytest

from tools.stops import CAPTURE, Walk, follow
from tracelens import collect
from tracelens.analyses import verdict
from tracelens.answers import make_answer
from tracelens.report import build_report
from tracelens.views.page import to_html

MOST = {
    "collect": (96, 43, 53),
    "verdict": (16, 15, 1),
    "page": (30, 24, 6),
    "answer": (97, 50, 47),
}
"""The most stops, modules and returns of each path; they rise only where an answer asks more.

Those of a verdict and the page are as `python -m tools.stops` prints them. Collecting, and
answering as `report` does, are followed without the command around them.
"""


@pytest.mark.slow
def test_a_path_is_followed_through_few_modules() -> None:
    trace = collect(CAPTURE)
    walks = {"collect": follow(lambda: collect(CAPTURE)), "verdict": follow(lambda: verdict(trace))}
    report = build_report(trace)
    walks["page"] = follow(lambda: to_html(report))
    again = collect(CAPTURE)
    walks["answer"] = follow(lambda: make_answer(again))
    numbers = {
        name: (len(walk.stops), walk.n_modules, walk.n_returns) for name, walk in walks.items()
    }
    for name, most in MOST.items():
        assert all(n <= limit for n, limit in zip(numbers[name], most, strict=True)), numbers


def test_a_stop_in_a_module_entered_before_is_a_return() -> None:
    walk = Walk(["verdict.py", "model.py", "verdict.py"])
    assert (walk.n_modules, walk.n_returns) == (2, 1)
