"""Find the pipeline stage of each rank, and the time that even a perfect schedule costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collectives import match_collectives
from tracelens.trace import Trace

_PAIR = r"(\d+)>(\d+)$"
"""The end of a group_key of sends and receives: sender and receiver."""


class Pipeline(Struct, frozen=True):
    """The stage of each rank, from 0, and the number of microbatches per step."""

    stages: dict[int, int]
    n_microbatches: int | None

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return len({*self.stages.values()})

    @property
    def bubble(self) -> float | None:
        """Share of a step that a stage is idle in a balanced schedule; None without microbatches.

        It is (p-1)/(m+p-1) for p stages and m microbatches: Narayanan et al., Efficient Large-Scale
        Language Model Training on GPU Clusters, 2021, section 2.2.
        """
        if self.n_microbatches is None:
            return None
        return (self.n_stages - 1) / (self.n_microbatches + self.n_stages - 1)


def find_pipeline(trace: Trace) -> Pipeline | None:
    """Return the pipeline of a job; None if it has fewer than two stages.

    Stages come from the table `ranks`. If the table has none, they are derived from the order in
    which ranks first send to each other.
    """
    sends = _sends(trace)
    stages = dict(trace.ranks.select("rank", "pp").drop_nulls().iter_rows())
    if len({*stages.values()}) < 2:
        stages = order_stages(sends.select("sender", "receiver").iter_rows())
    if len({*stages.values()}) < 2:
        return None
    return Pipeline(stages, _count_microbatches(sends, stages))


def _sends(trace: Trace) -> pl.DataFrame:
    """Return one row per sender and receiver with n_sends per step; earliest first."""
    calls = match_collectives(trace).calls.filter(pl.col("name") == "send/recv")
    pairs = calls.group_by("group_key").agg(
        first_ns=pl.col("first_start_ns").min(),
        n_sends=pl.col("call").n_unique() / pl.col("step").n_unique().clip(1),
    )
    ends = pl.col("group_key").cast(pl.String).str.extract_groups(_PAIR)
    pairs = pairs.with_columns(
        sender=ends.struct.field("1").cast(pl.Int64),
        receiver=ends.struct.field("2").cast(pl.Int64),
    )
    return pairs.drop_nulls("sender").sort("first_ns", "sender", "receiver")


def order_stages(sends: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return each rank's distance from the first stage; empty if ranks send in a ring.

    `sends` are (sender, receiver), the earliest first: activations flow before gradients return.
    """
    forward: dict[int, set[int]] = {}
    n_before: dict[int, int] = {}
    for sender, receiver in sends:
        if sender in forward.get(receiver, ()):
            continue
        if receiver not in forward.setdefault(sender, set()):
            forward[sender].add(receiver)
            n_before[receiver] = n_before.get(receiver, 0) + 1
    stages = {rank: 0 for rank in forward if rank not in n_before}
    ready = [*stages]
    for rank in ready:
        for receiver in forward.get(rank, ()):
            stages[receiver] = max(
                stages.get(receiver, 0),
                stages[rank] + 1,
            )
            n_before[receiver] -= 1
            if not n_before[receiver]:
                ready.append(receiver)
    return {} if any(n_before.values()) else stages


def _count_microbatches(sends: pl.DataFrame, stages: Mapping[int, int]) -> int | None:
    """Return how often a stage sends to the next one in a step: the median of all pairs."""
    stage = {
        name: pl.col(name).replace_strict(stages, default=None, return_dtype=pl.Int64)
        for name in ("sender", "receiver")
    }
    forward = sends.filter(stage["receiver"] == stage["sender"] + 1)
    n_sends = forward["n_sends"].median()
    return None if n_sends is None else round(float(n_sends)) or None  # type: ignore[arg-type]
