"""The bound of a whole job: whether its ranks lose most of their time waiting for one, and why that one is late."""

from collections import Counter
from dataclasses import dataclass
from statistics import mean, median

import polars as pl

from tracelens.derive.rank_ranges import list_ranks
from tracelens.derive.ranks.clocks import doubt_of
from tracelens.derive.ranks.collective_wait import waiting_pairs
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.time.bounds import PART_WORDS, PARTS
from tracelens.derive.time.host_activity import PROFILER
from tracelens.derive.time.rank_time import RankTime, judged_ranks
from tracelens.derive.time.step_table import activities_of, steps_of
from tracelens.trace import Trace

_LOST = 0.1
"""Waiting limits a job when its ranks lose this share of their time by it."""
_EXPLAINS = 0.25
"""A rank is late for a cause that it has more of than the others by this share of what one of
them waits."""
_CAUSES = [part for part in PARTS if part != "waiting"]
_LATE_BY = {
    "compute": "computes {} where the median of the others computes {}",
    "communication": "communicates for {} where the median of the others does for {}",
    "copy": "copies for {} where the median of the others copies for {}",
}
_IDLE = "loses {} by {cause} where the median of the others loses {}"


@dataclass(frozen=True, slots=True)
class Straggler:
    """The rank that others lose most time waiting for: exposed_ns in all, `share` of the others' time in the mean.

    `cause`: the part of its time that it has most more of than the median of the others, own_ns
    against others_ns; null where that is too little to make it late.
    """

    rank: int
    exposed_ns: int
    share: float
    cause: str | None
    own_ns: int
    others_ns: int

    @property
    def why(self) -> str:
        """The cause as the end of a sentence on the rank."""
        if self.cause is None:
            return "is late for no reason that this shows"
        times = (f"{self.own_ns / 1e6:.2f} ms", f"{self.others_ns / 1e6:.2f}")
        return _LATE_BY.get(self.cause, _IDLE).format(*times, cause=self.cause)


def find_straggler(trace: Trace, judged: list[RankTime]) -> Straggler | None:
    """The rank that the others lose most time waiting for; null where none waits."""
    waits = (
        waiting_pairs(trace).group_by("awaited_rank").agg(pl.col("exposed_ns").sum(), n=pl.len())
    )
    waits = waits.filter(pl.col("exposed_ns") > 0).sort(
        "exposed_ns", "awaited_rank", descending=[True, False]
    )
    known = {time.rank: time for time in judged}
    if waits.is_empty() or int(waits["awaited_rank"][0]) not in known or len(known) < 2:
        return None
    rank, exposed, n = waits.row(0)
    own = known.pop(rank).recorded
    others = {part: median(time.recorded[part] for time in known.values()) for part in PARTS}
    hosts = _host_times(trace)

    def excess(part: str) -> float:
        """How much more of a part the rank has; on a rank that waits, waiting hides what its host does."""
        more = own[part] - others[part]
        if part not in hosts:
            return more
        return min(
            more, hosts[part].get(rank, 0) - median(hosts[part].get(other, 0) for other in known)
        )

    cause = max(_CAUSES, key=excess)
    more = excess(cause) >= _EXPLAINS * exposed / n
    share = exposed / max(sum(sum(time.parts.values()) for time in known.values()), 1)
    return Straggler(
        rank, exposed, share, cause if more else None, own[cause], round(others[cause])
    )


def _host_times(trace: Trace) -> dict[str, dict[int, int]]:
    """By cause and rank the time that hosts spent so during the steps, without the profiler's own work."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    steps = steps_of(trace).group_by("rank").agg(begin=pl.col("start_ns").min(), last=end.max())
    did = (
        activities_of(trace)
        .filter(pl.col("what").ne_missing(PROFILER))
        .join(steps, on="rank", how="left")
    )
    length = pl.min_horizontal(end, "last") - pl.max_horizontal("start_ns", "begin")
    sums = did.group_by("cause", "rank").agg(length.clip(0).sum())
    found: dict[str, dict[int, int]] = {}
    for cause, rank, ns in sums.iter_rows():
        found.setdefault(cause, {})[rank] = ns
    return found


def judge_job(trace: Trace) -> dict[str, object]:
    """The row of the analysis `job`, for a trace of several ranks with time to judge."""
    judged = judged_ranks(trace)
    found = find_straggler(trace, judged)
    exposed = int(waiting_pairs(trace)["exposed_ns"].sum())
    row: dict[str, object] = {
        "n_ranks": len(trace.manifest.ranks),
        "exposed_ns": exposed,
        "unit": "1",
    }
    if found is None or found.share < _LOST:
        return row | _most(judged)
    row |= {"value": found.share, "rank": found.rank, "cause": found.cause}
    lost = (
        f"the others lose {found.share:.1%} of their time waiting for rank {found.rank}, which"
        f" {found.why}"
    )
    shared, shares = _shared_loss(found, judged)
    if found.share > shares[0]:
        doubt = doubt_of(match_collectives(trace).calls, found.rank)
        return row | {"bound": "inconclusive" if doubt else "straggler", "evidence": doubt or lost}
    evidence = f"{shared} takes {shares[0]:.1%} to {shares[1]:.1%} of the ranks' time; {lost}"
    return row | {"bound": shared, "value": shares[0], "evidence": evidence}


def _shared_loss(found: Straggler, judged: list[RankTime]) -> tuple[str, list[float]]:
    """The part other than computing that takes most of both the awaited rank's time and the others'; both shares."""
    own = next(time for time in judged if time.rank == found.rank)
    others = [time for time in judged if time.rank != found.rank]
    parts = [part for part in _CAUSES if part != "compute"]
    shares = {
        part: sorted((own.share(part), median(time.share(part) for time in others)))
        for part in parts
    }
    first = max(parts, key=lambda part: shares[part][0])
    return first, shares[first]


def _most(judged: list[RankTime]) -> dict[str, object]:
    """Give the bound that most ranks share and what comes second for most of these, with mean shares."""
    bounds = Counter(time.bound for time in judged)
    bound = max(bounds, key=lambda name: (bounds[name], name))
    ranks = [time for time in judged if time.bound == bound]
    value = mean(time.share(bound) for time in ranks)
    seconds = Counter(time.second for time in ranks if time.second is not None)
    second = max(seconds, key=lambda name: (seconds[name], name), default=None)
    second_frac = None if second is None else mean(time.share(second) for time in ranks)
    which = "every rank" if len(ranks) == len(judged) else list_ranks(time.rank for time in ranks)
    then = "" if second is None else f", then {PART_WORDS[second]} {second_frac:.1%}"
    return {
        "bound": bound,
        "value": value,
        "second": second,
        "second_frac": second_frac,
        "evidence": f"{PART_WORDS[bound]} {value:.1%} of the time of {which}{then}",
    }
