"""Find each rank's pipeline stage, and the idle share of a balanced pipeline schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collectives import match_collectives
from tracelens.trace import Trace

_PAIR = r"(\d+)>(\d+)$"
"""Pattern of the end of a group_key of sends and receives: sender and receiver."""


class Pipeline(Struct, frozen=True):
    """Holds each rank's stage, counted from 0, and the number of microbatches per step.

    The number is None if it is not known.
    """

    stages: dict[int, int]
    n_microbatches: int | None

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return len({*self.stages.values()})

    @property
    def bubble(self) -> float | None:
        """Idle share of a step for each stage of a balanced schedule; None without microbatches.

        It is (p-1)/(m+p-1) for p stages and m microbatches (Narayanan et al., 2021, section 2.2:
        Efficient Large-Scale Language Model Training on GPU Clusters).
        """
        if self.n_microbatches is None:
            return None
        return (self.n_stages - 1) / (self.n_microbatches + self.n_stages - 1)


def find_pipeline(trace: Trace) -> Pipeline | None:
    """Return the pipeline of a job; None if it has fewer than two stages.

    Stages come from the table `ranks`, or else from the order in which ranks first send to each
    other.
    """
    sends = _sends(trace)
    recorded = trace.ranks.select("rank", "pp").drop_nulls()
    stages = dict(recorded.iter_rows())
    if len({*stages.values()}) < 2:
        pairs = sends.select("sender", "receiver")
        stages = order_stages(pairs.iter_rows())
    if len({*stages.values()}) < 2:
        return None
    return Pipeline(stages, _count_microbatches(sends, stages))


def _sends(trace: Trace) -> pl.DataFrame:
    """Return one row per sender and receiver, the earliest first; n_sends is per step."""
    matched = match_collectives(trace).calls
    calls = matched.filter(pl.col("name") == "send/recv")
    n_calls = pl.col("call").n_unique()
    n_steps = pl.col("step").n_unique().clip(1)
    pairs = calls.group_by("group_key").agg(
        first_ns=pl.col("first_start_ns").min(),
        n_sends=n_calls / n_steps,
    )
    ends = pl.col("group_key").cast(pl.String).str.extract_groups(_PAIR)
    sender = ends.struct.field("1")
    receiver = ends.struct.field("2")
    with_ends = pairs.with_columns(
        sender=sender.cast(pl.Int64),
        receiver=receiver.cast(pl.Int64),
    )
    known = with_ends.drop_nulls("sender")
    return known.sort("first_ns", "sender", "receiver")


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
    """Return the median number of sends per step from a stage to the next; None without any."""

    def stage_of(rank: pl.Expr) -> pl.Expr:
        return rank.replace_strict(stages, default=None, return_dtype=pl.Int64)

    sending_stage = stage_of(pl.col("sender"))
    receiving_stage = stage_of(pl.col("receiver"))
    forward = sends.filter(receiving_stage == sending_stage + 1)
    n_sends = forward["n_sends"].median()
    if n_sends is None:
        return None
    return round(float(n_sends)) or None  # type: ignore[arg-type]
