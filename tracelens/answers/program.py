"""Answer for one program on one rank: its bound, and changes that would help.

Without a device, the answer is about the process.
"""

from tracelens.analyses.verdict import verdict
from tracelens.answers.answer import WORK, Answer
from tracelens.answers.changes import changes_of
from tracelens.answers.details import (
    doubts_of,
    facts_of,
    loaded_once,
    next_sections,
    without_profiler,
)
from tracelens.answers.limits import (
    bound_place,
    first_sentence,
    launching_functions,
    limits_of,
    with_long_steps,
)
from tracelens.answers.recorded import about, served, uneven_steps
from tracelens.answers.step_bar import kind_of, percents_in, program_bar
from tracelens.answers.unjudged import answer_inconclusive, answer_too_little
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import RankTime, rank_times
from tracelens.trace import Trace

_TOO_LITTLE, _INCONCLUSIVE = "too little to judge", "inconclusive"
"""Verdicts on ranks whose bound is not known."""
_RECORD_HOST = (
    "What would help: record the host, too (ProfilerActivity.CPU; nsys: --trace=cuda,nvtx), to see"
    " what the GPU waits for"
)
_MORE_BLOCKS = (
    "What would help: more blocks at a time: larger batches, kernels that split the work, or"
    " several streams"
)


def answer_program(trace: Trace) -> Answer:
    """Return the answer for the lowest rank that has a verdict.

    Raises MissingTableError without kernels and ops.
    """
    row = verdict(trace).sort("rank").row(0, named=True)
    bound = row["bound"]
    model = time_model(trace)
    rank = next(rank for rank in rank_times(model) if rank.rank == row["rank"])
    doubts = doubts_of(model, rank, is_judged=bound not in (_TOO_LITTLE, _INCONCLUSIVE))
    if bound == _TOO_LITTLE:
        return answer_too_little(trace, rank, row, doubts)
    if bound == _INCONCLUSIVE:
        return answer_inconclusive(model, rank, row, doubts)
    limits = limits_of(model, rank, row)
    bar = program_bar(rank)
    sentence = first_sentence(
        model,
        rank,
        limits,
        percents_in(bar, rank, limits.parts),
    )
    sentence, on_long_steps = with_long_steps(trace, rank, sentence)
    launching = launching_functions(model, rank, limits)
    is_in_facts = launching is not None and limits.second is None
    place = None if is_in_facts else bound_place(model, rank, limits)
    facts = facts_of(model, rank, limits, launching, row["caveat"])
    uses_few = limits.few_sms is not None
    shown_by = ("kernel_grids",) if uses_few else next_sections(rank, bound)
    unprofiled, unprofiled_ns = without_profiler(model, rank)
    is_busy = limits.second is None and kind_of(bound) == WORK
    uneven = uneven_steps(model, rank.rank, is_busy=is_busy)
    recorded = about(trace)
    without = ("loading",) if loaded_once(rank) else ()
    changes = changes_of(
        trace,
        rank.judged_step_ns,
        limits.last_where,
        without,
        unprofiled_ns,
    )
    return Answer(
        sentence,
        place=place,
        details=(*facts, *([on_long_steps] if on_long_steps else []), *uneven),
        bars=(bar,),
        unprofiled=unprofiled,
        changes=changes,
        no_change=None if changes else _MORE_BLOCKS if uses_few else no_change(rank),
        doubts=doubts,
        sections=(*(("serving",) if served(trace) else ()), *shown_by),
        about=recorded,
    )


def no_change(rank: RankTime) -> str:
    """Return the line to show for a rank for which no change can be advised."""
    whole = "a step" if rank.n_steps else "the time"
    if rank.bound == "unknown" and not rank.is_process:
        return _RECORD_HOST
    if rank.bound == "compute" and not rank.is_process:
        return f"What would help: faster kernels; no change around them would save 2 % of {whole}"
    return f"What would help: nothing seen here would save 2 % of {whole}"
