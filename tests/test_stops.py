"""The number of modules to open to follow a verdict stays within a limit."""

import pytest

from tools.stops import CAPTURE, Walk, follow
from tracelens import collect
from tracelens.analyses import verdict

MOST_STOPS, MOST_MODULES, MOST_RETURNS = 22, 19, 3
"""The numbers of `python -m tools.stops` for a verdict. They are only ever lowered."""


@pytest.mark.slow
def test_a_verdict_is_followed_through_few_modules() -> None:
    trace = collect(CAPTURE)
    walk = follow(lambda: verdict(trace))
    assert len(walk.stops) <= MOST_STOPS
    assert walk.n_modules <= MOST_MODULES
    assert walk.n_returns <= MOST_RETURNS


def test_a_stop_in_a_module_entered_before_is_a_return() -> None:
    walk = Walk(["verdict.py", "model.py", "verdict.py"])
    assert (walk.n_modules, walk.n_returns) == (2, 1)
