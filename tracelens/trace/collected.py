"""A trace in memory that converts a table to its declared form only when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from tracelens.schemas import TABLES
from tracelens.storage.table import Stored
from tracelens.trace.capture import Manifest
from tracelens.trace.trace import Trace
from tracelens.trace.writing import RankPart


class Collected(Trace):
    """A trace that keeps each table as collectors made it until the table is read.

    This form can take half the memory of the declared form.
    """

    def __init__(
        self,
        manifest: Manifest,
        parts: Mapping[str, Sequence[RankPart]],
    ) -> None:
        """Wrap the parts of each table: frames that `Table.conform` accepts, or files."""
        tables = {}
        for name, table in TABLES.items():
            bare = table.without("rank")
            frames = [
                bare.conform_lazily(frame).select(
                    pl.lit(rank, pl.Int32).alias("rank"),
                    pl.all(),
                )
                for rank, frame in parts.get(name, ())
            ]
            tables[name] = pl.concat(frames) if frames else table.empty().lazy()
        super().__init__(manifest, tables)
        self._parts = {**parts}
        for name in TABLES:
            of_table = parts.get(name, ())
            loaded = [(rank, part) for rank, part in of_table if isinstance(part, pl.DataFrame)]
            if len(loaded) == len(of_table):
                self._in_memory[name] = loaded

    def amend(self, manifest: Manifest, **tables: pl.DataFrame) -> None:
        """Replace the manifest and the named tables."""
        super().amend(manifest, **tables)
        for name in tables:
            self._parts[name] = [*super()._parts_of(name)]

    def _parts_of(self, name: str) -> Iterable[RankPart]:
        """Yield each rank with its rows of a table, without the column `rank`."""
        parts: dict[int, list[pl.DataFrame | Stored]] = {}
        for rank, part in self._parts.get(name, ()):
            parts.setdefault(rank, []).append(part)
        bare = TABLES[name].without("rank")
        for rank, of_rank in parts.items():
            several = len(of_rank) > 1
            yield (
                rank,
                pl.concat(map(bare.conform_lazily, of_rank)).collect() if several else of_rank[0],
            )
