"""The overview of all steps above a timeline."""

from types import SimpleNamespace

import polars as pl

from tracelens.views.bar_views import _working


def test_waiting_for_other_ranks_is_no_work() -> None:
    """Of 10 ns, the device is idle for 2 and waits in an all-reduce for 5: it works for 3."""
    rows = {"rank": [0], "step": [1], "idle_frac": [0.2]}
    frame = pl.DataFrame(rows | {"window_ns": [10], "collective_wait_ns": [5]})
    report = SimpleNamespace(frames={"time_breakdown": frame})
    assert _working(report, 0) == {1: 0.3}  # type: ignore[arg-type]
