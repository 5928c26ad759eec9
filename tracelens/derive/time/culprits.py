"""Find the culprits of a job: ranks, or sets of ranks, that others wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

import polars as pl
from msgspec.structs import replace

from tracelens.derive.ranks.rank_sets import RankSet, join_sets, list_set, name_group, named_sets
from tracelens.derive.ranks.transfers import SAME_CALL, SLOW, each_transfer, group_transfers
from tracelens.derive.time.culprit_costs import (
    NETWORK,
    Culprit,
    Culprits,
    with_costs,
    with_part,
)
from tracelens.derive.time.late_ranks import (
    BLAMED,
    LateRank,
    find_late_ranks,
    find_late_transfers,
    own_delays,
)
from tracelens.derive.time.step_kinds import describe_steps
from tracelens.derive.time.time_parts import TimeModel
from tracelens.trace import Trace

_GAP = 1.5
"""Ranks with sorted delays are split into two culprits at a jump by more than this factor."""
_SAME_STEPS = 0.6
"""Two ranks are late in the same steps if at least this share of their late steps agrees."""
_ROTATES, _MOST_OF_ONE = 0.6, 0.6
"""Limits for ranks that are late in turn, a different rank in each step.

- the least share of steps with a late rank
- the largest share of these steps in which one rank is late
"""
_MANY = 4
"""Least number of ranks that count as late in turn, if each is late in one or two steps.

It is also the least number of steps with a late rank.
"""
_MOST = 8
"""The most culprits to examine, beginning with the greatest delays."""
_HOST_CAUSES = ("input", "host", "launch", "loading", "sync", "allocation")


def find_culprits(model: TimeModel) -> Culprits:
    """Return the ranks, or sets of ranks, that make others wait.

    The result is empty if every delay is below the share BLAMED of a step.
    """
    trace = model.trace
    delays = own_delays(model)
    late = find_late_ranks(model, delays)
    steps = sorted({*delays["step"].drop_nulls()})
    groups = _group_late_ranks(trace, late, steps)
    groups += _slow_groups(trace, find_late_transfers(delays), steps)
    shared = _slow_network(trace, delays)
    if not groups and shared is None:
        return Culprits((), 0.0, 0.0)
    greatest = sorted(
        groups,
        key=lambda culprit: -culprit.excess_ns * culprit.n_steps,
    )[:_MOST]
    blamed = with_costs(
        model,
        delays,
        [with_part(culprit, delays) for culprit in greatest],
    )
    by_rank = delays.group_by("rank").agg(pl.col("step_ns").sum())
    total = float(by_rank["step_ns"].mean() or 1)  # type: ignore[arg-type]
    cost = blamed.cost_ns
    each = [*blamed.each]
    if shared is not None:
        each.append(shared)
        cost += shared.cost_ns * shared.n_steps
    each.sort(
        key=lambda culprit: (
            -max(culprit.cost_ns, 0) * culprit.n_steps,
            -culprit.excess_ns,
            culprit.members.ranks,
        )
    )
    return Culprits(tuple(each), cost, cost / total)


# ---- which late ranks are one culprit


def _group_late_ranks(
    trace: Trace,
    late: Sequence[LateRank],
    steps: list[int],
) -> list[Culprit]:
    """Group late ranks into culprits: ranks with similar delays, one cause and the same steps."""
    if not late:
        return []
    rotating = _rotating(
        [rank for rank in late if rank.steps is not None],
        len(steps),
    )
    groups = (
        [
            _merge(
                rotating,
                list_set(rank.rank for rank in rotating),
                steps,
            )
        ]
        if rotating
        else []
    )
    groups = [replace(group, rotates=True, when="another rank each step") for group in groups]
    sets = trace.derived(named_sets)
    for pool in _pools([rank for rank in late if rank not in rotating]):
        by_rank = {rank.rank: rank for rank in pool}
        groups += [
            _merge(
                [by_rank[rank] for rank in members.ranks],
                members,
                steps,
            )
            for members in _sets(by_rank, sets)
        ]
    return groups


def _rotating(late: list[LateRank], n_steps: int) -> list[LateRank]:
    """Return `late` if its ranks are late in turn, a different rank in each step, else []."""
    by_step: dict[int, set[int]] = {}
    most_steps = 0
    for late_rank in late:
        steps = late_rank.steps or ()
        most_steps = max(most_steps, len(steps))
        for step in steps:
            by_step.setdefault(step, set()).add(late_rank.rank)
    sets = [by_step[step] for step in sorted(by_step)]
    n_late_steps = len(sets)
    if len(late) < 2 or n_late_steps < 3:
        return []
    for before, after in combinations(sets, 2):
        if before != after and before & after:
            return []
    takes_turns = most_steps <= _MOST_OF_ONE * n_late_steps
    is_dense = n_late_steps >= _ROTATES * n_steps and takes_turns
    is_scattered = len(late) >= _MANY and most_steps <= 2 and n_late_steps >= _MANY
    n_changes = sum(before != after for before, after in pairwise(sets))
    changes_often = 2 * n_changes >= n_late_steps - 1
    return late if (is_dense or is_scattered) and changes_often else []


def _pools(late: Iterable[LateRank]) -> list[list[LateRank]]:
    """Group late ranks that have the same cause and about the same late steps."""
    pools: list[list[LateRank]] = []
    for rank in sorted(
        late,
        key=lambda rank: (-len(rank.steps or ()), rank.rank),
    ):
        for pool in pools:
            if pool[0].cause == rank.cause and _same_steps(pool[0].steps, rank.steps):
                pool.append(rank)
                break
        else:
            pools.append([rank])
    return pools


def _same_steps(
    steps: frozenset[int] | None,
    other: frozenset[int] | None,
) -> bool:
    if steps is None or other is None:
        return steps is other
    return len(steps & other) >= _SAME_STEPS * len(steps | other)


def _slow_groups(
    trace: Trace,
    late: Sequence[LateRank],
    steps: list[int],
) -> list[Culprit]:
    """Return the groups on slow links, each with its late ranks."""
    culprits = []
    for pool in _pools(late):
        left = {rank.rank: rank for rank in pool}
        # Stages on two hosts always send more slowly than stages on one, so they are not late.
        is_exchange = pl.col("name") == "send/recv"
        is_network = pl.col("slow") == "network"
        leads_out = is_exchange & is_network
        transfers = trace.derived(group_transfers, pool[0].steps)
        is_slow = pl.col("slow").is_not_null()
        slow = transfers.filter(is_slow & ~leads_out)
        excess_per_call = pl.col("transfer_median_ns") - pl.col("peers_ns")
        more = excess_per_call * pl.col("n_calls")
        groups = slow.group_by("group_key", "ranks").agg(
            pl.col("group", "slow").first(),
            more=more.sum(),
        )
        order = groups.sort(
            "more",
            "ranks",
            descending=[True, False],
            nulls_last=True,
        )
        for row in order.iter_rows(named=True):
            # Late ranks in no slow group only take part in more collectives.
            members = [left.pop(rank) for rank in row["ranks"] if rank in left]
            if members:
                name = RankSet(
                    "group",
                    name_group(row["group"]),
                    tuple(row["ranks"]),
                )
                members_of_group = _merge(members, name, steps)
                culprits.append(replace(members_of_group, cause=row["slow"]))
    return culprits


def _sets(late: dict[int, LateRank], sets: Sequence[RankSet]) -> list[RankSet]:
    """Split late ranks with one cause and the same steps into sets with similar delays.

    A set that equals a node, stage or group gets its name. The ranks of other sets are listed.
    """
    causes = {rank.cause for rank in late.values()}
    first = "node" if causes & {*_HOST_CAUSES} else "stage"
    ordered = sorted(
        sets,
        key=lambda members: (
            members.kind != first,
            members.kind == "group",
            members.name,
        ),
    )
    parts = _split_by_gaps({rank: delay.excess_ns for rank, delay in late.items()})
    return [_name_set(frozenset(part), ordered) for part in parts]


def _name_set(ranks: frozenset[int], sets: Sequence[RankSet]) -> RankSet:
    """Name the ranks: as one named set, else as several sets of one kind, else as a list."""
    inside = [members for members in sets if ranks.issuperset(members.ranks)]
    for members in inside:
        if len(members.ranks) == len(ranks):
            return members
    for kind in dict.fromkeys(map(_kind_of, inside)):
        several = [members for members in inside if _kind_of(members) == kind]
        if sum(len(members.ranks) for members in several) == len(ranks):
            return join_sets(several)
    return list_set(ranks)


def _kind_of(members: RankSet) -> tuple[str, str]:
    """Return a set's kind and its name, which is empty unless the set is a process group."""
    # Groups with one kind of parallelism have the same name.
    return members.kind, members.name if members.kind == "group" else ""


def _split_by_gaps(values: dict[int, float]) -> list[list[int]]:
    """Split keys into parts, wherever their sorted values jump by more than _GAP."""
    parts: list[list[int]] = []
    before = 0.0
    for key in sorted(values, key=lambda key: values[key]):
        if not parts or values[key] > _GAP * before:
            parts.append([])
        parts[-1].append(key)
        before = values[key]
    return parts


def _merge(
    late: Sequence[LateRank],
    members: RankSet,
    steps: list[int],
) -> Culprit:
    """Merge late ranks into one culprit, with the cause of most of their delay."""
    chosen: set[int] = set()
    for rank in late:
        chosen |= rank.steps or set()
    is_always = any(rank.steps is None for rank in late)
    causes = Counter[str | None]()
    for rank in late:
        causes[rank.cause] += round(rank.excess_ns * len(rank.steps or steps or [0]))
    when = describe_steps(None if is_always else chosen, steps)
    return Culprit(
        members,
        tuple(late),
        None if is_always else frozenset(chosen),
        when,
        causes.most_common(1)[0][0],
        sum(rank.excess_ns for rank in late) / len(late),
        max(len(steps), 1) if is_always else len(chosen),
    )


# ---- transfers that are slow for all


def _slow_network(trace: Trace, delays: pl.DataFrame) -> Culprit | None:
    """Return the network as the culprit of steps in which the transfers of all ranks are slow.

    A transfer is slow compared with equal transfers of other steps. Return None if no step is
    slow. Return None also if more than half of the steps are slow, or if the trace has fewer than
    three steps.
    """
    all_steps = sorted({*delays["step"].drop_nulls()})
    if len(all_steps) < 3:
        return None
    slow_steps = _long_communication(delays).join(_slow_transfers(trace), on="step").sort("step")
    if slow_steps.is_empty() or 2 * slow_steps.height > len(all_steps):
        return None
    late = frozenset(slow_steps["step"])
    excess, step_ns, part_ns = (
        float(slow_steps[name].mean() or 0)  # type: ignore[arg-type]
        for name in ("excess_ns", "step_ns", "communication_ns")
    )
    every_rank = tuple(sorted({*delays["rank"]}))
    everyone = RankSet("ranks", "the network", every_rank)
    description = describe_steps(late, all_steps)
    culprit = Culprit(
        everyone,
        (),
        late,
        description,
        NETWORK,
        excess,
        len(late),
    )
    return replace(
        culprit,
        part_ns=part_ns,
        usual_ns=part_ns - excess,
        cost_ns=excess,
        step_ns=step_ns,
    )


def _long_communication(delays: pl.DataFrame) -> pl.DataFrame:
    """Return the steps in which ranks communicate for much longer than in the median step.

    Columns: step, communication_ns and step_ns (of the median rank), and excess_ns.
    """
    communication_ns = pl.col("communication_ns")
    steps = (
        delays.drop_nulls("step")
        .group_by("step")
        .agg(communication_ns.quantile(0.5, "lower"), pl.col("step_ns").median())
    )
    excess_ns = communication_ns - communication_ns.median()
    is_much_longer = pl.col("excess_ns") >= BLAMED * pl.col("step_ns")
    return steps.with_columns(excess_ns=excess_ns).filter(is_much_longer)


def _slow_transfers(trace: Trace) -> pl.DataFrame:
    """Return the steps in which the median transfer is slow: step and slowdown."""
    transfer_ns = pl.col("transfer_ns")
    slowdown = transfer_ns / transfer_ns.median().over("group_key", *SAME_CALL)
    transfers = each_transfer(trace).drop_nulls("step").with_columns(slowdown=slowdown)
    slowdowns = transfers.group_by("step").agg(pl.col("slowdown").median())
    return slowdowns.filter(pl.col("slowdown") >= SLOW)
