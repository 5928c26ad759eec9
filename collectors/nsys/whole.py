"""Tables of millions of rows put together from chunks: each column as narrow as its values allow, and in one piece."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

_ARROW: dict[pl.DataType, pa.DataType] = {
    pl.Int8(): pa.int8(), pl.Int16(): pa.int16(), pl.Int32(): pa.int32(), pl.Int64(): pa.int64(),
}  # fmt: skip
"""Integers, the narrowest first."""


def narrow(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with each column of integers as narrow as its values allow."""
    return frame.with_columns(
        column.cast(_narrowest(column), wrap_numerical=True)
        for column in frame.get_columns()
        if column.dtype == pl.Int64
    )


def _narrowest(column: pl.Series) -> pl.DataType:
    lowest, highest = column.min(), column.max()
    if not isinstance(lowest, int) or not isinstance(highest, int):
        return pl.Int8()
    return next(dtype for dtype in _ARROW if -1 << _bits(dtype) - 1 <= lowest and highest < 1 << _bits(dtype) - 1)


def together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Chunks as one frame in one piece; a column that is narrow in some chunks only is as wide as its widest."""
    columns: list[_Column] = []
    for part in parts:
        columns = columns or [_Column() for _ in part.columns]
        for column, piece in zip(columns, part.get_columns(), strict=True):
            column.add(piece)
    return pl.DataFrame([column.whole() for column in columns])


class _Column:
    """A column while its pieces come.

    Integers are put behind each other at once, in memory that grows where it lies: pieces that are kept until the end
    take as much again, and what they leave behind is too scattered to be used.
    """

    def __init__(self) -> None:
        self._dtype: pl.DataType = pl.Int8()
        self._integers = bytearray()
        self._pieces: list[pl.Series] = []

    def add(self, piece: pl.Series) -> None:
        """Take the next piece."""
        self._name = piece.name
        if piece.dtype not in _ARROW or piece.null_count() or self._pieces:
            self._pieces += [self._behind_each_other(), piece] if self._integers else [piece]
            self._integers = bytearray()
            return
        if _bits(piece.dtype) > _bits(self._dtype):
            wider = self._behind_each_other().cast(piece.dtype)
            self._dtype, self._integers = piece.dtype, bytearray(_bytes_of(wider))
        self._integers += _bytes_of(piece.cast(self._dtype))

    def whole(self) -> pl.Series:
        """All pieces as one."""
        if not self._pieces:
            return self._behind_each_other()
        dtypes = {piece.dtype for piece in self._pieces}
        widest = max(dtypes, key=_bits) if len(dtypes) > 1 else self._pieces[0].dtype
        return pl.concat([piece.cast(widest) for piece in self._pieces], rechunk=True)

    def _behind_each_other(self) -> pl.Series:
        kind = _ARROW[self._dtype]
        n = len(self._integers) * 8 // kind.bit_width
        found = pl.from_arrow(pa.Array.from_buffers(kind, n, [None, pa.py_buffer(self._integers)]))
        assert isinstance(found, pl.Series)
        return found.alias(self._name)


def _bytes_of(values: pl.Series) -> memoryview:
    """The bytes of integers that are not null."""
    arrow = values.to_arrow()
    width = arrow.type.bit_width // 8
    return memoryview(arrow.buffers()[1] or b"")[arrow.offset * width : (arrow.offset + len(arrow)) * width]


def _bits(dtype: pl.DataType) -> int:
    return int(_ARROW[dtype].bit_width)
