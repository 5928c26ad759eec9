"""Define a job's culprits, and compute their costs by a replay of the job without their delays."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.derive.ranks.rank_sets import RankSet
from tracelens.derive.time.job_replay import Removal, Replay, prepare_replay
from tracelens.derive.time.late_ranks import (
    BLAMED,
    BY_SPEED,
    COMMUNICATION,
    DEVICE_PARTS,
    IDLE,
    OWN,
    OWN_TIME,
    LateRank,
)
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import IDLE_PARTS

_LEAST_COST = 0.5 * BLAMED
"""Least cost of a delay that has a culprit, as a share of a step."""
_MOSTLY = 0.5
"""Idle time of all causes together explains a delay if it is at least this share of the delay."""
LINK, NETWORK = "link", "network"
"""Names of the cause if the transfers of a set of ranks, or of all ranks, are slow."""


class Culprit(Struct, frozen=True):
    """Holds late ranks that others wait for, the cause of their delay, and its cost.

    Times are means over the steps in which the ranks are late.
    """

    members: RankSet
    late: tuple[LateRank, ...]
    steps: frozenset[int] | None
    """The steps in which the ranks are late, None for all."""
    when: str
    """These steps in words."""
    cause: str | None
    excess_ns: float
    """Delay of the ranks."""
    n_steps: int
    measure: str = OWN_TIME
    """The part of a step that takes longer."""
    part_ns: float = 0.0
    """Time of the ranks in this part."""
    usual_ns: float = 0.0
    """Time of the median rank in this part."""
    step_ns: float = 0.0
    """Time of the whole step."""
    cost_ns: float = 0.0
    """Time that the job would gain without the delay."""
    rotates: bool = False
    """True if the ranks are late in turn, a different rank in each step."""
    connected: frozenset[int] = frozenset()
    """The late ranks and all ranks that wait for them; empty if the cause is NETWORK."""

    @property
    def cost_frac(self) -> float:
        """`cost_ns` as a share of the step."""
        return self.cost_ns / max(self.step_ns, 1)

    @property
    def part(self) -> str | None:
        """The part of a step in which these ranks take longer than others."""
        return "communication" if self.cause in (LINK, NETWORK) else self.cause


class Culprits(Struct, frozen=True):
    """Holds the culprits of a job, the most costly first, and their joint cost over all steps."""

    each: tuple[Culprit, ...]
    cost_ns: float
    cost_frac: float


_NOBODY = Culprits((), 0.0, 0.0)


def removals_of(culprit: Culprit, excess_frac: float = 0.0) -> list[Removal]:
    """Return the delays that a replay removes to find the culprit's cost.

    If the culprit `rotates`, there is one delay per rank. `excess_frac` is the culprit's delay as a
    share of the ranks' own time.
    """
    of_device = culprit.cause in DEVICE_PARTS
    if not culprit.rotates:
        ranks = frozenset(culprit.members.ranks)
        return [Removal(ranks, culprit.steps, excess_frac, of_device)]
    removals = []
    for late_rank in culprit.late:
        ranks = frozenset([late_rank.rank])
        removals.append(Removal(ranks, late_rank.steps, excess_frac, of_device))
    return removals


def delays_of(culprit: Culprit, delays: pl.DataFrame) -> list[Removal]:
    """Return the culprit's delays, each with its excess_frac.

    `delays` is the result of `own_delays`.
    """
    rows = delays.filter(_late_rows(culprit))
    column = COMMUNICATION if culprit.part == "communication" else OWN
    excess_ns = float(rows[column].sum())
    own_times = rows["step_ns"] - rows["waiting_ns"]
    own_ns = max(float(own_times.sum()), 1)
    share = min(max(excess_ns / own_ns, 0.0), 1.0)
    return removals_of(culprit, share)


def with_part(culprit: Culprit, delays: pl.DataFrame) -> Culprit:
    """Add the part of the step that makes the culprit late: measure, part_ns and usual_ns."""
    rows = delays.filter(_late_rows(culprit))

    def excess_ns(measure: str) -> float:
        column = OWN if measure == OWN_TIME else f"{measure}_excess_ns"
        return float(rows[column].mean() or 0)  # type: ignore[arg-type]

    measure = culprit.part
    is_hidden = measure in IDLE_PARTS and excess_ns(measure) < _MOSTLY * excess_ns(OWN_TIME)
    if measure is None or is_hidden:
        # If the cause explains too little of the delay, the part is idle time of all causes, else
        # the step without waiting and communication.
        measure = IDLE if excess_ns(IDLE) >= _MOSTLY * excess_ns(OWN_TIME) else OWN_TIME
    part_ns = float(rows[f"{measure}_ns"].mean() or 0)  # type: ignore[arg-type]
    return replace(
        culprit,
        measure=measure,
        part_ns=part_ns,
        usual_ns=part_ns - excess_ns(measure),
    )


def with_costs(model: TimeModel, delays: pl.DataFrame, culprits: list[Culprit]) -> Culprits:
    """Return the culprits with their costs.

    Culprits with a delay that costs the job almost nothing are left out.
    """
    replay = prepare_replay(model, delays["rank"].unique()) if culprits else None
    if replay is None:
        return _NOBODY
    removals = [delays_of(culprit, delays) for culprit in culprits]
    costly: list[Culprit] = []
    costly_removals: list[Removal] = []
    for number, (culprit, removal) in enumerate(zip(culprits, removals, strict=True)):
        others = list(
            chain(
                *removals[:number],
                *removals[number + 1 :],
            )
        )
        with_cost = _with_cost(replay, delays, culprit, removal, others)
        if with_cost is not None:
            costly.append(with_cost)
            costly_removals += removal
    if not costly:
        return _NOBODY
    concerned = frozenset[int]().union(*(culprit.connected for culprit in costly))
    joint_cost_ns = _gain(replay, [], costly_removals, concerned)
    shortest_ns = min(culprit.step_ns * culprit.n_steps for culprit in costly)
    if joint_cost_ns < _LEAST_COST * shortest_ns:
        return _NOBODY
    return Culprits(tuple(costly), max(joint_cost_ns, 0.0), 0.0)


def _with_cost(
    replay: Replay,
    delays: pl.DataFrame,
    culprit: Culprit,
    removal: list[Removal],
    others: list[Removal],
) -> Culprit | None:
    """Return the culprit with its cost, None if its delays cost the job almost nothing.

    `removal` removes this culprit's delays. `others` remove the delays of all other culprits.
    """
    connected = replay.connected_ranks(culprit.members.ranks)
    gain_alone_ns = _gain(replay, [], removal, connected)
    gain_ns = gain_alone_ns
    # If removing a slow host alone gains nothing, others are as slow, so none of them is a culprit.
    if others and culprit.cause not in BY_SPEED:
        gain_ns = max(gain_ns, _gain(replay, others, removal, connected))
    # A delay after a step's last collective makes the next step of the other ranks long.
    is_connected = pl.col("rank").is_in([*connected])
    is_counted = is_connected if culprit.steps is None else _late_rows(culprit)
    step_ns = float(delays.filter(is_counted)["step_ns"].mean() or 1)  # type: ignore[arg-type]
    if gain_ns < _LEAST_COST * step_ns * culprit.n_steps:
        return None
    cost_ns = max(gain_alone_ns, 0.0) / culprit.n_steps
    return replace(
        culprit,
        cost_ns=cost_ns,
        step_ns=step_ns,
        connected=connected,
    )


def _gain(
    replay: Replay,
    others: list[Removal],
    removal: list[Removal],
    ranks: Collection[int],
) -> float:
    """Return the time in ns that the ranks gain by `removal` if `others` are removed already."""
    before_ns = replay.duration_ns(others, of=ranks)
    after_ns = replay.duration_ns([*others, *removal], of=ranks)
    return before_ns - after_ns


def _late_rows(culprit: Culprit) -> pl.Expr:
    """Return the condition for rows of the culprit's ranks, in the steps in which they are late."""
    is_late = pl.lit(value=False)
    for removal in removals_of(culprit):
        is_removed = pl.col("rank").is_in([*removal.ranks])
        if removal.steps is not None:
            is_removed &= pl.col("step").is_in([*removal.steps])
        is_late |= is_removed
    return is_late.fill_null(value=False)
