"""What a change to a job of several ranks would give."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tracelens as tl
from tests.job_simulator import Job, Layout, Plant
from tests.sources import SAMPLES
from tests.torch_files import call, kernel, span, write
from tracelens.answers.job import answer_job
from tracelens.derive.columns.time_text import duration
from tracelens.derive.replay.joined import joined_replay
from tracelens.derive.replay.moment_graph import OP
from tracelens.derive.replay.unprofiled_job import unprofiled_job
from tracelens.errors import UsageError
from tracelens.schemas import TABLES
from tracelens.trace import Trace


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
    with pytest.raises(UsageError, match="no change is called 'foo'"):
        tl.whatif(trace, "foo", "straggler_fixed")
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


def hosts_launch(trace: Trace, launching_ns: int, longest_ns: int) -> Trace:
    """The trace with hosts that launch ahead, in each step for a time, in calls of equal length."""
    steps = trace.frame("steps").with_columns(host_ns=pl.lit(launching_ns, pl.Int64))
    n_calls = launching_ns // longest_ns
    numbers = pl.int_ranges(n_calls).alias("number")
    each = steps.select("rank", "step", "start_ns", numbers).explode("number")
    ids = {
        "process_id": pl.lit(1),
        "thread_id": pl.lit(1),
        "api_call_id": pl.int_range(pl.len()) + 10**6,
    }
    launching = each.select(
        "rank",
        "step",
        start_ns=pl.col("start_ns") + pl.col("number") * longest_ns,
        duration_ns=pl.lit(longest_ns, pl.Int64),
        cause=pl.lit("launch"),
        kind=pl.lit("kernel_launch"),
        **dict.fromkeys(("api", "source_api", "raw_api"), pl.lit("cudaLaunchKernel")),
        **ids,
    )
    marks = steps.select("rank", "step", "start_ns", "duration_ns", "name", **ids).with_columns(
        kind=pl.lit("annotation"), span_id=pl.lit(0), depth=pl.lit(0), self_ns=pl.lit(0)
    )
    before = trace.frame("api_calls")
    calls = pl.concat([before, TABLES["api_calls"].conform(launching).select(before.columns)])
    changed = {"steps": steps, "activities": launching, "api_calls": calls, "spans": marks}
    frames = {
        name: table.conform(changed[name]).lazy() if name in changed else trace.frame(name).lazy()
        for name, table in TABLES.items()
    }
    return Trace(trace.manifest, frames)


@pytest.mark.parametrize(
    ("launching_us", "longest_us", "after_us"),
    [(2000, 100, 2000), (1000, 100, 1437), (2000, 2000, 1437)],
    ids=["hosts take longer than devices", "devices take longer", "a full queue blocks hosts"],
)
def test_a_job_is_no_faster_than_its_other_hosts(
    launching_us: int, longest_us: int, after_us: int
) -> None:
    """Waiting hides how long a rank's host launches: without the straggler, it shows."""
    trace = hosts_launch(job_of_four(late()), launching_us * 1000, longest_us * 1000)
    row = tl.whatif(trace, "straggler_fixed").row(0, named=True)
    assert row["after_ns"] == pytest.approx(after_us * 1000, rel=0.01)
    # A profiler slows hosts: without it, they may be no limit.
    assert row["low_ns"] < 1_437_000
    (culprit,) = tl.analyses.job(trace).select("culprit", "cost_ns").rows()
    assert culprit[0] == "rank 2"
    assert culprit[1] == pytest.approx((2337 - after_us) * 1000, rel=0.02)


PERIOD_US = 3620
"""A step of the hand-made job: rank 1 works for 3,000 µs, then for 110 until it meets rank 0.

500 µs of transfer and 10 µs until the next step follow.
"""


def events_of(rank: int, waits_in: str) -> list[dict[str, Any]]:
    """Three steps of a rank. Rank 0's op takes 1,000 µs, so it waits 2,000 µs for rank 1."""
    work_us = 3000 if rank else 1000
    group = {
        "Collective name": "allreduce",
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
        "Group size": 2,
        "In msg nelems": 8,
        "Out msg nelems": 8,
        "dtype": "Float",
    }
    events = []
    for step in range(3):
        start = 10_000 + step * PERIOD_US
        done = start + work_us
        met = start + PERIOD_US - 10
        mark = span(f"ProfilerStep#{step}", start, PERIOD_US - 1, cat="user_annotation")
        compute, reduce, wait = (100 * step + number for number in (1, 2, 3))
        collective = kernel("ncclDevKernel_AllReduce", done + 110, met - done - 110, reduce)
        collective["args"] |= group | {"Seq": step}
        events += [
            mark,
            span("aten::work", start, work_us),
            call("cudaLaunchKernel", done, 5, compute),
            kernel("gemm", done + 10, 100, compute),
            call("cudaLaunchKernel", done + 5, 5, reduce),
            collective,
            call(waits_in, done + 10, met + 5 - done - 10, wait),
        ]
    return events


def hand_made(folder: Path, waits_in: str = "cudaDeviceSynchronize") -> Trace:
    world = {"backend": "nccl", "world_size": 2}
    return tl.collect(
        [
            write(
                folder / f"rank{rank}.json",
                events_of(rank, waits_in),
                distributedInfo=world | {"rank": rank},
            )
            for rank in (0, 1)
        ]
    )


def of_step(us: float) -> Any:
    """This many µs in ns; a third of a µs between the last mark and the end is lost."""
    return pytest.approx(us * 1000, abs=400)


def test_hosts_of_ranks_are_replayed_together(tmp_path: Path) -> None:
    job = joined_replay(hand_made(tmp_path))
    assert job is not None
    weights = [replay.table.graph.weights for replay in job.replays]
    assert job.step_ns(weights) == of_step(PERIOD_US)
    assert job.step_ns(weights, network=2) == of_step(PERIOD_US - 500 / 2)
    assert job.step_ns(weights, ignored={1}) == of_step(PERIOD_US - 2000)
    assert job.step_ns(weights, ignored={0}) == of_step(PERIOD_US)
    # Rank 1's op takes a sixth of its time without the profiler: rank 0 is the last one then.
    less = [
        np.where(
            replay.table.kinds == OP,
            replay.table.graph.weights // (6 if rank else 1),
            replay.table.graph.weights,
        )
        for rank, replay in enumerate(job.replays)
    ]
    assert job.step_ns(less) == of_step(PERIOD_US - 2000)


def test_a_blocked_call_waits_for_the_last_rank(tmp_path: Path) -> None:
    job = joined_replay(hand_made(tmp_path, "cudaMemcpyAsync"))
    assert job is not None
    weights = [replay.table.graph.weights for replay in job.replays]
    assert job.step_ns(weights) == of_step(PERIOD_US)
    assert job.step_ns(weights, ignored={1}) == of_step(PERIOD_US - 2000)


def test_a_job_tells_its_step_without_the_profiler(tmp_path: Path) -> None:
    """The profiler cannot take more than the ops: 620 µs of a step are device work and waits."""
    trace = hand_made(tmp_path)
    row = tl.whatif(trace, "straggler_fixed").row(0, named=True)
    assert row["replay_error_frac"] == pytest.approx(0, abs=0.001)
    assert 620_000 < row["before_ns"] < PERIOD_US * 1000
    assert 600_000 < row["after_ns"] < row["before_ns"]
    step = unprofiled_job(trace)
    assert step is not None
    assert step.recorded_ns == pytest.approx(PERIOD_US * 1000, abs=2000)
    assert step.unprofiled_ns == row["before_ns"]
    assert step.low_ns < step.unprofiled_ns < step.high_ns


@pytest.mark.slow
def test_a_job_whose_steps_were_timed_tells_the_slowest_ranks() -> None:
    folder = SAMPLES / "ranks"
    lives = [json.loads((folder / f"rank{rank}.live.json").read_text()) for rank in (0, 1)]
    slowest = max(live["unprofiled_step_ns"]["median"] for live in lives)
    trace = tl.collect(folder)
    said = answer_job(trace).unprofiled
    assert said is not None
    assert said.startswith(f"without the profiler a step takes {duration(slowest)} (")
    row = tl.whatif(trace, "straggler_fixed").row(0, named=True)
    assert row["before_ns"] == slowest
    # Rank 0 sleeps for 30 ms in each step.
    assert row["after_ns"] == pytest.approx(slowest - 30e6, rel=0.25)


def test_many_ranks_are_not_replayed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand ranks would not fit into memory; the answer says that this is left out."""

    def refuse(_: Trace) -> None:
        raise AssertionError("no rank of a large job is replayed")

    monkeypatch.setattr("tracelens.derive.replay.unprofiled_job.unprofiled_steps", refuse)
    monkeypatch.setattr("tracelens.derive.replay.unprofiled_job.joined_replay", refuse)
    trace = Job(Layout(dp=17), 3, 300_000, {"dp": 150_000}).trace()
    assert unprofiled_job(trace) is None
    assert "up to 16 ranks only" in str(answer_job(trace).unprofiled)
