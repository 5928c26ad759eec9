"""Verdicts of jobs: who is late by himself, in which steps, why, at what cost, or nobody."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

import tracelens as tl
from tests.cases import make_trace
from tests.job_accuracy import KINDS, draw, score, without_rank
from tests.job_simulator import Job, Layout, Plant
from tests.schedules import Call, Schedule
from tests.selection import every
from tracelens.analyses.collectives_across import notes
from tracelens.analyses.job import _why
from tracelens.answers import changes, make_answer
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.pipeline import order_stages
from tracelens.derive.ranks.rank_sets import RankSet
from tracelens.derive.replay.advised import list_changes
from tracelens.derive.time.culprit_costs import Culprit, with_part
from tracelens.derive.time.late_ranks import LateRank
from tracelens.derive.time.step_kinds import describe_steps
from tracelens.report import build_report
from tracelens.schemas import TABLES
from tracelens.trace import Trace

MS = 10**6
TRANSFERS = {"tp": 30_000, "dp": 150_000, "pp": 15_000, "ep": 40_000}


SMALL = (252, 113, 86, 31, 200, 215, 104, 77, 162, 51, 24, 123, 180, 55)
"""The seed of each kind's smallest job among the first 350."""


@pytest.mark.parametrize("seed", every(2, SMALL), ids=KINDS)
def test_what_was_planted_is_named(seed: int) -> None:
    """One job of each kind; `python -m tests.job_accuracy` looks at 300."""
    case = draw(seed)
    mark = score(case, tl.analyses.job(case.trace()))
    assert mark.is_right
    assert mark.nobody_else


@pytest.mark.parametrize(
    ("idle_more", "said"),
    [
        (34, "is idle for 36.3 ms a step where the other rank is for 2.30 ms"),
        (
            3,
            "takes 36.3 ms a step besides waiting and communicating where the other rank takes 2.30 ms",
        ),
    ],
)
def test_a_delay_without_a_cause_is_said_with_its_times(idle_more: int, said: str) -> None:
    """Rank 1 takes 36.3 ms besides waiting where rank 0 takes 2.3.

    Ranks of FSDP that idle alike may do so.
    """
    late = LateRank(1, None, 34.0 * MS, None)
    members = RankSet("rank", "rank 1", (1,))
    culprit = Culprit(members, (late,), None, "in every step", None, 34.0 * MS, 1)
    delays = pl.DataFrame(
        {
            "rank": [0, 1],
            "step": [0, 0],
            "own_ns": [23 * MS // 10, 363 * MS // 10],
            "excess_ns": [0, 34 * MS],
            "idle_ns": [23 * MS // 10, 23 * MS // 10 + idle_more * MS],
            "idle_excess_ns": [0, idle_more * MS],
        }
    )
    why = _why(with_part(culprit, delays), "the other rank")
    assert why == f"{said}, and no single cause of that was recorded"


def flat(late: dict[tuple[int, int], int], n_ranks: int = 4, n_calls: int = 1) -> Trace:
    """Ranks that compute for 1 ms before each all-reduce of 0.1 ms, some longer."""
    return Schedule(n_ranks, [Call("allreduce", 4096, MS, MS // 10)] * n_calls, late).trace()


def test_a_culprit_costs_what_the_job_gains_without_it() -> None:
    """Ranks 1 and 3 compute 2 and 3 ms longer.

    With both a step takes 4.1 ms longer than without; without rank 3 it is 2 ms.
    """
    found = tl.analyses.job(flat({(1, 0): 2 * MS, (3, 0): 3 * MS}))
    # One culprit: neither delay is 1.5 times the other's. Without both the step takes 3 ms less.
    assert found.select("culprit", "excess_ns", "cost_ns").rows() == [
        ("ranks 1, 3", 5 * MS // 2, 3 * MS)
    ]
    several = tl.analyses.job(flat({(1, 0): 2 * MS, (3, 0): 5 * MS}))
    assert several.select("culprit", "rank", "cost_ns").rows() == [
        ("rank 3", 3, 3 * MS),
        ("rank 1", 1, 0),
    ]
    assert several["value"][0] == pytest.approx(5 / 6.1)
    assert several["evidence"][0].startswith(
        # Rank 1 costs nothing as long as rank 3 is late: it has a row, and is not named here.
        "3 ranks wait for rank 3, at a cost of 49 % of the 6.10 ms that were"
        " recorded; rank 3 computes 6.00 ms where the median rank computes 1.00"
    )


@pytest.mark.parametrize(("late_ns", "culprits"), [(40_000, [None]), (80_000, ["rank 2"])])
def test_below_a_share_of_a_step_nobody_is_blamed(late_ns: int, culprits: list[str]) -> None:
    """A step takes 1.1 ms, and 5 % of it are 55 µs."""
    found = tl.analyses.job(flat({(2, 0): late_ns}))
    assert found["culprit"].to_list() == culprits


def without_marks(trace: Trace, rank: int) -> Trace:
    """Return the job with one rank that marks no steps."""
    tables = {name: trace.frame(name) for name in TABLES}
    is_of = pl.col("rank") == rank
    for name, frame in tables.items():
        if name == "steps":
            tables[name] = frame.filter(~is_of)
        elif "step" in frame.columns:
            step = pl.when(is_of).then(None).otherwise(pl.col("step"))
            tables[name] = frame.with_columns(step=step)
    return Trace(trace.manifest, {name: frame.lazy() for name, frame in tables.items()})


@pytest.mark.parametrize("cause", ["compute", "host"])
@pytest.mark.parametrize("unmarked", [3, 5])
def test_a_rank_without_steps_is_judged_beside_those_with_steps(cause: str, unmarked: int) -> None:
    """Rank 3 of 8 is late by 3 ms in each step of 8 ms. It or another one marks no steps."""
    late = Plant(frozenset([3]), cause, 3 * MS)
    job = Job(Layout(dp=8), 6, MS, TRANSFERS, (late,))
    found = tl.analyses.job(without_marks(job.trace(), unmarked))
    assert found.select("bound", "culprit", "cause").rows() == [("straggler", "rank 3", cause)]


@pytest.mark.parametrize("late", [{3}, {1, 3, 5}])
def test_a_delay_at_a_steps_end_is_felt_in_the_next(late: set[int]) -> None:
    """Rank 0 saves for 20 ms after its step of 4.4 ms; the others wait in the next one."""
    plant = Plant(frozenset([0]), "host", 20 * MS, {0: frozenset(late)}, ends_step=True)
    trace = Job(Layout(dp=4), 7, MS, TRANSFERS, (plant,), noise=0.0).trace()
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["culprit"], row["cause"]) == ("rank 0", "host")
    assert row["cost_ns"] == pytest.approx(20 * MS, rel=0.01)
    assert row["cost_frac"] == pytest.approx(20 / 24.4, rel=0.02)


def test_a_job_without_a_culprit_is_bound_evenly() -> None:
    row = tl.analyses.job(flat({})).row(0, named=True)
    assert (row["bound"], row["culprit"]) == ("compute", None)
    # 1 ms of 1.1.
    assert row["evidence"] == (
        "compute-bound, evenly: compute 90.9 % of the time of every rank, then communication 9.1 %;"
        " no rank's delay is 5 % of the time"
    )


def test_a_rank_that_waits_for_its_own_peers_is_not_blamed() -> None:
    """Rank 4 is the tensor peer of rank 5. It comes late to its data group because of rank 5."""
    plant = Plant(frozenset([5]), "input", 2 * MS)
    found = tl.analyses.job(Job(Layout(tp=2, dp=4), 3, MS, TRANSFERS, (plant,), noise=0.0).trace())
    row = found.row(0, named=True)
    assert (found.height, row["culprit"], row["cause"]) == (1, "rank 5", "input")
    assert row["evidence"].endswith("; rank 4 of its tensor group only waits for it")
    assert row["cost_ns"] == pytest.approx(2 * MS, abs=5_000)


def test_a_late_host_of_many_ranks_is_advised_its_own_cause() -> None:
    """One host of 32 is too little of the job's time to have a change of its own."""
    plant = Plant(frozenset([21]), "host", 2 * MS)
    trace = Job(Layout(tp=2, dp=16), 3, MS, TRANSFERS, (plant,), noise=0.0).trace()
    first = make_answer(trace).changes[0]
    assert first.text.startswith("on rank 21: shorten this work of the host")


def test_a_rank_that_computes_more_is_advised_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faster kernels would help it, too, but by another time than the job's replay gives."""
    plant = Plant(frozenset([1]), "compute", 2 * MS)
    trace = Job(Layout(dp=2), 3, MS, TRANSFERS, (plant,), noise=0.0).trace()
    (waiting,) = (change for change in list_changes(trace) if change.cause == "waiting")
    faster = replace(waiting, text="Use faster kernels", cause="compute", expression=None)
    monkeypatch.setattr(changes, "list_changes", lambda _: [faster, waiting])
    first = make_answer(trace).changes[0]
    assert first.text.startswith("give all ranks equally much to do")
    steps = trace.frame("steps").filter(rank=0)["duration_ns"].to_list()
    assert first.after_ns == pytest.approx(sum(steps) / len(steps) - 2 * MS, rel=0.02)


def test_a_replica_is_judged_by_those_who_wait_for_it() -> None:
    """Of four pairs that never meet, rank 5 keeps rank 4 waiting for 2 ms a step."""
    plant = Plant(frozenset([5]), "compute", 2 * MS)
    layout = Layout(tp=2, dp=4, syncs_data=False)
    trace = Job(layout, 3, MS, TRANSFERS, (plant,), noise=0.0).trace()
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["culprit"], row["cause"]) == ("rank 5", "compute")
    assert row["cost_ns"] == pytest.approx(2 * MS, abs=5_000)
    answer = make_answer(trace)
    assert answer.sentence.startswith("Rank 4 waits for rank 5, at a cost of ")
    assert "only wait" not in " ".join(answer.details)
    assert [bar.label for bar in answer.bars] == ["rank 5", "rank 4"]
    steps = trace.frame("steps").filter(rank=0)["duration_ns"]
    assert answer.changes[0].after_ns == pytest.approx(steps.mean(), rel=0.02)


@pytest.mark.parametrize("tells_stages", [True, False])
def test_a_balanced_pipeline_costs_its_bubble(tells_stages: bool) -> None:
    """3 / (8 + 3) = 27.3 %."""
    layout = Layout(pp=4, n_microbatches=8)
    job = Job(layout, 2, MS, TRANSFERS, noise=0.0, tells_stages=tells_stages)
    row = tl.analyses.job(job.trace()).row(0, named=True)
    assert (
        "bubble 27.3 %, what the schedule of 4 stages and 8 microbatches costs" in row["evidence"]
    )
    assert row["culprit"] is None
    answer = make_answer(job.trace())
    assert answer.details[0].startswith("bubble 27.3 %")
    assert not any("equally much" in change.text for change in answer.changes)


def test_a_slow_stage_is_named_as_one() -> None:
    plant = Plant(frozenset([4, 5]), "compute", 4 * MS)
    layout = Layout(pp=4, dp=2, n_microbatches=4)
    row = tl.analyses.job(Job(layout, 2, MS, TRANSFERS, (plant,)).trace()).row(0, named=True)
    assert (row["culprit"], row["kind"]) == ("pipeline stage 2 (ranks 4 to 5)", "stage")


def test_activations_tell_the_order_of_stages() -> None:
    """Gradients return the way that activations came. Ranks that send in a ring form no stages."""
    sends = [(2, 0), (0, 3), (3, 1), (1, 3), (3, 0), (0, 2)]
    assert order_stages(sends) == {2: 0, 0: 1, 3: 2, 1: 3}
    assert order_stages([(0, 1), (1, 2), (2, 0)]) == {}


def linked(slow: tuple[int, ...]) -> Trace:
    """Four tensor groups of two.

    Their all-reduces take 0.1 ms, those of the slow groups' first ranks 0.4.
    """
    kernels: list[dict[str, Any]] = []
    collectives: list[dict[str, Any]] = []
    for rank in range(8):
        first = rank // 2 * 2
        ns = 400_000 if first in slow else 100_000
        kernels += [
            {"rank": rank, "kernel_id": 0, "duration_ns": MS},
            {"rank": rank, "kernel_id": 1, "start_ns": MS, "duration_ns": ns}
            | {"is_communication": True},
        ]
        about = {"name": "allreduce", "group": "tp", "group_id": "1", "size_in_bytes": 10**6}
        members = {"group_ranks": f"[{first}, {first + 1}]", "group_size": 2}
        collectives.append({"rank": rank, "kernel_id": 1} | about | members)
    ranks = [{"rank": rank, "node": rank // 4} for rank in range(8)]
    return make_trace(kernels=kernels, collectives=collectives, ranks=ranks)


def test_each_group_is_a_row_with_its_slow_link() -> None:
    """All-reduces of 1 MB in 0.4 ms are 2.5 GB/s.

    With two ranks the rate on the bus is the same.
    """
    trace = linked((2,))
    found = tl.analyses.collectives_across(trace)
    columns = ("ranks", "transfer_mean_ns", "peers_ns", "slowdown", "slow")
    assert found.select(columns).rows() == [
        ("ranks 2 to 3", 4e5, 1e5, 4.0, "link"),
        *((f"ranks {first} to {first + 1}", 1e5, 1e5, 1.0, None) for first in (0, 4, 6)),
    ]
    assert notes(trace, found)[1] == (
        "Slow link between ranks 2 to 3: allreduce takes 400 µs, 4.0 times as long as in its"
        " peers (2.5 GB/s)."
    )


def test_slow_groups_of_several_hosts_are_a_slow_network() -> None:
    """Slow groups of two hosts share no rank. Slow groups of one host would be its link."""
    assert {*tl.analyses.collectives_across(linked((2, 4)))["slow"]} == {"network", None}
    assert {*tl.analyses.collectives_across(linked((0, 2)))["slow"]} == {"link", None}


def test_a_straggler_whose_trace_lacks_is_said() -> None:
    """Rank 3 of tensor group 2 to 3 is late by 2 ms. The complete groups do not show it."""
    plant = Plant(frozenset([3]), "compute", 2 * MS)
    whole = Job(Layout(tp=2, dp=4), 3, MS, TRANSFERS, (plant,)).trace()
    row = tl.analyses.job(without_rank(whole, 3)).row(0, named=True)
    assert (row["bound"], row["culprit"], row["rank"]) == ("straggler", "rank 3", 3)
    assert "7 ranks wait for rank 3, whose trace was not given" in row["evidence"]
    even = Job(Layout(tp=2, dp=4), 3, MS, TRANSFERS).trace()
    other = tl.analyses.job(without_rank(even, 3)).row(0, named=True)
    assert other["culprit"] is None
    assert other["evidence"].endswith(
        "; rank 3 of 8 was not given: waiting for it is not known, and counts as communication"
    )


def test_the_answer_to_an_even_job_names_a_missing_rank() -> None:
    even = Job(Layout(tp=2, dp=4), 3, MS, TRANSFERS).trace()
    assert make_answer(even).doubts == ()
    assert make_answer(without_rank(even, 3)).doubts == (
        "rank 3 of 8 was not given: waiting for it is not known, and counts as communication",
    )


@pytest.mark.parametrize(
    ("late", "n_steps", "words"),
    [
        (None, 20, "in every step"),
        (None, 1, ""),
        ({12}, 20, "in step 12 only"),
        ({5, 15}, 20, "in every tenth step"),
        ({3, 17}, 20, "in steps 3 and 17"),
        ({0, 2, 4, 6}, 8, "in every other step"),
        ({1, 14, 27}, 40, "in every 13th step"),
        ({1, 2, 5, 9}, 20, "in 4 of 20 steps"),
    ],
)
def test_the_steps_of_a_delay_in_words(late: set[int] | None, n_steps: int, words: str) -> None:
    assert describe_steps(late, range(n_steps)) == words


def test_many_sources_are_counted() -> None:
    trace = flat({}, n_ranks=6)
    trace.manifest.sources = [{"name": f"rank{n}.json", "kind": "torch"} for n in range(6)]
    assert build_report(trace, names=["job"]).sources == "6 files, rank 0 … 5"
    trace.manifest.sources = trace.manifest.sources[:2]
    assert build_report(trace, names=["job"]).sources == "rank0.json (torch), rank1.json (torch)"


def test_the_headline_names_a_set() -> None:
    plant = Plant(frozenset(range(4, 8)), "host", 3 * MS)
    job = Job(Layout(dp=12, per_node=4), 2, MS, TRANSFERS, (plant,))
    report = build_report(job.trace(), names=["job"])
    culprit = f"node 1 ({list_ranks(range(4, 8))})"
    assert report.headline == f"12 ranks, {culprit} is the straggler (the host's other work)"
