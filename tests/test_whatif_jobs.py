"""What a change to a job of several ranks would give."""

import pytest

import tracelens as tl
from tests.job_simulator import Job, Layout, Plant
from tests.sources import SAMPLES
from tracelens.errors import UsageError


def job_of_four(*plants: Plant) -> tl.Trace:
    """Four ranks, one of which may be late.

    A step takes 4 layers of 0.3 ms, a sum of gradients of 150 µs, an Adam of 75 µs, and 2 µs for
    each of the six launches.
    """
    return Job(Layout(dp=4), 4, 300_000, {"dp": 150_000}, plants, noise=0.0).trace()


def late() -> Plant:
    return Plant(frozenset([2]), "compute", 900_000)


@pytest.mark.parametrize(
    ("changes", "after_us", "bound"),
    [
        ([], 2337, "straggler"),
        (["straggler_fixed"], 1437, "compute"),
        (["network=X2"], 2262, "straggler"),
        (["straggler_fixed", "network X3"], 1337, "compute"),
    ],
)
def test_ranks_of_a_job_are_replayed_together(
    changes: list[str], after_us: int, bound: str
) -> None:
    row = tl.whatif(job_of_four(late()), *(changes or ["network=1"])).row(0, named=True)
    assert (row["rank"], row["bound"]) == (None, bound)
    assert row["after_ns"] == pytest.approx(after_us * 1000, rel=0.002)
    assert row["before_ns"] == pytest.approx(2_337_000, rel=0.002)
    assert row["low_ns"] < row["after_ns"] < row["high_ns"]
    assert row["next"] == ("rank 2" if bound == "straggler" else None)


def test_changes_of_a_job_stand_alone() -> None:
    trace = job_of_four(late())
    with pytest.raises(UsageError, match="straggler_fixed for the job as a whole"):
        tl.whatif(trace, "cuda_graph", "straggler_fixed")
    nobody = job_of_four()
    with pytest.raises(UsageError, match="no rank makes the others wait"):
        tl.whatif(nobody, "straggler_fixed")


def test_transfers_of_before_the_first_step_are_no_part_of_it() -> None:
    """Two GPUs summed gradients for 3.31 of 4.11 ms a step, also before the first marked one."""
    folder = SAMPLES / "planted" / "captures"
    ranks = [folder / f"comm_all_reduce.rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
    row = tl.whatif(tl.collect(ranks), "network=X2").row(0, named=True)
    assert row["before_ns"] / 1e6 == pytest.approx(4.11, abs=0.01)
    assert row["after_ns"] / 1e6 == pytest.approx(4.11 - 3.31 / 2, abs=0.02)
