"""Find the bound of the program, and the numbers that show it."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.ranks.missing import missing_ranks
from tracelens.derive.replay.advised import advise
from tracelens.derive.replay.unprofiled import bounds_of_range, unprofiled_steps
from tracelens.derive.time.bound_places import Places, bound_places, short_kernel
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS, place_phrase
from tracelens.derive.time.launch_advice import (
    GraphUse,
    count_captured,
    graph_use,
    is_capture_alone,
)
from tracelens.derive.time.lone_waits import lone_waits
from tracelens.derive.time.migrations import WAITS_DOMINATE, page_waits
from tracelens.derive.time.model import time_model
from tracelens.derive.time.phase_sentences import phase_sentences
from tracelens.derive.time.process_facts import unrecorded_device, unseen_device
from tracelens.derive.time.step_sentences import step_sentences
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.time_parts import RankTime, rank_times
from tracelens.schemas.results.time import IDLE_PARTS, PARTS, VERDICT
from tracelens.trace import Trace

_LITTLE = 0.1
"""Smallest share of the time at which a third part is mentioned."""
_HANDFUL, _SCARCE, _SEVERAL_STEPS = 5, 0.01, 2
"""Limits below which the bound of a program is not judged.

A program with fewer than _SEVERAL_STEPS steps needs _HANDFUL kernels, and its device must work for
the share _SCARCE of the time. A program with more steps needs only one of two things: a device that
works for the share _SCARCE of the time, or 2 * _HANDFUL kernels.
"""
_PARTS = {
    "communication": "the device only communicates",
    "waiting": "the device waits in collectives for rank {}",
    "copy": "the device only copies",
    "input": "the device waits for input data",
    "allocation": "the device waits while memory is allocated or released",
    "sync": "the device waits because the host waited for it",
    "loading": "the device waits while code is loaded or compiled",
    "launch": "the device waits for launches",
    "host": "the device waits for other work of the host",
    "dependency": "launched work waits for another stream, copy or device",
    "unknown": "the device is idle, and nothing shows why,",
}


_PARTS_OF_PROCESS = {
    "waiting": "the process waits in collectives for rank {}",
    "communication": "the process only communicates",
    "copy": "the process copies or sets memory",
    "input": "the process loads data or waits for it",
    "allocation": "the process allocates or releases memory of a device",
    "sync": "the process waits for a device",
    "loading": "the process loads or compiles code",
    "launch": "the process calls ops that do little work, or is between two ops,",
    "host": "the process does other work, or none",
}


def verdict(trace: Trace) -> pl.DataFrame:
    """Return the bound of each rank: one row per rank.

    `bound` is the largest part of the rank's steps, `second` the next one. Parts are computing,
    exposed communication, exposed copies, waiting for other ranks, and causes of idle time. Time
    that the profiler is known to add is subtracted. A rank without steps is judged over the phase
    program of time_breakdown. Raises MissingTableError without kernels and ops.
    """
    return trace.derived(_judge)


def _judge(trace: Trace) -> pl.DataFrame:
    if not trace.has("kernels"):
        if is_capture_alone(trace):
            return VERDICT.conform(pl.DataFrame(_captures(trace), schema=VERDICT.schema))
        require_time(trace, "verdict")
    model = time_model(trace)
    ranks = rank_times(model)
    places = bound_places(model)
    order = ["rank", "exposed_ns", "awaited_rank"]
    pairs = model.waits.sort(order, descending=[False, True, False])
    latest = pairs.unique("rank", keep="first", maintain_order=True)
    awaited = dict(latest.select("rank", "awaited_rank").iter_rows())
    rows = [_row(trace, rank, places, awaited.get(rank.rank)) for rank in ranks]
    return VERDICT.conform(pl.DataFrame(rows, schema=VERDICT.schema))


def _row(
    trace: Trace,
    rank: RankTime,
    places: Places,
    awaited: int | None,
) -> dict[str, object]:
    """Return a rank's row. `awaited` is the rank that it waits for most."""
    if _is_too_little(rank):
        return _too_little(rank, longest_kernel(trace, rank.rank))
    if rank.is_slowed_beyond_judging:
        plain, recorded = rank.unprofiled_ns or 0, rank.step_ns or 0
        return _inconclusive(
            rank,
            f"the profiler made a step of {duration(plain)} take {duration(recorded)}, so its parts"
            " tell nothing of the program: record without stacks",
        )
    unrecorded = unrecorded_device(trace, rank.rank) if rank.is_process else None
    if unrecorded is not None:
        return _inconclusive(rank, unrecorded)
    return {"caveat": _caveat(trace, rank), **_judgement(rank, places, awaited)}


def _inconclusive(rank: RankTime, evidence: str) -> dict[str, object]:
    """Return the row of a rank that cannot be judged, with the reason in `evidence`."""
    return {
        "rank": rank.rank,
        "bound": "inconclusive",
        "unit": "1",
        "step_ns": rank.step_ns,
        "unprofiled_step_ns": rank.unprofiled_ns,
        "evidence": evidence,
    }


def _captures(trace: Trace) -> list[dict[str, object]]:
    """Return the rows of ranks that only captured a graph, without running it."""
    return [
        {
            "rank": rank,
            "bound": "too little to judge",
            "bound_frac": 0.0,
            "value": 0.0,
            "unit": "1",
            "evidence": (
                f"{_counted(n_launches, 'launch')} into a graph that is captured; nothing ran on a"
                " device"
            ),
        }
        for rank, n_launches in count_captured(trace).items()
    ]


def _is_too_little(rank: RankTime) -> bool:
    """Return whether a rank has too few kernels, or too little device time, to judge.

    A rank with several steps has too little only if both are true.
    """
    scarce = 1 - sum(rank.shares[name] for name in IDLE_PARTS) < _SCARCE
    few = rank.n_work < _HANDFUL
    if rank.n_steps < _SEVERAL_STEPS:
        return few or scarce
    return scarce and rank.n_work < 2 * _HANDFUL


def longest_kernel(trace: Trace, rank: int) -> str | None:
    """Describe the kernel name with most time: calls, blocks and time. None without kernels."""
    grid = ("grid_x", "grid_y", "grid_z")
    kernels = trace.select("kernels", "name", "duration_ns", *grid, rank=rank)
    if kernels.is_empty():
        return None
    blocks = pl.col(grid[0]).cast(pl.Int64) * pl.col(grid[1]) * pl.col(grid[2])
    by_name = kernels.group_by("name").agg(
        pl.col("duration_ns").sum(),
        n=pl.len(),
        n_blocks=blocks.max(),
    )
    name, total_ns, n_calls, n_blocks = by_name.sort("duration_ns", descending=True).row(0)
    of_blocks = "" if n_blocks is None else f" of {_counted(n_blocks, 'block')}"
    runs = "runs" if n_calls == 1 else "run"
    return f"{_counted(n_calls, 'kernel')}{of_blocks} ({short_kernel(name)}) {runs} for {duration(total_ns)}"


def _counted(n: int, noun: str) -> str:
    """Write a number and its noun, in the plural if needed.

    A noun in -ch gets -es.
    """
    ending = "es" if noun.endswith("ch") else "s"
    return f"one {noun}" if n == 1 else f"{n:,} {noun}{ending}"


def _caveat(trace: Trace, rank: RankTime) -> str | None:
    """Describe waiting that appears as communication or computing; None if none is known."""
    communicates = bool({rank.bound, rank.second} & {"communication", "waiting"})
    if communicates and len(trace.manifest.ranks) == 1 and missing_ranks(trace):
        lone = lone_waits(trace)
        if lone is not None:
            share = f"{1 - lone.transfer_ns / lone.recorded_ns:.0%}".replace("%", " %")
            return (
                f"at least {share} of the time in collectives is waiting for other ranks, which"
                " were not given: a network of 1 GB/s would already be faster"
            )
        return (
            "waiting for the other ranks and transfer cannot be told apart, as only this rank of"
            " the job was given"
        )
    memories = trace.select("memcpys", "source_memory")["source_memory"]
    waits = page_waits(trace).get(rank.rank, 0.0) if (memories == "managed").any() else 0.0
    if waits < WAITS_DOMINATE:
        return None
    return (
        f"what counts as computing is mostly waiting: pages of managed memory move during"
        f" {waits:.1%} of kernel time"
    )


def _too_little(rank: RankTime, longest: str | None) -> dict[str, object]:
    """Return the row of a rank with too little work to be judged."""
    busy = 1 - sum(rank.shares[name] for name in IDLE_PARTS)
    work = _counted(rank.n_work, "op" if rank.is_process else "kernel")
    return {
        "rank": rank.rank,
        "bound": "too little to judge",
        "bound_frac": busy,
        "value": busy,
        "unit": "1",
        "step_ns": rank.step_ns,
        "unprofiled_step_ns": rank.unprofiled_ns,
        "evidence": (
            f"{work}; the {rank.subject} works for {busy:.2%} of the time"
            + (f"; {longest}" if longest else "")
        ),
    }


def _judgement(rank: RankTime, places: Places, awaited: int | None) -> dict[str, object]:
    """Return the row of a rank that is judged. `awaited` is the rank that it waits for most."""
    bound, second = rank.bound, rank.second
    return {
        "rank": rank.rank,
        "bound": bound,
        "bound_frac": rank.shares[bound],
        "second": second,
        "second_frac": None if second is None else rank.shares[second],
        "value": rank.shares[bound],
        "unit": "1",
        "evidence": _evidence(rank, places, awaited),
        "what": places.get((rank.rank, bound)),
        "second_what": None if second is None else places.get((rank.rank, second)),
        "step_ns": rank.step_ns,
        "unprofiled_step_ns": rank.unprofiled_ns,
    }


def _evidence(rank: RankTime, places: Places, awaited: int | None) -> str:
    """Describe the bound and its share, the share of computing, the next part and the step."""
    bound = rank.bound
    next_part = _next_part(rank, places)
    without_profiler = _without_profiler(rank)
    of_step = "of step time" if rank.n_steps else "of the time"
    place = places.get((rank.rank, bound))
    where = f", mostly {place_phrase(place)}" if place else ""
    computing = f"{rank.shares['compute']:.1%}"
    if bound == "compute":
        main = f"the {rank.subject} computes {computing} {of_step}{where}"
    else:
        of_process = _PARTS_OF_PROCESS if rank.is_process else _PARTS
        words = of_process.get(bound, _PARTS[bound]).format(awaited)
        main = f"{words} {rank.shares[bound]:.1%} {of_step}{where}; it computes {computing}"
    return main + next_part + without_profiler


def _next_part(rank: RankTime, places: Places) -> str:
    """Describe the longest part besides the bound; empty if it is short."""
    part = max(
        (part for part in _PARTS if part != rank.bound),
        key=rank.shares.__getitem__,
    )
    if part != rank.second and rank.shares[part] < _LITTLE:
        return ""
    place = places.get((rank.rank, part))
    nouns = PROCESS_WORDS if rank.is_process else PART_WORDS
    where = f" ({place})" if place else ""
    return f"; then {nouns[part]} {rank.shares[part]:.1%}{where}"


def _without_profiler(rank: RankTime) -> str:
    """Give the length of a step without the profiler and under it; empty if not known."""
    if rank.unprofiled_ns is None or rank.recorded_step_ns is None:
        return ""
    computing_frac = rank.recorded["compute"] / max(sum(rank.recorded.values()), 1)
    return (
        f". A step takes {duration(rank.unprofiled_ns)} without the profiler, and"
        f" {duration(rank.recorded_step_ns)} under it, of which the {rank.subject}"
        f" computes {computing_frac:.1%}"
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the length of steps, the savings of the best changes, and doubts about the verdict."""
    if is_capture_alone(trace):
        return _capture_only(trace)
    model = time_model(trace)
    caveats = frame["caveat"].drop_nulls().unique()
    return [
        *step_sentences(model),
        *phase_sentences(model),
        *unseen_device(trace, model.processes),
        *advise(trace),
        *_limits_of_range(trace, rank_times(model)),
        *(f"{text[:1].upper()}{text[1:]}." for text in caveats),
        *_capture_only(trace),
        *_doubts(trace, frame),
    ]


def _doubts(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Warn if the trace is incomplete, or if recorded Python calls slowed a host-bound rank."""
    is_of_host = pl.col("bound").is_in(["launch", "host"])
    slowed = frame.filter(is_of_host, pl.col("unprofiled_step_ns").is_null())
    doubts = []
    if slowed.height and (trace.select("spans", "kind")["kind"] == "python").any():
        doubts.append(
            "The profiler recorded Python calls, which slows the host by several times: a run"
            " that records none may be bound by something else."
        )
    if not trace.manifest.complete:
        is_judged = frame["bound"].is_in(PARTS).any()
        part = "; this judges the part that is there" if is_judged else ""
        doubts.append(f"The trace is incomplete{part}.")
    return doubts


def _limits_of_range(trace: Trace, ranks: list[RankTime]) -> list[str]:
    """Give the range of a step's time without the profiler, and what limits the step at each end.

    The result is empty if the same part of a step limits both ends, or if the range is not known.
    """
    # Several ranks wait for each other, but each is replayed alone.
    step = unprofiled_steps(trace).get(ranks[0].rank) if len(ranks) == 1 else None
    bounds = None if step is None else bounds_of_range(ranks[0], step)
    if step is None or bounds is None or step.low_ns is None or step.high_ns is None:
        return []
    nouns = PROCESS_WORDS if ranks[0].is_process else PART_WORDS
    sentence = (
        f"Without the profiler a step would take"
        f" {span_text(step.low_ns, step.high_ns)}, limited by {nouns[bounds[0]]} at the short end and"
        f" by {nouns[bounds[1]]} at the long end."
    )
    return [sentence]


def _capture_only(trace: Trace) -> list[str]:
    """Warn if a trace holds only the capture of CUDA graphs, and no replay; empty otherwise."""
    if graph_use(trace) != GraphUse.CAPTURED:
        return []
    return ["This is a capture of CUDA graphs, not a run: no replay of them was recorded."]


ANALYSIS = Analysis(
    "What limits this program?",
    VERDICT,
    verdict,
    notes=notes,
    shown=("rank", "bound", "bound_frac", "second", "second_frac", "evidence"),
    parallel=Parallel.OF_TIME,
)
