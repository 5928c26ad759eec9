"""The rows of all tables as they come: from the parser in pieces of columns, from the slow path as frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from tracelens.collectors.torch.fast import fields

# Pieces are joined when they have so many rows: small ones lie between others in memory that C's allocator keeps.
_ENOUGH = 1 << 18
_FEW = 64


@dataclass(slots=True)
class SlowRows:
    """Rows the slow path read, each to stand before the row of the fast ones that its place numbers."""

    places: pl.Series
    frame: pl.DataFrame


@dataclass(slots=True)
class Collected:
    """The rows of all tables in file order."""

    slow: dict[str, list[SlowRows]] = field(default_factory=dict)
    _joined: dict[str, list[dict[str, pl.Series]]] = field(default_factory=dict)
    _loose: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _heights: dict[str, int] = field(default_factory=dict)

    def add(self, tables: dict[str, list[pl.DataFrame]]) -> None:
        """Append what was read of a block."""
        for name, pieces in tables.items():
            loose = self._loose.setdefault(name, [])
            loose.extend(pieces)
            self._heights[name] = self.height(name) + sum(piece.height for piece in pieces)
            if sum(piece.height for piece in loose) >= _ENOUGH:
                self._join(name)

    def add_slow(self, name: str, frame: pl.DataFrame, places: list[int] | None = None) -> None:
        """Note rows of the slow path; places default to the end of what has come so far."""
        at = [self.height(name)] * frame.height if places is None else places
        self.slow.setdefault(name, []).append(SlowRows(pl.Series(at, dtype=pl.Int64), frame))

    def height(self, name: str) -> int:
        """Rows of a table that the parser read."""
        return self._heights.get(name, 0)

    def take(self, name: str, of: fields.Column, *, wide: bool) -> pl.Series:
        """A column of a table, which is let go here; integers as narrow as they came unless they are to be wide."""
        if self._loose.get(name):
            self._join(name)
        pieces = self._joined.get(name, [])
        parts = [piece.pop(of.name, None) for piece in pieces]
        dtype = _dtype(of, parts, wide=wide)
        heights = (piece[_ROWS].len() for piece in pieces)
        columns = [
            pl.Series([None], dtype=dtype).new_from_index(0, n) if part is None else part.cast(dtype)
            for part, n in zip(parts, heights, strict=True)
        ]
        return pl.concat(columns, rechunk=len(columns) > _FEW) if columns else pl.Series([], dtype=dtype)

    def _join(self, name: str) -> None:
        whole = pl.concat(self._loose.pop(name), how="diagonal_relaxed", rechunk=True)
        rows = pl.repeat(None, whole.height, dtype=pl.Null, eager=True)
        self._joined.setdefault(name, []).append({_ROWS: rows} | whole.to_dict())


_ROWS = ""
"""Stands for how many rows a piece has, whatever columns were taken."""


def _dtype(of: fields.Column, parts: list[pl.Series | None], *, wide: bool) -> pl.DataType:
    if of.how in fields.STRINGS:
        return pl.UInt32()
    if of.name in fields.FLOATS:
        return pl.Float64()
    found = {part.dtype for part in parts if part is not None}
    return pl.Int32() if found == {pl.Int32()} and not wide else pl.Int64()
