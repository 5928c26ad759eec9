"""The answer to a job of several ranks: which rank the others wait for, or what limits them all."""

from collections.abc import Sequence
from statistics import mean, median
from typing import Any

import polars as pl

from tracelens.analyses import job, verdict
from tracelens.answers.answer import Answer, counted, three_digits
from tracelens.answers.changes import changes_of
from tracelens.answers.program import (
    NO_CHANGE,
    incomplete,
    next_sections,
    percent_in,
    program_bar,
    program_sentence,
    step_of,
    whole_of,
)
from tracelens.answers.recorded import about
from tracelens.answers.words import place_text
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.time.bounds import PARTS
from tracelens.derive.time.rank_time import RankTime, judged_ranks
from tracelens.derive.time.straggler import Straggler, find_straggler
from tracelens.trace import Trace

_STRAGGLER, _INCONCLUSIVE = "straggler", "inconclusive"
_VERBS = {
    "compute": "computes {own} where its peers compute {others}",
    "communication": "communicates for {own} where its peers do for {others}",
    "copy": "copies for {own} where its peers copy for {others}",
    "input": "waits for input for {own} where its peers wait for {others}",
    "launch": "spends {own} launching where its peers spend {others}",
    "host": "spends {own} on other host work where its peers spend {others}",
    "loading": "loads code for {own} where its peers do for {others}",
    "sync": "waits for its device for {own} where its peers do for {others}",
}


def answer_job(trace: Trace) -> Answer:
    """Answer for all ranks. Raises MissingTableError without kernels and ops."""
    row = job(trace).row(0, named=True)
    judged = judged_ranks(trace)
    if row["bound"] == _STRAGGLER and (found := find_straggler(trace, judged)) is not None:
        return _of_straggler(trace, judged, found)
    if row["bound"] == _INCONCLUSIVE:
        return _inconclusive(trace, judged, row)
    return _of_all(trace, judged, row)


def _of_straggler(trace: Trace, judged: Sequence[RankTime], found: Straggler) -> Answer:
    slow = next(rank for rank in judged if rank.rank == found.rank)
    others = [rank for rank in judged if rank.rank != found.rank]
    mean_of_others = mean_rank(others)
    longest = max(step_of(rank) or 0 for rank in (slow, mean_of_others)) or 1
    who = (
        f"Rank {others[0].rank} waits"
        if len(others) == 1
        else f"{counted(len(others), 'rank')} wait"
    )
    bars = [
        program_bar(rank, name, (step_of(rank) or longest) / longest)
        for rank, name in (
            (slow, f"rank {slow.rank}"),
            (mean_of_others, f"rank {others[0].rank}" if len(others) == 1 else "the others"),
        )
    ]
    share = f"{round(found.share * 100)} %"
    changes = changes_of(trace, step_of(mean_rank(judged)))
    return Answer(
        f"{who} for rank {found.rank}: {share} of {whole_of(mean_of_others)}",
        details=(_why(found, slow),),
        bars=tuple(bars),
        changes=changes,
        no_change=None if changes else NO_CHANGE,
        about=_about(trace),
        doubts=incomplete(trace),
        sections=("waiting_for", "verdict"),
    )


def _why(found: Straggler, slow: RankTime) -> str:
    """What the awaited rank has more of, in a step."""
    if found.cause is None:
        return f"why rank {found.rank} is late, this trace does not show"
    n_steps = max(slow.n_steps, 1)
    own, others = (
        f"{three_digits(ns / n_steps / 1e6)} ms" for ns in (found.own_ns, found.others_ns)
    )
    verb = _VERBS.get(
        found.cause, "loses {own} by " + found.cause + " where its peers lose {others}"
    )
    each = " a step" if slow.n_steps else ""
    return f"rank {found.rank} {verb.format(own=own, others=others)}{each}"


def _inconclusive(trace: Trace, judged: Sequence[RankTime], row: dict[str, Any]) -> Answer:
    return Answer(
        "Which rank the others wait for cannot be told",
        details=(str(row["evidence"]),),
        bars=(program_bar(mean_rank(judged)),),
        no_change=NO_CHANGE,
        about=_about(trace),
        doubts=incomplete(trace),
        sections=("waiting_for",),
    )


def _of_all(trace: Trace, judged: Sequence[RankTime], row: dict[str, Any]) -> Answer:
    """The bound that most ranks share, and their mean step."""
    bound = str(row["bound"])
    rows = verdict(trace).filter(pl.col("bound") == bound).sort("rank")
    ranks = [rank for rank in judged if rank.rank in {*rows["rank"]}] or [*judged]
    together = mean_rank(ranks)
    bar = program_bar(together)
    which = "On every rank" if len(ranks) == len(judged) else f"On {_named(ranks)}"
    sentence = program_sentence(together, bound, percent_in(bar, together, bound))
    what = next(iter(rows["what"].drop_nulls().to_list()), None)
    changes = changes_of(trace, step_of(together), what)
    return Answer(
        f"{which} {sentence[:1].lower()}{sentence[1:]}",
        place=place_text(what),
        bars=(bar,),
        changes=changes,
        no_change=None if changes else NO_CHANGE,
        about=_about(trace),
        doubts=incomplete(trace),
        sections=next_sections(together, bound),
    )


def _named(ranks: Sequence[RankTime]) -> str:
    return list_ranks(rank.rank for rank in ranks)


def mean_rank(ranks: Sequence[RankTime]) -> RankTime:
    """The mean of several ranks as one; its step is the median of theirs."""
    first = ranks[0]
    steps = [rank.step_ns for rank in ranks if rank.step_ns is not None]
    unprofiled = [rank.unprofiled_ns for rank in ranks if rank.unprofiled_ns is not None]
    parts, recorded = (
        {part: round(mean(getattr(rank, name)[part] for rank in ranks)) for part in PARTS}
        for name in ("parts", "recorded")
    )
    return RankTime(
        first.rank,
        parts,
        recorded,
        sum(rank.n_work for rank in ranks),
        round(median(rank.n_steps for rank in ranks)),
        round(median(steps)) if steps else None,
        round(median(unprofiled)) if len(unprofiled) == len(ranks) else None,
        first.is_process,
        first.n_devices,
    )


def _about(trace: Trace) -> str:
    """What was recorded, and whether ranks are missing and how far clocks are known."""
    nodes = {
        source.get("node") for source in trace.manifest.sources if source.get("node") is not None
    }
    return about(trace) + (f", {len(nodes)} hosts" if len(nodes) > 1 else "")
