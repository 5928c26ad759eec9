"""Host time between replays of CUDA graphs: from the end of one's work to the next launch."""

from dataclasses import dataclass

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.per_unique import each_once
from tracelens.trace import Trace

_KINDS = (
    (r"(?i)sched", "scheduler"),
    (r"(?i)detoken|tokenizer|output_processor", "detokenising"),
    (r"(?i)sampl|logits", "sampling"),
    (r"(?i)runner|cuda_graph|graphs\.py", "model runner"),
)
"""What a server's own Python files do, by words of their names."""
_N_PLACES = 4


@dataclass(frozen=True, slots=True)
class ReplayGaps:
    """`by_step`: rank, step and between_ns, the host's time before the step's replays.

    `sentences` say how long the host takes between replays, and where.
    """

    by_step: pl.DataFrame
    sentences: list[str]


def replay_gaps(trace: Trace) -> ReplayGaps:
    """Return the times between replays of each rank; empty where there are none."""
    launches = trace.select(
        *("api_calls", "rank", "api_call_id", "step", "thread_id", "start_ns"),
        where=pl.col("kind") == "graph_launch",
    )
    kernels = trace.select("kernels", "rank", "api_call_id", "start_ns", "duration_ns", "link")
    ends = kernels.filter(pl.col("link") == "graph").group_by("rank", "api_call_id")
    ended = ends.agg(end_ns=END.max())
    replays = launches.join(ended, on=["rank", "api_call_id"]).sort("rank", "start_ns")
    gaps = replays.with_columns(
        begin_ns=pl.col("end_ns").shift(1).over("rank"), until_ns=pl.col("start_ns")
    )
    gaps = gaps.filter(pl.col("begin_ns") < pl.col("until_ns"))
    between = pl.col("until_ns") - pl.col("begin_ns")
    by_step = gaps.group_by("rank", "step").agg(between_ns=between.sum()).drop_nulls("step")
    sentences = [_sentence(trace, int(part["rank"][0]), part) for part in gaps.partition_by("rank")]
    return ReplayGaps(by_step, sentences)


def _sentence(trace: Trace, rank: int, gaps: pl.DataFrame) -> str:
    lengths = gaps.select(pl.col("until_ns") - pl.col("begin_ns")).to_series()
    median = lengths.median()
    assert isinstance(median, float)
    places = _places(trace, rank, gaps)
    named = ", ".join(f"{place} {share:.0%}" for place, share in places)
    where = f": {named}" if named else " (record Python calls to see where: with_stack=True)"
    return (
        f"Rank {rank}: between replays of graphs the host takes {int(lengths.sum()) / 1e6:,.2f} ms,"
        f" {median / 1e6:,.3f} ms in the median of {len(lengths):,}{where}."
    )


def _places(trace: Trace, rank: int, gaps: pl.DataFrame) -> list[tuple[str, float]]:
    """Return where Python calls that lie between replays spend their own time, largest first."""
    columns = ("rank", "thread_id", "name", "start_ns", "duration_ns", "self_ns")
    calls = trace.select("spans", *columns, where=pl.col("kind") == "python")
    calls = calls.filter(
        pl.col("rank") == rank, pl.col("thread_id").is_in(gaps["thread_id"].unique().implode())
    ).sort("start_ns")
    gaps = gaps.sort("begin_ns").select("begin_ns", "until_ns")
    inside = calls.join_asof(gaps, left_on="start_ns", right_on="begin_ns", strategy="backward")
    inside = inside.filter(pl.col("until_ns") >= END)
    kinds = each_once(inside["name"], _kind_of)
    sums = inside.select("self_ns", kind=kinds.cast(pl.String)).group_by("kind").sum()
    total = int(sums["self_ns"].sum())
    largest = sums.sort("self_ns", "kind", descending=[True, False]).head(_N_PLACES)
    return [(str(kind), ns / total) for kind, ns in largest.iter_rows()] if total else []


def _kind_of(name: pl.Expr) -> pl.Expr:
    """Return what a Python call does for a server by its file, else the file; `other` of none."""
    kinds = (pl.when(name.str.contains(words)).then(pl.lit(kind)) for words, kind in _KINDS)
    return pl.coalesce(*kinds, name.str.extract(r"([^/()\s]+\.py)\("), pl.lit("other"))
