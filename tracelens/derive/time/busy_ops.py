"""Find the time in which ops compute or plan on the host and launch nothing."""

import polars as pl

from tracelens.derive.columns.intervals import END, covered_ns
from tracelens.trace import Trace

LOADING_NS = 1_000_000
"""An op of at least this duration does more than launch kernels.

Such an op loads a kernel before its first use, or plans for new sizes. Launching takes only
microseconds.
"""
OPERATOR = r"^\w+::\w+(\.\w+)?$"
"""Pattern for operators of a library, such as aten::add or aten::add.out.

Names such as `autograd::engine::evaluate_function: …` do not match.
"""
_THREAD = ["rank", "process_id", "thread_id"]
_TIMES = ["start_ns", "duration_ns"]


def busy_ops(trace: Trace, ranks: pl.Series) -> pl.DataFrame:
    """List long times in which an op of these ranks runs and no call or other op begins or ends.

    One row per time: rank, process_id, thread_id, start_ns and duration_ns.
    """
    of_ranks = pl.col("rank").is_in(ranks.implode())
    is_op = pl.col("kind") == "op"
    ops = trace.select(
        "spans",
        *_THREAD,
        *_TIMES,
        "name",
        where=is_op & of_ranks,
    )
    text = pl.col("name").cast(pl.String)
    long_ops = ops.filter(pl.col("duration_ns") >= LOADING_NS).filter(text.str.contains(OPERATOR))
    if long_ops.is_empty():
        return long_ops.drop("name")
    calls = trace.select(
        "api_calls",
        *_THREAD,
        *_TIMES,
        where=of_ranks,
    )
    events = pl.concat([ops.drop("name"), calls])
    edges = pl.concat(
        [
            events.select(*_THREAD, "start_ns"),
            events.select(*_THREAD, start_ns=END),
        ]
    ).sort(*_THREAD, "start_ns")
    length = pl.col("start_ns").shift(-1).over(_THREAD) - pl.col("start_ns")
    long = edges.with_columns(duration_ns=length).filter(pl.col("duration_ns") >= LOADING_NS)
    is_inside = covered_ns(long, long_ops, _THREAD) == long["duration_ns"]
    return long.filter(is_inside)
