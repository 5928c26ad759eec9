"""What limits the program, and the number that says so."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracelens.capture import unprofiled_step_ns
from tracelens.derive.advice import advise
from tracelens.derive.breakdown import Breakdown, break_down
from tracelens.derive.idle_places import busy_places, idle_places, judged_pieces, judged_time, profiler_time
from tracelens.derive.process_time import count_ops, process_ranks, require_time, unseen_device
from tracelens.derive.step_times import step_sentences, step_times
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import VERDICT
from tracelens.trace import Trace

_BUSY = 0.8
"""A device that computes for this share of the time has little else to win."""
_LITTLE = 0.1
"""Nor has one where nothing else takes this share."""
_MINOR = 0.25
"""Nor where nothing else takes this much of what computing takes."""
_NEAR = 0.5
"""The second largest cause is told where it is this much of the largest, and _LITTLE of the time."""
_HANDFUL, _SCARCE, _SEVERAL_STEPS = 5, 0.01, 2
"""So few kernels, or work in so small a share of the time, say nothing of what limits a program."""
_ADDED_BY_PROFILER = ("launch", "host")
"""Where a profiler's own time goes, in this order: it is called in ops, API calls and Python calls."""

_PARTS = {
    "communication": "the device only communicates",
    "waiting": "the device waits in collectives for other ranks",
    "copy": "the device only copies",
    "input": "the device waits for input data",
    "allocation": "the device waits while memory is allocated or released",
    "sync": "the device waits because the host waited for it",
    "loading": "the device waits while code is loaded or compiled",
    "launch": "the device waits for launches",
    "host": "the device waits for other work of the host",
    "dependency": "launched work waits for another stream, copy or device",
    "unknown": "the device is idle, and nothing tells why,",
}
_PARTS_OF_PROCESS = {
    "input": "the process loads data or waits for it",
    "allocation": "the process allocates or releases memory of a device",
    "sync": "the process waits for a device",
    "loading": "the process loads or compiles code",
    "launch": "the process runs the framework's Python between ops",
    "host": "the process does other work, or none",
}


@dataclass(frozen=True, slots=True)
class _Rank:
    """A rank's judged time: ns by part, the share of it that was computed as profiled, and what is known of its steps.

    `is_process`: it uses no device, and is judged by its process; n_work counts kernels, or else ops.
    """

    rank: int
    parts: dict[str, int]
    profiled_frac: float
    n_work: int
    n_steps: int
    step_ns: int | None
    unprofiled_ns: int | None
    is_process: bool

    @property
    def subject(self) -> str:
        """What is judged."""
        return "process" if self.is_process else "device"

    def words(self, part: str) -> str:
        """What happens in the part's time."""
        return (_PARTS_OF_PROCESS if self.is_process else _PARTS).get(part, _PARTS[part])

    def share(self, part: str) -> float:
        """The part's share of the judged time."""
        return self.parts[part] / max(sum(self.parts.values()), 1)


def verdict(trace: Trace) -> pl.DataFrame:
    """A row a rank: what limits it.

    Judged over whole steps; of a rank that marks none, over all that was recorded. A device that computes at least 80 %
    of that time, or where nothing else takes 10 % of it or a quarter of what computing takes, is compute-bound; else the largest share of the rest is the bound:
    exposed communication or copies, waiting in collectives for other ranks, or a cause of idle time. Where the capture
    knows how long steps take without the profiler, what it adds is first taken from launching, then from the host's
    other work: device work takes as long either way. Raises MissingTableError without kernels and ops.
    """
    require_time(trace, "verdict")
    made = break_down(trace)
    steps = {rank: (n, median) for rank, n, median, *_ in step_times(trace).iter_rows()}
    n_work = trace.heights("kernels") | count_ops(trace)
    added = profiler_time(trace, made)
    judged = [
        _rank(
            trace,
            row | {"added": added.get(row["rank"], 0)},
            n_work[row["rank"]],
            *steps.get(row["rank"], (0, None)),
        )
        for row in _by_rank(judged_time(made)).iter_rows(named=True)
    ]
    places = _places(trace, made, judged)
    rows = [_too_little(rank) if _is_too_little(rank) else _said(rank, places) for rank in judged]
    return VERDICT.conform(pl.DataFrame(rows, schema=VERDICT.schema))


def _by_rank(times: pl.DataFrame) -> pl.DataFrame:
    """The judged time of each rank, added up over the devices that it uses in earnest."""
    busy = pl.col("compute_ns") + pl.col("communication_ns") + pl.col("copy_ns")
    used = times.filter(busy >= _LITTLE * busy.max().over("rank"))
    parts = [f"{name}_ns" for name in ("compute", *_PARTS)]
    return used.group_by("rank", maintain_order=True).agg(pl.col(parts).sum())


def _rank(trace: Trace, row: dict[str, int], n_work: int, n_steps: int, step_ns: float | None) -> _Rank:
    """A rank as it is judged: without what the profiler adds to a step, where that is known."""
    parts = {name: row[f"{name}_ns"] for name in ("compute", *_PARTS)}
    total = max(sum(parts.values()), 1)
    unprofiled = unprofiled_step_ns(trace, row["rank"]) if n_steps else None
    profiled_frac = parts["compute"] / total
    parts["host"] -= row["added"]
    if unprofiled is not None:
        added = max(total - row["added"] - unprofiled * n_steps, 0)
        for name in _ADDED_BY_PROFILER:
            taken = min(added, parts[name])
            parts[name], added = parts[name] - taken, added - taken
    step = None if step_ns is None else round(step_ns)
    is_process = row["rank"] in process_ranks(trace)
    return _Rank(row["rank"], parts, profiled_frac, n_work, n_steps, step, unprofiled, is_process)


def _is_too_little(rank: _Rank) -> bool:
    """Whether a few kernels, or hardly any time of the device, are all there is; steps that repeat may tell more."""
    scarce = 1 - sum(rank.share(name) for name in (*CAUSES,)) < _SCARCE
    few = rank.n_work < _HANDFUL
    if rank.n_steps < _SEVERAL_STEPS:
        return few or scarce
    return scarce and rank.n_work < 2 * _HANDFUL


def _too_little(rank: _Rank) -> dict[str, object]:
    busy = 1 - sum(rank.share(name) for name in CAUSES)
    counted = "ops" if rank.is_process else "kernels"
    return {
        "rank": rank.rank, "bound": "too little to judge", "value": busy, "unit": "1", "step_ns": rank.step_ns,
        "unprofiled_step_ns": rank.unprofiled_ns, "what": None,
        "evidence": f"{rank.n_work:,} {counted}; the {rank.subject} works for {busy:.2%} of the time",
    }  # fmt: skip


def _said(rank: _Rank, places: dict[tuple[int, str], str]) -> dict[str, object]:
    """The verdict on a rank."""
    first, second = sorted(_PARTS, key=rank.share, reverse=True)[:2]
    computing = rank.share("compute")
    is_minor = rank.share(first) < max(_LITTLE, _MINOR * computing)
    bound = "compute" if computing >= _BUSY or is_minor else first
    of_step = "of step time" if rank.n_steps else "of the time"
    what = places.get((rank.rank, bound))
    at = f", mostly in {what}" if what else ""
    said = f"the {rank.subject} computes {computing:.1%} {of_step}{at}"
    if bound != "compute":
        said = f"{rank.words(first)} {rank.share(first):.1%} {of_step}{at}; it computes {computing:.1%}"
    other = second if bound != "compute" else first
    if rank.share(other) >= max(_LITTLE, _NEAR * rank.share(bound) if bound != "compute" else 0):
        place = places.get((rank.rank, other))
        said += f"; then {other} {rank.share(other):.1%}" + (f" ({place})" if place else "")
    if rank.unprofiled_ns is not None and rank.step_ns is not None:
        said += (
            f". A step takes {rank.unprofiled_ns / 1e6:.2f} ms without the profiler, which this is judged by, and "
            f"{rank.step_ns / 1e6:.2f} ms with it, of which the {rank.subject} computes {rank.profiled_frac:.1%}"
        )
    return {
        "rank": rank.rank, "bound": bound, "value": rank.share(bound), "unit": "1", "evidence": said, "what": what,
        "step_ns": rank.step_ns, "unprofiled_step_ns": rank.unprofiled_ns,
    }  # fmt: skip


def _places(trace: Trace, made: Breakdown, judged: list[_Rank]) -> dict[tuple[int, str], str]:
    """The place that most of each part comes from which a verdict may tell of, by rank and part."""
    told = [(rank.rank, cause) for rank in judged for cause in CAUSES if rank.share(cause) >= _LITTLE]
    pieces = judged_pieces(made).filter(pl.col("cause").is_in({cause for _, cause in told}))
    idle = idle_places(trace, pieces).drop_nulls("what").unique(["rank", "cause"], keep="first", maintain_order=True)
    places = {(rank, cause): what for rank, cause, what in idle.select("rank", "cause", "what").iter_rows()}
    return busy_places(trace) | places


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """How long steps take, what would help and what it may save, and what makes the verdict doubtful."""
    found = step_sentences(trace) + unseen_device(trace) + advise(trace)
    slowed = frame.filter(pl.col("bound").is_in(["launch", "host"]) & pl.col("unprofiled_step_ns").is_null())
    if slowed.height and any((part["kind"] == "python").any() for part in trace.groups("spans", "kind")):
        found.append(
            "The profiler recorded Python calls, which slows the host by several times: a run without with_stack may "
            "be bound by something else."
        )
    if not trace.manifest.complete:
        found.append("The trace is cut off; this judges the part that is there.")
    return found
