"""How tokens travel to experts on other ranks: all-to-alls, what hides them, and who gets most."""

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.trace import Trace

_ALL_TO_ALL = r"(?i)all_?to_?all"
_COUNTS = ("Long", "Int", "Int64", "Int32")
"""Element types of numbers of tokens, which are exchanged before the tokens themselves."""
_UNEVEN = 1.05
"""Most received over the mean of the ranks, from which it is said."""


def exchange_sentences(trace: Trace) -> list[str]:
    """Say what all-to-alls take, how much of it other kernels hide, and how uneven they are."""
    columns = ("rank", "device_id", "kernel_id", "start_ns", "duration_ns", "is_communication")
    kernels = trace.select("kernels", *columns)
    is_exchange = pl.col("name").cast(pl.String).str.contains(_ALL_TO_ALL)
    named = trace.select("collectives", "rank", "kernel_id", "name", "dtype", "size_out_bytes")
    exchanges = named.filter(is_exchange).join(kernels, on=["rank", "kernel_id"])
    if not exchanges.height:
        return []
    others = kernels.filter(~pl.col("is_communication"))
    taken = int(exchanges["duration_ns"].sum())
    hidden = int(covered_ns(exchanges, others, ["rank", "device_id"]).sum())
    share = taken / max(int(kernels["duration_ns"].sum()), 1)
    sentence = (
        f"All-to-alls take {taken / 1e6:,.2f} ms in {exchanges.height:,} calls, {share:.1%} of"
        f" kernel time; other kernels hide {hidden / max(taken, 1):.1%} of it."
    )
    return [sentence, *_unevenness(exchanges)]


def _unevenness(exchanges: pl.DataFrame) -> list[str]:
    """Say which rank's experts receive most tokens, by bytes.

    Tokens travel to experts and back in turn, in the backward pass too: every other exchange goes
    to experts.
    """
    tokens = exchanges.filter(~pl.col("dtype").cast(pl.String).is_in(_COUNTS))
    order = pl.int_range(pl.len()).over("rank", order_by="start_ns")
    sums = tokens.filter(order % 2 == 0).group_by("rank").agg(pl.col("size_out_bytes").sum())
    sums = sums.filter(pl.col("size_out_bytes") > 0).sort("size_out_bytes", "rank")
    mean = sums["size_out_bytes"].mean()
    if sums.height < 2 or not isinstance(mean, float):
        return []
    rank, most = sums.select("rank", "size_out_bytes").row(-1)
    if most < _UNEVEN * mean:
        return []
    return [
        f"Experts are chosen unevenly: those of rank {rank} get {most / mean:.2f} times the mean."
    ]
