"""Sum a rank's kernel time by layer, then by op, then by kernel."""

import polars as pl

from tracelens.derive.layers.attribution import name_layers
from tracelens.trace import Trace

MOST_ROWS = 10_000
"""This many paths have a row each; the others are merged, one row per phase and layer."""
PATHS = {
    "phase": pl.String,
    "layer": pl.String,
    "op": pl.String,
    "kernel": pl.String,
    "primitive": pl.String,
    "n": pl.Int64,
    "duration_ns": pl.Int64,
}
_SITE = ("rank", "site_id")


def kernel_paths(trace: Trace, rank: int, most: int = MOST_ROWS) -> pl.DataFrame:
    """Return time and number of kernels by phase, layer, op and kernel name, most time first.

    The op is the outermost one around the launch. Times sum to the rank's kernel total. A kernel
    belongs to the layer that launched it, so compiled or replayed work counts where it was called.
    The result is empty without kernels, or if no sites are recorded.
    """
    kernels = trace.select(
        "kernels", *_SITE, "name", "primitive", "link", "is_communication", "duration_ns"
    )
    of_rank = kernels.lazy().filter(pl.col("rank") == rank)
    groups = of_rank.group_by(pl.exclude("duration_ns"))
    n_kernels = pl.len().cast(pl.Int64)
    total_ns = pl.col("duration_ns").sum()
    sums = groups.agg(total_ns, n=n_kernels).collect()
    if sums.is_empty() or not trace.has("sites"):
        return pl.DataFrame(schema=PATHS)
    sites = trace.select("sites", *_SITE, "op", "is_root", "accumulates", "module_path", "phase")
    with_sites = sums.join(sites, on=_SITE, how="left")
    located = with_sites.with_columns(by_node=pl.lit(value=False))
    key = [name for name in PATHS if name not in {"n", "duration_ns"}]
    totals = [pl.col("n", "duration_ns").sum()]
    with_layers = name_layers(located, trace)
    named = with_layers.rename({"name": "kernel"}).group_by(key).agg(totals)
    named = named.sort("duration_ns", *key, descending=[True] + [False] * len(key))
    small = named.slice(most).with_columns(
        op=pl.lit("(small)"), kernel=pl.lit("(small)"), primitive=pl.lit("unknown")
    )
    return pl.concat(
        [named.head(most), small.group_by(key, maintain_order=True).agg(totals)]
    ).select(*PATHS)
