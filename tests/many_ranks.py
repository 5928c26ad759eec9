"""A job of many ranks, made from a capture of two: one slow rank, and copies of the other."""

import polars as pl
from msgspec.structs import replace

from tracelens.schemas import TABLES
from tracelens.trace import Trace


def many_ranks(
    pair: Trace, n_ranks: int, slow: int, tables: tuple[str, ...] = tuple(TABLES)
) -> Trace:
    """Return a trace of `n_ranks` ranks: `slow` is the pair's rank 1, all others its rank 0.

    Tables that are not named have no rows. All ranks take part in every collective.
    """
    ranks = pl.DataFrame({"rank": pl.Series(range(n_ranks), dtype=pl.Int32)})
    others = ranks.filter(pl.col("rank") != slow)
    listed = str([*range(n_ranks)])
    made = {}
    for name, table in TABLES.items():
        frame = pair.frame(name) if name in tables else table.empty()
        if "rank" in frame.columns:
            copies = others.join(frame.filter(pl.col("rank") == 0).drop("rank"), how="cross")
            one = frame.filter(pl.col("rank") == 1).with_columns(rank=pl.lit(slow, pl.Int32))
            frame = pl.concat([copies.select(frame.columns), one]).sort("rank", maintain_order=True)
        if name == "collectives":
            frame = frame.with_columns(group_size=pl.lit(n_ranks), group_ranks=pl.lit(listed))
        made[name] = table.conform(frame).lazy()
    sources = [
        source | {"rank": rank}
        for rank in range(n_ranks)
        for source in pair.manifest.sources
        if source["rank"] == int(rank == slow)
    ]
    return Trace(replace(pair.manifest, ranks=[*range(n_ranks)], sources=sources), made)
