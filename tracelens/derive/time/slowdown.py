"""How much of the host's recorded time is the profiler's, by the calls recorded meanwhile."""

import polars as pl

from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace

PYTHON_NS = (200, 2_000)
"""Recording one Python call takes at least and at most this long.

torch 2.11 takes 0.3 µs for one that does nothing on a processor of 2023, and several times as
long where the call has arguments to format, or the machine is slow.
"""
TORCH_NS = (1_000, 3_500)
"""The same of torch.profiler for one op or one API call: samples/whatif measured 1.2 to 2.7 µs on
one host, and other hosts are faster or slower."""
_END = pl.col("start_ns") + pl.col("duration_ns")
_THREAD = ["rank", "process_id", "thread_id"]
_PLACE = ["cause", "what"]
_SLOWED = {"cause": pl.String, "what": pl.String, "least": pl.Float64, "most": pl.Float64}


def slowed_parts(trace: Trace) -> pl.DataFrame:
    """Bound what recording added to the host's time: one row per cause and place.

    The place is `what`. `least` and `most` are the shares of the recorded time that are the
    program's own: each Python call that was recorded meanwhile took PYTHON_NS, each op and API call
    of torch.profiler TORCH_NS. Empty where none of these was recorded.
    """
    return trace.derived(_slowed_parts)


def _slowed_parts(trace: Trace) -> pl.DataFrame:
    records = _records(trace)
    did = activities_of(trace).filter(pl.col("what").ne_missing(PROFILER))
    if records.is_empty() or did.is_empty():
        return pl.DataFrame(schema=_SLOWED)
    did = did.select(*_THREAD, "start_ns", "duration_ns", pl.col(_PLACE).cast(pl.String))
    # Only a process without a device has places of launching, and they are judged together.
    did = did.with_columns(what=pl.when(pl.col("cause") != "launch").then("what"))
    during = did.drop("duration_ns").with_columns(end_ns=did.select(_END).to_series())
    placed = records.sort("start_ns").join_asof(
        during.sort("start_ns"), on="start_ns", by=_THREAD, check_sortedness=False
    )
    inside = placed.filter(pl.col("start_ns") < pl.col("end_ns"))
    added = inside.group_by(_PLACE).agg(pl.col("least_ns", "most_ns").sum())
    times = did.group_by(_PLACE).agg(ns=pl.col("duration_ns").sum())
    rows = times.join(added, on=_PLACE, nulls_equal=True).filter(pl.col("ns") > 0)
    least, most = ((1 - pl.col(name) / pl.col("ns")).clip(0, 1) for name in ("most_ns", "least_ns"))
    return rows.select(*_PLACE, least=least, most=most)


def _records(trace: Trace) -> pl.DataFrame:
    """List what a profiler recorded of the host: thread, start, and a record's cost.

    The cost is `least_ns` to `most_ns`.
    """
    columns = (*_THREAD, "start_ns")
    is_python = pl.col("kind") == "python"
    parts = [_taking(PYTHON_NS, trace.select("spans", *columns, where=is_python))]
    of_torch = pl.col("rank").is_in(_ranks_of_torch(trace))
    is_op = (pl.col("kind") == "op") & of_torch
    parts.append(_taking(TORCH_NS, trace.select("spans", *columns, where=is_op)))
    parts.append(_taking(TORCH_NS, trace.select("api_calls", *columns, where=of_torch)))
    return pl.concat(parts)


def _taking(range_ns: tuple[int, int], records: pl.DataFrame) -> pl.DataFrame:
    least, most = range_ns
    return records.with_columns(least_ns=pl.lit(least), most_ns=pl.lit(most))


def _ranks_of_torch(trace: Trace) -> list[int]:
    """Return the ranks that torch.profiler recorded. What others add to an op was not measured."""
    ranks = {
        source.get("rank") for source in trace.manifest.sources if source.get("kind") == "torch"
    }
    return sorted(rank for rank in ranks if isinstance(rank, int))
