"""A trace in memory made of collectors' tables, some of which are already in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from tracelens.schemas import TABLES
from tracelens.storage.table import Stored
from tracelens.trace.capture import Manifest
from tracelens.trace.trace import Trace
from tracelens.trace.writing import RankPart


class Collected(Trace):
    """A trace that keeps tables as collectors made them, which may take half the memory, until one is asked for."""

    def __init__(self, manifest: Manifest, parts: Mapping[str, Sequence[RankPart]]) -> None:
        """Wrap each table's parts: frames as `Table.conform` takes them, or files."""
        tables = {}
        for name, table in TABLES.items():
            bare = table.without("rank")
            frames = [
                bare.conform_lazily(frame).select(pl.lit(rank, pl.Int32).alias("rank"), pl.all())
                for rank, frame in parts.get(name, ())
            ]
            tables[name] = pl.concat(frames) if frames else table.empty().lazy()
        super().__init__(manifest, tables)
        self._parts = parts

    def _parts_of(self, name: str) -> Iterable[RankPart]:
        """The table's rows, rank by rank, without the rank."""
        parts: dict[int, list[pl.DataFrame | Stored]] = {}
        for rank, part in self._parts.get(name, ()):
            parts.setdefault(rank, []).append(part)
        bare = TABLES[name].without("rank")
        for rank, of_rank in parts.items():
            several = len(of_rank) > 1
            yield rank, pl.concat(map(bare.conform_lazily, of_rank)).collect() if several else of_rank[0]
