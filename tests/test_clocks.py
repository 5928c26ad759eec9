"""Clocks of ranks, from collectives that cannot end before their last start."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.schedules import EPOCH_NS, Call, Schedule, schedules
from tests.torch_files import CAPTURES, needs_captures
from tracelens import analyses
from tracelens.collectors import collect
from tracelens.derive.ranks.clocks import estimate_clocks
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.ranks.job_clock import on_job_clock
from tracelens.report import build_report
from tracelens.schemas import TABLES
from tracelens.trace import Trace

US = 1_000
HOUR = 3_600 * 10**9
SCHEMA = {
    "rank": pl.Int32,
    "group_key": pl.String,
    "call": pl.Int64,
    "issued": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "in_split": pl.String,
    "out_split": pl.String,
}
SHOWN = ("rank", "clock", "basis", "offset_ns", "low_ns", "high_ns", "uncertainty_ns")


def calls(*rows: tuple[int, int, str, int, int], split: str | None = None) -> pl.DataFrame:
    """Make one row per rank and call: rank, call, name, start and end in µs."""
    filled = [
        (rank, "g", call, name, start * US, end * US, split, None)
        for rank, call, name, start, end in rows
    ]
    return pl.DataFrame(filled, schema=SCHEMA, orient="row")


def two_reduces(offset: int, name: str = "allreduce") -> pl.DataFrame:
    """Rank 1's clock is ahead by `offset` µs.

    It began the first call 50 µs after rank 0, the second 20 before it.
    """
    return calls(
        (0, 0, name, 100, 200),
        (1, 0, name, 150 + offset, 200 + offset),
        (0, 1, name, 300, 400),
        (1, 1, name, 280 + offset, 400 + offset),
    )


@pytest.mark.parametrize("offset", [0, 7_000, -1_000_000, HOUR // US])
def test_bounds_are_the_closest_of_all_calls(offset: int) -> None:
    """Above: the second call's 400 - 300.

    Below: the first one's 150 - 200. Their ends differ by the offset alone.
    """
    clocks = estimate_clocks(two_reduces(offset), {0: 0, 1: 1})
    assert clocks.row(0, named=True) | {
        "rank": 0,
        "basis": "estimated",
        "offset_ns": 0,
        "uncertainty_ns": 0,
    } == (clocks.row(0, named=True))
    own = clocks.row(1, named=True)
    assert own["basis"] == "estimated"
    assert own["offset_ns"] == offset * US
    assert own["drift_ppm"] == 0
    assert own["low_ns"] == pytest.approx((offset - 50) * US, abs=100)
    assert own["high_ns"] == pytest.approx((offset + 100) * US, abs=100)
    assert own["uncertainty_ns"] == pytest.approx(100 * US, abs=100)


@pytest.mark.parametrize("nodes", [{0: 0, 1: 0}, {0: 4, 1: 4}])
def test_one_host_has_one_clock_whatever_its_calls_say(nodes: dict[int, int | None]) -> None:
    raw = two_reduces(7_000)
    clocks = estimate_clocks(raw, nodes)
    assert clocks.select(SHOWN).rows() == [(rank, 0, "one host", 0, 0, 0, 0) for rank in (0, 1)]
    assert on_job_clock(raw, clocks).equals(raw)


@pytest.mark.parametrize(
    ("offset", "basis"),
    [(0, "assumed"), (149, "assumed"), (-199, "assumed"), (151, "estimated"), (-201, "estimated")],
)
def test_unknown_hosts_share_a_clock_unless_calls_contradict(offset: int, basis: str) -> None:
    """It ends 50 - offset µs after rank 1's start, and 100 + offset after rank 0's.

    100 µs count as jitter.
    """
    assert (
        estimate_clocks(two_reduces(offset), {0: None, 1: None})["basis"].to_list() == [basis] * 2
    )


def test_a_clock_that_runs_fast_is_slowed_down() -> None:
    """Rank 1's runs 80 ppm fast: it gains 8 µs in each of the ten intervals of 0.1 s."""
    begins = [100_000 * at for at in range(11)]
    raw = calls(
        *((0, at, "allgather", begin, begin + 5) for at, begin in enumerate(begins)),
        *(
            (1, at, "allgather", begin + 8 * at + 3_000, begin + 8 * at + 3_005)
            for at, begin in enumerate(begins)
        ),
    )
    clocks = estimate_clocks(raw, {0: 0, 1: 1})
    assert clocks["drift_ppm"][1] == pytest.approx(80, abs=0.1)
    assert clocks["offset_ns"][1] == pytest.approx(3_000 * US, abs=20)
    aligned = on_job_clock(raw, clocks)
    apart = aligned.filter(rank=1)["end_ns"] - aligned.filter(rank=0)["end_ns"]
    assert (apart.abs() <= 20).all()
    assert clocks["uncertainty_ns"][1] == pytest.approx(5 * US, abs=20)


def test_a_send_bounds_its_receivers_clock_from_one_side_only() -> None:
    sent = calls((0, 0, "send", 100, 110), (1, 0, "recv", 5_000, 5_150))
    assert estimate_clocks(sent, {0: 0, 1: 1}).select("basis", "offset_ns").rows() == [
        ("estimated", 0),
        ("unknown", None),
    ]
    back = calls((1, 1, "send", 5_200, 5_210), (0, 1, "recv", 210, 260))
    own = estimate_clocks(pl.concat([sent, back]), {0: 0, 1: 1}).row(1, named=True)
    assert own["high_ns"] == pytest.approx((5_150 - 100) * US, abs=100)
    assert own["low_ns"] == pytest.approx((5_200 - 260) * US, abs=100)
    assert own["offset_ns"] == pytest.approx(4_995 * US, abs=100)


@pytest.mark.parametrize(
    ("name", "split"),
    [("broadcast", None), ("reduce", None), ("gather", None), ("all_to_allv", "[0, 5]")],
)
def test_calls_that_a_rank_may_leave_early_say_nothing(name: str, split: str | None) -> None:
    rows = calls((0, 0, name, 100, 110), (1, 0, name, 900, 950), split=split)
    assert estimate_clocks(rows, {0: None, 1: None})["basis"].to_list() == ["assumed"] * 2
    assert estimate_clocks(rows, {0: 0, 1: 1})["basis"].to_list() == ["estimated", "unknown"]


def test_a_host_may_be_known_through_another() -> None:
    """Rank 1 meets rank 0, and rank 2 rank 1 only: each clock is 1 ms ahead of the one before."""
    rows = calls(
        (0, 0, "allreduce", 100, 110),
        (1, 0, "allreduce", 1_100, 1_110),
        (1, 1, "allreduce", 1_200, 1_210),
        (2, 1, "allreduce", 2_200, 2_210),
    )
    clocks = estimate_clocks(rows, {0: 0, 1: 1, 2: 2})
    assert clocks["offset_ns"].to_list() == [0, 1_000_000, 2_000_000]
    assert clocks["uncertainty_ns"].to_list() == pytest.approx([0, 10 * US, 20 * US], abs=100)


def test_bounds_that_contradict_are_relaxed_and_say_by_how_much() -> None:
    """The first call asks for at least 50 µs, the second, 1 ms later, for at most 20.

    Drift excuses 0.2 of these 30.

    A straight line keeps 14.9 µs off both bounds.
    """
    rows = calls(
        (0, 0, "allreduce", 0, 10),
        (1, 0, "allreduce", 60, 65),
        (0, 1, "allreduce", 1_000, 1_010),
        (1, 1, "allreduce", 1_000, 1_020),
    )
    own = estimate_clocks(rows, {0: 0, 1: 1}).row(1, named=True)
    assert own["residual_ns"] == pytest.approx((30 - 0.2) / 2 * US, abs=10)
    assert own["uncertainty_ns"] == pytest.approx(own["residual_ns"], abs=2)


def with_reduces(nodes: list[int | None], **of_rank_1: object) -> Trace:
    """A trace of two ranks with one all-reduce each. Rank 1's has 5 ms more on its clock."""
    of_node = [{"rank": rank, "node": node} for rank, node in enumerate(nodes)]
    common = {"group_id": "0", "group_ranks": "[0, 1]", "name": "allreduce"}
    trace = make_trace(
        ranks=of_node,
        kernels=[
            {"rank": 0, "start_ns": 100 * US, "duration_ns": 100 * US, "is_communication": True},
            {
                "rank": 1,
                "kernel_id": 0,
                "start_ns": 5_150 * US,
                "duration_ns": 50 * US,
                "is_communication": True,
            },
        ],
        collectives=[
            {"rank": 0, "kernel_id": 0} | common,
            {"rank": 1, "kernel_id": 0} | common | of_rank_1,
        ],
    )
    trace.manifest.time_base = "unix_epoch"
    return trace


def test_matched_calls_are_on_the_jobs_clock() -> None:
    matched = match_collectives(with_reduces([0, 1]))
    assert matched.calls.select("rank", "start_ns", "last_start_ns", "awaited_rank").rows() == [
        (0, 100 * US, 150 * US, 1),
        (1, 150 * US, 150 * US, 1),
    ]


def test_times_from_each_captures_own_begin_are_no_shared_clock() -> None:
    trace = with_reduces([0, 0])
    trace.manifest.time_base = "trace_start"
    assert match_collectives(trace).clocks["offset_ns"].to_list() == [0, 5_000 * US]


@pytest.mark.parametrize(
    ("n_even", "nodes", "bound"),
    [
        (0, {0: 0, 1: 1}, "inconclusive"),
        (1, {0: 0, 1: 1}, "straggler"),
        (0, {0: 0, 1: 0}, "straggler"),
    ],
)
def test_waiting_that_clocks_leave_open_is_inconclusive(
    n_even: int, nodes: dict[int, int], bound: str
) -> None:
    """Rank 1 begins a call 3 ms late by its clock, which may be ahead.

    On another host no end comes before a start.
    Its device idles before the call for no recorded reason: no time of its own tells. A second
    call, which both begin at once and which takes 10 µs, shows that its clock is not ahead.
    """
    late = Call("allreduce", 1024, 10**6, 10**4)
    whole = Schedule(2, [late] * (1 + n_even), {(1, 0): 3 * 10**6}, nodes=nodes).trace()
    tables = {name: whole.frame(name).lazy() for name in TABLES}
    is_long = pl.when("is_communication").then("duration_ns").otherwise(1_000)
    kernels = whole.kernels.with_columns(duration_ns=is_long)
    tables["kernels"] = kernels.lazy()
    trace = Trace(whole.manifest, tables)
    assert analyses.job(trace).select("bound", "rank").rows() == [(bound, 1)]
    known = {"inconclusive": 3_010, "straggler": 10 if n_even else 0}[bound] * US
    calls = match_collectives(trace).calls.filter(call=0)
    assert calls.select("rank", "uncertainty_ns").rows() == [
        (0, pytest.approx(known, abs=500)),
        (1, 0),
    ]
    for name in ("waiting", "waiting_for", "collectives_across"):
        (section,) = build_report(trace, names=[name]).sections
        assert any("nconclusive" in note for note in section.notes) == (bound == "inconclusive"), (
            name
        )


@st.composite
def apart(draw: st.DrawFn) -> tuple[Schedule, int]:
    """A job on 1 to 4 hosts and the rank that computes longest.

    Clocks differ by up to 1 s and 50 ppm.
    """
    job = draw(schedules())
    n_nodes = draw(st.integers(1, min(4, job.n_ranks)))
    random = draw(st.randoms(use_true_random=False))
    of_node = [(random.uniform(-1e9, 1e9), random.uniform(-50, 50)) for _ in range(n_nodes)]
    slow = random.randrange(job.n_ranks)
    late = {
        (slow, at): random.randrange(call.compute_ns // 5, call.compute_ns)
        for at, call in enumerate(job.calls)
    }
    nodes = {rank: rank * n_nodes // job.n_ranks for rank in range(job.n_ranks)}
    clocks = {rank: of_node[node] for rank, node in nodes.items()}
    return replace(job, late={**job.late, **late}, clocks=clocks, nodes=nodes), slow


def differs(job: Schedule, rank: int, job_ns: int) -> float:
    """How far a rank's clock is ahead of rank 0's, as planted, when the latter shows `job_ns`."""
    (offset, drift), (own_offset, own_drift) = (job.clocks[number] for number in (0, rank))
    moment = (job_ns - EPOCH_NS - offset) / (1 + drift / 1e6)
    return moment * (1 + own_drift / 1e6) + own_offset + EPOCH_NS - job_ns


def test_planted_clocks_lie_within_their_bounds() -> None:
    """Each rank on another host than rank 0's counts once per job.

    Bounds are checked where the line begins, uncertainty at its end. A job counts as named or not
    if it is not inconclusive. One host is one clock, always.
    """
    within: list[bool] = []
    named: list[bool] = []
    n_jobs = 0

    @given(apart())
    def look(planted: tuple[Schedule, int]) -> None:
        nonlocal n_jobs
        n_jobs += 1
        job, slow = planted
        trace = job.trace()
        matched = match_collectives(trace)
        last = int(matched.calls.filter(rank=0)["end_ns"].to_list()[-1])
        for row in matched.clocks.iter_rows(named=True):
            if row["node"] == 0:
                assert (row["offset_ns"], row["drift_ppm"], row["uncertainty_ns"]) == (0, 0, 0)
                continue
            if row["basis"] == "unknown":  # broadcasts alone, or nothing
                continue
            begin = row["low_ns"] <= differs(job, row["rank"], row["origin_ns"]) <= row["high_ns"]
            line = row["offset_ns"] + row["drift_ppm"] * 1e-6 * (last - row["origin_ns"])
            within.append(
                begin and abs(line - differs(job, row["rank"], last)) <= row["uncertainty_ns"]
            )
        (verdict,) = analyses.job(trace).iter_rows(named=True)
        if verdict["bound"] != "inconclusive":
            named.append(verdict["rank"] == slow)

    look()
    assert len(within) > n_jobs // 4
    assert sum(within) >= 0.95 * len(within)
    assert len(named) >= n_jobs // 2
    assert sum(named) >= 0.99 * len(named)


@needs_captures
def test_a_real_jobs_rank_with_its_clock_set_ahead_waits_as_long() -> None:
    """Two GPUs of one host.

    Rank 1's times get 1 s and 40 ppm more, as on another host.
    Ends come 46 µs or more after all-reduces' last starts, sometimes of the one rank, sometimes of
    the other: both bounds are within twice that. The waits, of 21 collectives, stay to that
    precision.
    """
    trace = collect(CAPTURES / "ddp_resnet50_2gpu")
    first = int(trace.kernels["start_ns"].to_list()[0])
    start = pl.col("start_ns")
    drift = ((start - first) * 40e-6).round().cast(pl.Int64)
    ahead = trace.kernels.with_columns(
        pl.when(pl.col("rank") == 1).then(start + 10**9 + drift).otherwise(start)
    )
    tables = {name: trace.frame(name).lazy() for name in TABLES} | {"kernels": ahead.lazy()}
    moved = Trace(trace.manifest, tables | {"ranks": trace.ranks.with_columns(node="rank").lazy()})
    (clock,) = match_collectives(moved).clocks.filter(rank=1).iter_rows(named=True)
    assert clock["low_ns"] <= 10**9 + 40e-6 * (clock["origin_ns"] - first) <= clock["high_ns"]
    assert clock["uncertainty_ns"] < 92 * US
    waits = analyses.waiting(moved).sort("rank")["wait_ns"].to_list()
    assert waits == pytest.approx([13_619_417, 21_935_349], abs=21 * 92 * US)
