"""Shares of kernel time by kind of work, from where calls are made: cheap enough for an answer."""

import polars as pl

from tracelens.derive.kernels.work_kinds import kinds_of
from tracelens.trace import Trace

_OF_LANGUAGE = ("attention", "MoE")


def language_kinds(trace: Trace, rank: int, least: float) -> list[tuple[str, float]]:
    """Return the kinds of a rank's work with their shares, largest first.

    Empty where attention and experts together have less than the share `least` of what is no
    communication. The parts of a mixture of experts are one kind here.
    """
    key = ["site_id", "name", "primitive", "is_communication"]
    kernels = trace.select("kernels", "rank", *key, "duration_ns").filter(pl.col("rank") == rank)
    if not kernels.height:
        return []
    sums = kernels.lazy().group_by(key).agg(pl.col("duration_ns").sum()).collect()
    sites = trace.select("sites", "rank", "site_id", "op", "phase", "module_path")
    sites = sites.filter(pl.col("rank") == rank).drop("rank").rename({"module_path": "layer"})
    sums = sums.join(sites, on="site_id", how="left", maintain_order="left")
    kind = kinds_of(sums).str.extract(r"^(MoE)").fill_null(kinds_of(sums))
    shares = sums.select(kind.alias("kind"), "duration_ns").group_by("kind").sum()
    shares = shares.with_columns(share=pl.col("duration_ns") / pl.col("duration_ns").sum())
    found = [
        (str(kind), float(share)) for kind, share in shares.select("kind", "share").iter_rows()
    ]
    computed = sum(share for kind, share in found if kind != "communication")
    if sum(share for kind, share in found if kind in _OF_LANGUAGE) < least * max(computed, least):
        return []
    return sorted(found, key=lambda one: (-one[1], one[0]))
