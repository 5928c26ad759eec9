"""The rows of all tables as they come: from the kernels in compact pieces, from the slow path as frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from tracelens.collectors.torch.fast import fields

# Pieces are joined when they have so many rows. Small pieces are allocated by the worker threads, whose allocators keep
# what is freed for themselves: joined early, they cost the memory of one piece and not of all.
_ENOUGH = 1 << 18
_FEW = 64


@dataclass(slots=True)
class Piece:
    """Consecutive rows of one table, integers narrow where they fit; strings are numbers, see NUMBER_BITS."""

    n_rows: int
    columns: list[pl.Series | None]
    """None for a column without any value."""


@dataclass(slots=True)
class SlowRows:
    """Rows the slow path read, each to stand before the row of the fast ones that its place numbers."""

    places: npt.NDArray[np.int64]
    frame: pl.DataFrame


@dataclass(slots=True)
class Collected:
    """The rows of all tables in file order."""

    slow: dict[str, list[SlowRows]] = field(default_factory=dict)
    _joined: dict[str, list[Piece]] = field(default_factory=dict)
    _loose: dict[str, list[Piece]] = field(default_factory=dict)
    _heights: dict[str, int] = field(default_factory=dict)

    def add(self, tables: dict[str, list[Piece]]) -> None:
        """Append what the kernels read of a block."""
        for name, pieces in tables.items():
            loose = self._loose.setdefault(name, [])
            loose.extend(pieces)
            self._heights[name] = self.height(name) + sum(piece.n_rows for piece in pieces)
            if sum(piece.n_rows for piece in loose) >= _ENOUGH:
                self._join(name)

    def add_slow(self, name: str, frame: pl.DataFrame, places: Iterable[int] | None = None) -> None:
        """Note rows of the slow path; places default to the end of what has come so far."""
        if places is None:
            at = np.full(frame.height, self.height(name), np.int64)
        else:
            at = np.fromiter(places, np.int64, frame.height)
        self.slow.setdefault(name, []).append(SlowRows(at, frame))

    def height(self, name: str) -> int:
        """Rows of a table that kernels read."""
        return self._heights.get(name, 0)

    def pieces(self, name: str) -> list[Piece]:
        """A table's rows in few pieces."""
        if self._loose.get(name):
            self._join(name)
        return self._joined.get(name, [])

    def _join(self, name: str) -> None:
        loose = self._loose.pop(name)
        n_rows = sum(piece.n_rows for piece in loose)
        columns = [
            None if all(piece.columns[i] is None for piece in loose) else column(loose, i, dtype_of(of, loose, i))
            for i, of in enumerate(fields.TABLES[name])
        ]
        self._joined.setdefault(name, []).append(Piece(n_rows, columns))


def dtype_of(of: fields.Column, pieces: list[Piece], i: int) -> pl.DataType:
    """What a column is here: integers are as narrow as in all pieces."""
    if of.how in fields.STRINGS:
        return pl.UInt32()
    if of.name in fields.FLOATS:
        return pl.Float64()
    found = {own.dtype for piece in pieces if (own := piece.columns[i]) is not None}
    return pl.Int32() if found == {pl.Int32()} else pl.Int64()


def column(pieces: list[Piece], i: int, dtype: pl.DataType) -> pl.Series:
    """A column of all pieces; pieces of the dtype are not copied if there are few."""
    parts = [_nulls(piece.n_rows, dtype) if (own := piece.columns[i]) is None else own.cast(dtype) for piece in pieces]
    return pl.concat(parts, rechunk=len(parts) > _FEW) if parts else _nulls(0, dtype)


def _nulls(n: int, dtype: pl.DataType) -> pl.Series:
    return pl.Series([None], dtype=dtype).new_from_index(0, n)
