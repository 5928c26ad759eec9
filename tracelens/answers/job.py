"""Answer for a job: the late ranks that others wait for, or the bound of all ranks."""

from collections.abc import Collection, Sequence
from statistics import mean, median
from typing import Any

import polars as pl

from tracelens.analyses import job, verdict
from tracelens.analyses.job import bubble_sentence, waiting_sentence
from tracelens.answers.answer import WORK, Answer, Bar, Change
from tracelens.answers.changes import changes_of, changes_of_job, widen
from tracelens.answers.details import incomplete, next_sections
from tracelens.answers.limits import Limits, program_sentence, special_limits
from tracelens.answers.program import no_change
from tracelens.answers.recorded import about
from tracelens.answers.step_bar import kind_of, percents_in, program_bar
from tracelens.answers.words import place_text
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.missing import describe_missing
from tracelens.derive.replay.unprofiled_job import MOST_RANKS, UnprofiledJob, unprofiled_job
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.culprit_costs import Culprit
from tracelens.derive.time.culprits import find_culprits
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import RankTime, TimeModel, rank_times
from tracelens.schemas.results.time import PARTS
from tracelens.trace import Trace

_STRAGGLER, _INCONCLUSIVE = "straggler", "inconclusive"
_LABEL = 14
"""The most characters in a label of a bar."""
_MORE_MICROBATCHES = "What would help: more microbatches a step, which makes the bubble smaller"


def answer_job(trace: Trace) -> Answer:
    """Return the answer for a job: the late ranks, or the bound of all ranks.

    Raises MissingTableError without kernels and ops.
    """
    row = job(trace).row(0, named=True)
    model = time_model(trace)
    judged = rank_times(model)
    if row["bound"] == _STRAGGLER:
        return _of_straggler(model, judged, row)
    if row["bound"] == _INCONCLUSIVE:
        return _inconclusive(trace, judged, row)
    return _of_all(trace, judged, row)


def _of_straggler(
    model: TimeModel,
    judged: Sequence[RankTime],
    row: dict[str, Any],
) -> Answer:
    """Return the answer for a job with late ranks: their mean step, and that of the others."""
    trace = model.trace
    sentence, _, more = str(row["evidence"]).partition("; ")
    together = mean_rank(judged)
    each = find_culprits(model).each
    place = _place_of(model, each[0]) if each else None
    unprofiled = unprofiled_job(trace)
    if len(each) == 1:
        changes = changes_of_job(
            trace,
            each[0],
            together.judged_step_ns,
            place,
            unprofiled,
        )
    else:
        changes = _changes_of_all(trace, together, unprofiled)
    return Answer(
        sentence[:1].upper() + sentence[1:],
        place=place_text(place),
        details=(more,) if more else (),
        bars=_culprit_bars(each, judged),
        unprofiled=_without_profiler(trace, together),
        changes=changes,
        no_change=None if changes else no_change(together),
        about=_about(trace),
        doubts=incomplete(trace),
        sections=("job", "waiting_for"),
    )


def _place_of(model: TimeModel, culprit: Culprit) -> str | None:
    """Return the code in which the culprit's ranks lose most time; None if unknown."""
    # Only time lost to the cause of the delay counts.
    of_cause = model.idle.filter(
        pl.col("rank").is_in([*culprit.members.ranks]),
        pl.col("cause") == pl.lit(culprit.cause),
        pl.col("what").ne_missing(PROFILER),
    )
    sums = of_cause.drop_nulls("what").group_by("what").agg(pl.col("idle_ns").sum())
    most = sums.sort("idle_ns", "what", descending=[True, False])["what"]
    return str(most[0]) if most.len() else None


def _culprit_bars(each: Sequence[Culprit], judged: Sequence[RankTime]) -> tuple[Bar, ...]:
    """Draw the mean step of the first culprit's ranks, and of the ranks that wait for them.

    Without a culprit, draw the mean step of all ranks.
    """
    if not each:
        return (program_bar(mean_rank(judged)),)
    late = {*each[0].members.ranks}
    waiting = {*each[0].connected} - late
    late_ranks = [rank for rank in judged if rank.rank in late]
    waiting_ranks = [rank for rank in judged if rank.rank in waiting]
    if not late_ranks or not waiting_ranks:
        return (program_bar(mean_rank(judged)),)
    others = f"rank {waiting_ranks[0].rank}" if len(waiting_ranks) == 1 else "the others"
    means = {
        each[0].members.text: mean_rank(late_ranks),
        others: mean_rank(waiting_ranks),
    }
    longest = max(mean_step.judged_step_ns or 0 for mean_step in means.values()) or 1
    return tuple(
        program_bar(
            mean_step,
            name[:_LABEL],
            (mean_step.judged_step_ns or longest) / longest,
        )
        for name, mean_step in means.items()
    )


def _inconclusive(trace: Trace, judged: Sequence[RankTime], row: dict[str, Any]) -> Answer:
    together = mean_rank(judged)
    return Answer(
        "Which rank the others wait for cannot be told",
        details=(str(row["evidence"]),),
        bars=(program_bar(together),),
        unprofiled=_without_profiler(trace, together),
        no_change=no_change(together),
        about=_about(trace),
        doubts=incomplete(trace),
        sections=("waiting_for",),
    )


def _of_all(trace: Trace, judged: Sequence[RankTime], row: dict[str, Any]) -> Answer:
    """Return the answer for a job without a culprit: the bound of most ranks, and the mean step."""
    verdicts = verdict(trace).sort("rank")
    bounds = verdicts["bound"].to_list()
    # The job's bound may be the bound of no rank, if each rank computes for longer.
    bound = row["bound"] if row["bound"] in bounds else max(bounds, key=bounds.count)
    of_bound = verdicts.filter(pl.col("bound") == bound)
    ranks = [rank for rank in judged if rank.rank in {*of_bound["rank"]}] or [*judged]
    together = mean_rank(ranks)
    second = together.beside_computing
    limits = (
        Limits(
            "compute",
            _first_place(of_bound, "compute"),
            second,
            _first_place(of_bound, second),
        )
        if second is not None and bound in ("compute", second)
        else Limits(bound, _first_place(of_bound, bound))
    )
    special = special_limits(time_model(trace), ranks[0], limits)
    bar = program_bar(together)
    shares = percents_in(bar, together, limits.parts)
    sentence = program_sentence(together, bound, shares, special=special)
    of_whom = "On every rank" if len(ranks) == len(judged) else f"On {_named(ranks)}"
    # Ranks of a balanced pipeline wait because of its schedule, not for a slow rank.
    bubble = bubble_sentence(trace, judged)
    culprit = _culprit(row)
    waiting = None if culprit else waiting_sentence(judged, bound)
    without = () if bubble is None else ("waiting",)
    unprofiled = unprofiled_job(trace)
    changes = _changes_of_all(trace, together, unprofiled, limits.last_where, without)
    return Answer(
        f"{of_whom} {sentence[:1].lower()}{sentence[1:]}",
        place=place_text(limits.where, is_busy=kind_of(limits.bound) == WORK),
        details=(
            *limits.place_of_second(),
            *(text for text in (*culprit, bubble, waiting) if text),
        ),
        bars=(bar,),
        unprofiled=_without_profiler(trace, together),
        changes=changes,
        no_change=None if changes else _MORE_MICROBATCHES if bubble else no_change(together),
        about=_about(trace),
        doubts=(*incomplete(trace), *_lacking(trace)),
        sections=next_sections(together, bound),
    )


def _changes_of_all(
    trace: Trace,
    together: RankTime,
    unprofiled: UnprofiledJob | None,
    place: str | None = None,
    without: Collection[str | None] = (),
) -> tuple[Change, ...]:
    """Return the best changes of all ranks. See `changes_of` for `place` and `without`."""
    changes = changes_of(
        trace,
        together.judged_step_ns,
        place,
        without,
        None if unprofiled is None else unprofiled.unprofiled_ns,
    )
    return widen(changes, unprofiled)


def _without_profiler(trace: Trace, together: RankTime) -> str | None:
    """Return a sentence on the job's step without the profiler.

    Return None if the step is not known, or if an estimate's range reaches the recorded length.
    """
    if len(trace.manifest.ranks) > MOST_RANKS:
        return f"a step without the profiler is estimated for jobs of up to {MOST_RANKS} ranks only"
    step = unprofiled_job(trace)
    if step is None:
        return None
    words = "without the profiler a step takes"
    plain, spread = duration(step.unprofiled_ns), span_text(step.low_ns, step.high_ns)
    if step.is_measured:
        recorded = duration(together.recorded_step_ns or step.recorded_ns)
        return f"{words} {plain} ({spread}), under it {recorded}"
    return None if step.high_ns >= step.recorded_ns else f"{words} about {plain} ({spread})"


def _first_place(verdicts: pl.DataFrame, part: str) -> str | None:
    """Return the code that the first verdict names for a part of a step; None if none does."""
    of_part = (
        pl.when(pl.col(name) == part).then(what)
        for name, what in (("bound", "what"), ("second", "second_what"))
    )
    return next(
        iter(verdicts.select(pl.coalesce(of_part)).to_series().drop_nulls()),
        None,
    )


def _lacking(trace: Trace) -> tuple[str, ...]:
    """Warn of ranks without a trace: waiting for them looks like communication."""
    missing = describe_missing(trace)
    return () if missing is None else (f"{missing}, and counts as communication",)


def _culprit(row: dict[str, Any]) -> tuple[str, ...]:
    """Describe a straggler that costs the job less than the bound of all ranks.

    The result is empty without such a straggler.
    """
    if row["second"] != _STRAGGLER:
        return ()
    return (str(row["evidence"]).partition("; ")[2],)


def _named(ranks: Sequence[RankTime]) -> str:
    return list_ranks(rank.rank for rank in ranks)


def mean_rank(ranks: Sequence[RankTime]) -> RankTime:
    """Combine several ranks into one, with the mean of their parts and the median step time."""
    first = ranks[0]
    steps = [rank.step_ns for rank in ranks if rank.step_ns is not None]
    unprofiled = [rank.unprofiled_ns for rank in ranks if rank.unprofiled_ns is not None]
    n_steps = round(median(rank.n_steps for rank in ranks))
    # Ranks may have recorded different numbers of steps, so their times are brought to one number.
    scales = [n_steps / rank.n_steps if n_steps and rank.n_steps else 1.0 for rank in ranks]
    parts, recorded = (
        {
            part: round(
                mean(
                    getattr(rank, name)[part] * scale
                    for rank, scale in zip(ranks, scales, strict=True)
                )
            )
            for part in PARTS
        }
        for name in ("parts", "recorded")
    )
    return RankTime(
        first.rank,
        parts,
        recorded,
        sum(rank.n_work for rank in ranks),
        n_steps,
        round(median(steps)) if steps else None,
        round(median(unprofiled)) if len(unprofiled) == len(ranks) else None,
        first.is_process,
        first.n_devices,
    )


def _about(trace: Trace) -> str:
    """Describe the recorded program, and the number of hosts."""
    nodes = {
        source.get("node") for source in trace.manifest.sources if source.get("node") is not None
    }
    return about(trace) + (f", {len(nodes)} hosts" if len(nodes) > 1 else "")
