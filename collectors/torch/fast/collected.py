"""The rows of all tables as they come: from the parser in pieces of cells, from the slow path as frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from tracelens.collectors.torch.fast import fields

# Pieces are joined, and made narrow, when they have so many rows.
_ENOUGH = 1 << 17
_FEW = 64
_NULL = 0x7FF8_5AFE_C0DE_0001
"""As in native.h; of floats a NaN, which JSON cannot write."""
_NARROW = 2**31 - 1


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
        parts = [piece.pop(of.name) for piece in self._joined.get(name, [])]
        dtype = _dtype(of, parts, wide=wide)
        return (
            pl.concat([part.cast(dtype) for part in parts], rechunk=len(parts) > _FEW)
            if parts
            else pl.Series([], dtype=dtype)
        )

    def _join(self, name: str) -> None:
        whole = pl.concat(self._loose.pop(name)).select(map(_with_nulls, fields.TABLES[name]))
        self._joined.setdefault(name, []).append({column.name: _narrow(column) for column in whole.get_columns()})


def _with_nulls(of: fields.Column) -> pl.Expr:
    column = pl.col(of.name)
    if of.name in fields.FLOATS:
        return column.fill_nan(None)
    known = pl.when(column != _NULL).then(column)
    return known.cast(pl.UInt32) if of.how in fields.STRINGS else known


def _narrow(column: pl.Series) -> pl.Series:
    """The column in no more memory than it needs."""
    if column.null_count() == len(column):
        return column.cast(pl.Null)
    low, high = column.min(), column.max()
    is_narrow = isinstance(low, int) and isinstance(high, int) and -_NARROW <= low <= high <= _NARROW
    return column.cast(pl.Int32) if column.dtype == pl.Int64 and is_narrow else column


def _dtype(of: fields.Column, parts: list[pl.Series], *, wide: bool) -> pl.DataType:
    if of.how in fields.STRINGS:
        return pl.UInt32()
    if of.name in fields.FLOATS:
        return pl.Float64()
    found = {part.dtype for part in parts if part.dtype != pl.Null}
    return pl.Int32() if found == {pl.Int32()} and not wide else pl.Int64()
