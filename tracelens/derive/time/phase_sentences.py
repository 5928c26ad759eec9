"""Say in words how long the program runs, and what time is left out of shares and medians."""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.time_text import duration
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.time.program_phases import EARLIER, LATER, START_UP, TEAR_DOWN
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace

_UNLIKE = (
    "start-up (creation of a context, loading of libraries) is part of it; left out of all shares"
    " and medians"
)
_SHORTEST_NS = 5_000
"""Shorter start-up or tear-down would be printed as 0.00 ms, and is not reported."""
_NS = (pl.col("end_ns") - pl.col("start_ns")).sum()


def phase_sentences(model: TimeModel) -> list[str]:
    """Describe the program's time on ranks without steps, and the time left out of all shares.

    In sentences about several ranks, times are medians.
    """
    phases = model.phases
    trace = model.trace
    marked = phases.drop_nulls("step")["rank"].unique()
    is_marked = pl.col("rank").is_in(marked.implode())
    bare = phases.filter(~is_marked)
    sentences = [*_on_program(bare, trace)] if bare.height else []
    sentences += _on_edges(phases, trace)
    return [
        *sentences,
        *_on_steps(phases.drop_nulls("step"), trace),
    ]


def _on_program(bare: pl.DataFrame, trace: Trace) -> Iterator[str]:
    """Describe the program's time on ranks that mark no steps."""
    sums = bare.group_by("rank", "phase").agg(ns=_NS)
    times = {phase: _median(sums.filter(phase=phase)) for phase in (START_UP, TEAR_DOWN)}
    left_out = [
        f"{word} ({duration(ns)})"
        for word, ns in zip(
            ("start-up", "tear-down"),
            times.values(),
            strict=True,
        )
        if ns >= _SHORTEST_NS
    ]
    ranks = _ranks(bare, trace)
    where = f"{ranks} marks" if bare["rank"].n_unique() == 1 else f"{ranks} mark"
    where = where if ranks else "The trace marks"
    program = _median(sums.filter(phase=PROGRAM))
    if not program:
        return
    begin = "where the device first works steadily"
    if (bare["phase"] == EARLIER).any():
        begin = "the end of earlier work"
    span = f" from {begin} to its last work" if left_out else f" from {begin} on"
    if not left_out and not bare["phase"].is_in([EARLIER, LATER]).any():
        span = " that were recorded"
    without = f", without {' and '.join(left_out)}" if left_out else ""
    yield f"{where} no steps: all shares are of the {duration(program)}{span}{without}."


def _on_edges(phases: pl.DataFrame, trace: Trace) -> Iterator[str]:
    """Describe the time of device work that began before the trace or ended after it."""
    kernels = trace.select("kernels", "rank", "link", "duration_ns")
    kernels = kernels.filter(pl.col("link") == "pre_window")
    for phase in (EARLIER, LATER):
        of_phase = phases.filter(pl.col("step").is_null(), phase=phase)
        if of_phase.is_empty():
            continue
        time_by_rank = of_phase.group_by("rank").agg(ns=_NS)
        length = duration(_median(time_by_rank))
        ranks = _ranks(of_phase, trace)
        where = f"{ranks}: for" if ranks else "For"
        if phase == EARLIER:
            recorded = kernels.filter(pl.col("rank").is_in(of_phase["rank"].implode()))
            kernels_are = "kernel of it is" if recorded.height == 1 else "kernels of it are"
            count = (
                f"{recorded.height:,} {kernels_are} recorded,"
                f" {duration(int(recorded['duration_ns'].sum()))}"
                if recorded.height
                else "nothing of it is recorded"
            )
            yield (
                f"{where} the first {length} the device ran earlier work, launched before the"
                f" trace began ({count}); it is in no step and no share."
            )
        else:
            yield (
                f"{where} the last {length} the device ran work whose end the trace does not"
                " hold; it is in no step and no share."
            )


def _on_steps(steps: pl.DataFrame, trace: Trace) -> Iterator[str]:
    """Name the steps that are not part of the program, or do not count in its medians."""
    is_cut = (pl.col("phase") == LATER) & (pl.col("end_ns") > pl.col("start_ns"))
    for left_out, why in (
        (
            steps.filter(phase=START_UP),
            _UNLIKE,
        ),
        (
            steps.filter(phase=TEAR_DOWN),
            "only the end of earlier work ran here; left out of all shares and medians",
        ),
        (steps.filter(is_cut), "the trace ends within it; left out of all shares and medians"),
    ):
        if left_out.is_empty():
            continue
        ranks = _ranks(left_out, trace)
        numbers = sorted({int(step) for step in left_out["step"]})
        length_ns = pl.col("end_ns") - pl.col("start_ns")
        ns = left_out.select(length_ns.median()).item()
        words = f"step{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        words = f"{ranks}: {words}" if ranks else words.capitalize()
        yield f"{words} ({duration(ns)}): {why}."


def _median(sums: pl.DataFrame) -> float:
    """Return the median of the ranks' sums, 0 if there are no ranks."""
    median = sums["ns"].median()
    return median if isinstance(median, float) else 0.0


def _ranks(rows: pl.DataFrame, trace: Trace) -> str:
    """Name the ranks of the rows. The text is empty if the trace has only one rank."""
    if len(trace.manifest.ranks) == 1:
        return ""
    names = list_ranks(sorted({int(rank) for rank in rows["rank"]}))
    return names[0].upper() + names[1:]
