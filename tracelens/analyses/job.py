"""Find the bound of the whole job, and the ranks that make others wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean, median

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel, Scope
from tracelens.derive.columns.time_text import duration
from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.collectives import match_collectives, require_ranks
from tracelens.derive.ranks.job_clock import doubt_of
from tracelens.derive.ranks.missing import describe_missing, find_missing_straggler
from tracelens.derive.ranks.pipeline import find_pipeline
from tracelens.derive.ranks.rank_sets import tied_ranks
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.culprit_costs import LINK, NETWORK, Culprit, Culprits
from tracelens.derive.time.culprits import find_culprits
from tracelens.derive.time.late_ranks import BLAMED, IDLE, OWN_TIME
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.time_parts import RankTime, TimeModel, rank_times
from tracelens.schemas.results.ranks import JOB
from tracelens.schemas.results.time import PARTS
from tracelens.trace import Trace

_LOST = 0.1
"""A part of a step is named beside a straggler if every rank spends this share of time on it."""
_FEW = 3
"""The job's sentence names at most this many culprits."""
_LATE_BY = {
    "compute": "computes {} where {peer} computes {}",
    "communication": "communicates for {} where {peer} does for {}",
    "copy": "copies for {} where {peer} copies for {}",
    LINK: "has a slow link: transfers take {} where those of {peer} take {}",
    NETWORK: "is slow: transfers take {} where they usually take {}",
}
_WAITS_FOR = {
    "input": "waits {} for input where {peer} waits {}",
    "sync": "waits {} for its device where {peer} waits {}",
    "launch": "waits {} for launches where {peer} waits {}",
    "host": "does {} of other work where {peer} does {}",
    "loading": "loads or compiles code for {} where {peer} does for {}",
    "allocation": "allocates memory for {} where {peer} does for {}",
}
_HOST_WORDS = {
    "input": "waiting for input",
    "sync": "waiting for its device",
    "launch": "launching",
    "host": "other work of its host",
    "loading": "loading or compiling code",
    "allocation": "allocating memory",
}
_OTHER = "loses {} by {cause} where {peer} loses {}"
_ON_ITS_CLOCK = {*PARTS, LINK, NETWORK} - {"communication", "waiting", "dependency", "unknown"}
"""Causes whose delay is measured by one rank's clock, so that other hosts' clocks do not matter."""
_ALL_OTHERS = "another rank each step"


def job(trace: Trace) -> pl.DataFrame:
    """Return one row per culprit, the most costly first, or one row without a culprit.

    A culprit is a rank, or a set of ranks such as a node, that delays the job. The culprit's own
    time in a step, without waiting for other ranks, is longer than the median rank's by 5 % of a
    step or more. The cost, at least 2.5 % of a step, is the time that the job would save without
    this delay. A replay of the job's collectives gives the cost. Raises MissingTableError with one
    rank, or without kernels and ops.
    """
    return trace.derived(_judge)


def _judge(trace: Trace) -> pl.DataFrame:
    require_ranks(trace, "job")
    require_time(trace, "job")
    return JOB.conform(pl.DataFrame(judge_job(time_model(trace)), schema=JOB.schema))


def judge_job(model: TimeModel) -> list[dict[str, object]]:
    """Return the rows of the analysis `job`: one per culprit, or one without a culprit.

    The first row has the bound of the job. `model` must have several ranks.
    """
    trace = model.trace
    judged = rank_times(model)
    culprits = find_culprits(model)
    exposed = int(model.waits["exposed_ns"].sum())
    shared: dict[str, object] = {"n_ranks": len(trace.manifest.ranks), "exposed_ns": exposed}
    lacking = describe_missing(trace)
    missing = _missing_straggler(trace, judged)
    if missing is not None:
        rows = [missing, *(_row(trace, culprit) for culprit in culprits.each)]
    elif culprits.each:
        rows = _rows_of_culprits(trace, culprits, judged)
    else:
        rows = [_evenly(model, judged)]
    if lacking is not None and "not given" not in str(rows[0]["evidence"]):
        rows[0]["evidence"] = f"{rows[0]['evidence']}; {lacking}, and counts as communication"
    return [row | shared | {"unit": "1"} for row in rows]


def _rows_of_culprits(
    trace: Trace, culprits: Culprits, judged: list[RankTime]
) -> list[dict[str, object]]:
    """Return one row per culprit, the first one with the bound of the job."""
    rows = [_row(trace, culprit) for culprit in culprits.each]
    costly = [culprit for culprit in culprits.each if culprit.cost_frac >= BLAMED]
    together = f"{_together(culprits, costly)}; " if len(costly) > 1 else ""
    first = culprits.each[0]
    doubt = None
    if first.cause not in _ON_ITS_CLOCK:
        doubt = doubt_of(match_collectives(trace).calls, first.members.ranks)
    evidence = doubt or f"{together}{rows[0]['evidence']}"
    part, shares = _shared_loss(first, judged)
    if shares[0] >= max(_LOST, culprits.cost_frac):
        rows[0] |= {
            "bound": part,
            "value": shares[0],
            "second": "straggler",
            "second_frac": culprits.cost_frac,
            "evidence": f"{PART_WORDS[part]} {_range(shares)} of the ranks' time; {evidence}",
        }
        return rows
    bound = "straggler" if doubt is None else "inconclusive"
    rows[0] |= {"bound": bound, "value": culprits.cost_frac, "evidence": evidence}
    if shares[0] >= _LOST:
        rows[0] |= {"second": part, "second_frac": shares[0]}
    return rows


def _row(trace: Trace, culprit: Culprit) -> dict[str, object]:
    """Return the row of a culprit with its sentence."""
    ranks = culprit.members.ranks
    return {
        "bound": "straggler",
        "value": culprit.cost_frac,
        "culprit": culprit.members.text if not culprit.rotates else _ALL_OTHERS,
        "kind": culprit.members.kind,
        "rank": ranks[0] if len(ranks) == 1 else None,
        "ranks": list_ranks(ranks),
        "cause": culprit.cause,
        "steps": culprit.when or None,
        "excess_ns": round(culprit.excess_ns),
        "cost_ns": round(culprit.cost_ns),
        "cost_frac": culprit.cost_frac,
        "evidence": _sentence(trace, culprit),
    }


# ---- sentences


def _sentence(trace: Trace, culprit: Culprit) -> str:
    """Say who waits for the culprit, its cost as a share of a step, and why it is late."""
    peer = "the other rank" if len(trace.manifest.ranks) == 2 else "the median rank"
    who, why = culprit.members.text, _why(culprit, peer)
    if culprit.rotates:
        return (
            f"each step waits for another rank, at a cost of {_cost(culprit)}; the late one {why}"
        )
    if culprit.cause in (LINK, NETWORK):
        when = "" if culprit.steps is None else f" {culprit.when}"
        return f"{who} {why}{when}: {_cost(culprit)}"
    connected = culprit.connected or {*trace.manifest.ranks}
    rest = sorted(connected - {*culprit.members.ranks})
    when = "" if culprit.steps is None else f" {culprit.when}"
    others = f"rank {rest[0]} waits" if len(rest) == 1 else f"{len(rest):,} ranks wait"
    it = who if len(culprit.members.ranks) == 1 else "each of them"
    tied = tied_ranks(trace, culprit.members.ranks)
    if tied is None or tied[1] == rest:
        also_waiting = ""
    else:
        waits = "waits" if len(tied[1]) == 1 else "wait"
        also_waiting = f"; {list_ranks(tied[1])} of its {tied[0]} only {waits} for it"
    waiting = f"{others} for {who}{when}, at a cost of {_cost(culprit)}"
    return f"{waiting}; {it} {why}{also_waiting}"


def _cost(culprit: Culprit) -> str:
    """Give the culprit's cost as a share of the steps in which it is late, or of all steps."""
    share = f"{100 * culprit.cost_frac:.0f} %"
    if not culprit.when:
        return f"{share} of the {duration(culprit.step_ns)} that were recorded"
    such = "a step" if culprit.steps is None or culprit.rotates else "such a step"
    return f"{share} of {such} of {duration(culprit.step_ns)}"


def _why(culprit: Culprit, peer: str) -> str:
    """Say which part of a step takes the culprit longer than `peer`, such as "the median rank"."""
    each = " a step" if culprit.when else ""
    cause = culprit.cause
    if culprit.measure in (IDLE, OWN_TIME) and (cause is None or cause in _HOST_WORDS):
        usual = duration(culprit.usual_ns)
        long = (
            f"is idle for {duration(culprit.part_ns)}{each} where {peer} is for {usual}"
            if culprit.measure == IDLE
            else f"takes {duration(culprit.part_ns)}{each} besides waiting and communicating where"
            f" {peer} takes {usual}"
        )
        if cause is None:
            return f"{long}, and no single cause of that was recorded"
        return f"{long}, mostly by {_HOST_WORDS[cause]}"
    times = f"{duration(culprit.part_ns)}{each}", duration(culprit.usual_ns)
    return (
        (_LATE_BY | _WAITS_FOR)
        .get(str(cause), _OTHER)
        .format(*times, cause=culprit.cause, peer=peer)
    )


def _together(culprits: Culprits, costly: Sequence[Culprit]) -> str:
    """Give the cost of all culprits together and of each costly one, as shares of all steps."""
    each = [
        f"{culprit.members.text if not culprit.rotates else _ALL_OTHERS}"
        f" ({culprit.cause or 'no cause known'}"
        f"{'' if culprit.steps is None or culprit.rotates else ', ' + culprit.when}:"
        f" {_percent(culprit.cost_frac)} alone)"
        for culprit in costly[:_FEW]
    ]
    more = len(costly) - _FEW
    rest = f" and {more:,} more" if more > 0 else ""
    count = f"{len(costly):,} culprits"
    of = "all steps' time" if culprits.each[0].when else "the time that was recorded"
    return f"{count} cost {_percent(culprits.cost_frac)} of {of}: {', '.join(each)}{rest}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _range(shares: Sequence[float]) -> str:
    least, most = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return f"{least} %" if least == most else f"{least} to {most} %"


# ---- what all ranks lose


def _shared_loss(culprit: Culprit, judged: list[RankTime]) -> tuple[str, list[float]]:
    """Return the part of a step that takes much time on all ranks, and its two shares of time.

    One share is the median over the culprit's ranks, the other the median over the other ranks. The
    smaller one is first. Computing and waiting are not considered.
    """
    members = {*culprit.members.ranks}
    of_members = [time for time in judged if time.rank in members]
    others = [time for time in judged if time.rank not in members] or of_members
    of_members = of_members or others
    parts = [part for part in PARTS if part not in ("compute", "waiting")]
    shares = {
        part: sorted(median(time.shares[part] for time in side) for side in (of_members, others))
        for part in parts
    }
    # A part is long on both if its smaller share is large.
    first = max(parts, key=lambda part: shares[part][0])
    return first, shares[first]


def _evenly(model: TimeModel, judged: list[RankTime]) -> dict[str, object]:
    """Return the row of a job without a culprit, with the bound of most ranks."""
    bubble = bubble_sentence(model.trace, judged)
    bounds = Counter(time.bound for time in judged)
    if bubble is None and len(bounds) > 1:
        # Some ranks wait for ranks that are not late, so the awaited ranks' bound limits all.
        del bounds["waiting"]
    bound = max(
        bounds,
        key=lambda name: (bounds[name], name),
    )
    ranks = [time for time in judged if time.bound == bound]
    value = mean(time.shares[bound] for time in ranks)
    seconds = Counter(time.second for time in ranks if time.second is not None)
    second = max(
        seconds,
        key=lambda name: (seconds[name], name),
        default=None,
    )
    second_frac = None if second is None else mean(time.shares[second] for time in ranks)
    if bubble is not None and bound == "waiting":
        evidence, cause = bubble, "bubble"
    else:
        parts = _parts_sentence((bound, value), (second, second_frac), ranks, judged)
        for_others = (
            _mostly_for(model) if bound == "waiting" else waiting_sentence(judged, bound, "; ")
        )
        evidence = parts + (for_others if bubble is None else f"; {bubble}")
        cause = None
    return {
        "bound": bound,
        "value": value,
        "second": second,
        "second_frac": second_frac,
        "cause": cause,
        "evidence": evidence,
    }


def _parts_sentence(
    most: tuple[str, float],
    second: tuple[str | None, float | None],
    ranks: list[RankTime],
    judged: list[RankTime],
) -> str:
    """Name the parts `most` and `second` of a step on `ranks`, each with its share of the time."""
    is_even = len(ranks) == len(judged)
    which = "every rank" if is_even else list_ranks(time.rank for time in ranks)
    of = "a step" if any(time.n_steps for time in ranks) else "the time"
    bound, value = most
    sentence = f"{PART_WORDS[bound]} {_percent(value)} of {of} of {which}"
    second_part, second_frac = second
    if second_part is not None and second_frac is not None:
        sentence += f", then {PART_WORDS[second_part]} {_percent(second_frac)}"
    if not is_even:
        return sentence
    nobody = f"no rank's delay is {100 * BLAMED:.0f} % of {of}"
    return f"{bound}-bound, evenly: {sentence}; {nobody}"


def waiting_sentence(judged: Sequence[RankTime], bound: str, before: str = "") -> str:
    """Return a sentence on the ranks that mostly wait although no rank is late.

    - `bound`: the bound of most ranks
    - `before`: text that the sentence begins with

    The result is empty if no rank waits, or if most ranks wait.
    """
    waiting = [time for time in judged if time.bound == "waiting"]
    if bound == "waiting" or not waiting or len(waiting) == len(judged):
        return ""
    shares = _range([time.shares["waiting"] for time in waiting])
    who = list_ranks(time.rank for time in waiting)
    waits, take = ("waits", "takes") if len(waiting) == 1 else ("wait", "take")
    return f"{before}{who} {waits} {shares} of it meanwhile, and {take} as long without waiting"


def _mostly_for(model: TimeModel) -> str:
    """Name the rank that causes at least half of the waiting; empty if there is no such rank."""
    pairs = model.waits.group_by("awaited_rank").agg(pl.col("exposed_ns").sum())
    pairs = pairs.sort("exposed_ns", "awaited_rank", descending=[True, False])
    if pairs.is_empty() or 2 * int(pairs["exposed_ns"][0]) < int(pairs["exposed_ns"].sum()):
        return ""
    return f"; most of it is for rank {pairs['awaited_rank'][0]}, which takes no longer by itself"


def bubble_sentence(trace: Trace, judged: Sequence[RankTime]) -> str | None:
    """Give the share of a step that the pipeline's bubble costs; None without a pipeline."""
    pipeline = trace.derived(find_pipeline)
    if pipeline is None or pipeline.bubble is None:
        return None
    schedule = f"{pipeline.n_stages} stages and {pipeline.n_microbatches} microbatches"
    measured = _percent(mean(time.shares["waiting"] for time in judged))
    return (
        f"bubble {_percent(pipeline.bubble)}, what the schedule of {schedule} costs"
        f" (ranks wait for {measured})"
    )


def _missing_straggler(trace: Trace, judged: list[RankTime]) -> dict[str, object] | None:
    """Return the row of a straggler that gave no trace; None if there is none."""
    missing = find_missing_straggler(trace)
    if missing is None:
        return None
    total = sum(sum(time.parts.values()) for time in judged) / len(judged)
    exposed = max(time.parts["communication"] for time in judged)
    share = min(missing.excess_ns, exposed) / max(total, 1)
    if share < BLAMED:
        return None
    who = missing.text
    times = f"{duration(missing.mean_ns)} where {duration(missing.usual_ns)} would do"
    return {
        "bound": "straggler",
        "value": share,
        "culprit": who,
        "kind": "rank" if len(missing.ranks) == 1 else "ranks",
        "rank": missing.ranks[0] if len(missing.ranks) == 1 else None,
        "ranks": list_ranks(missing.ranks),
        "evidence": (
            f"{len(judged):,} ranks wait for {who}, whose trace was not given, or for a slow link to"
            f" it: {_percent(share)} of their time; a transfer with it takes {times}"
        ),
    }


ANALYSIS = Analysis(
    "What limits the job?",
    JOB,
    job,
    shown=("bound", "culprit", "cause", "steps", "value", "unit", "evidence"),
    scope=Scope.RANKS,
    parallel=Parallel.OF_TIME,
)
