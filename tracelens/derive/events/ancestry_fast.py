"""The functions of `ancestry` in C; null where the library is absent or a parent does not precede its child.

The C code takes a tree in the chunks in which its columns were read, so that no column is copied as a whole.
"""

from itertools import accumulate

import polars as pl
import pyarrow as pa

from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series

_NEAREST, _OUTERMOST, _COUNT, _WITHIN = range(4)
_NONE = -(2**63)
"""The number that stands for no parent."""
_I64 = pl.Int64()


def flagged_row(parent: pl.Series, flags: pl.Series, *, outermost: bool) -> pl.Series | None:
    """As `ancestry.nearest_row`, or `ancestry.outermost_row`."""
    found = _flagged(_OUTERMOST if outermost else _NEAREST, parent, flags)
    return None if found is None else found.set(found < 0, None)


def count_among(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """As `ancestry.count_among`."""
    found = _flagged(_COUNT, parent, flags)
    return None if found is None else found.alias(flags.name)


def sum_within(parent: pl.Series, own: pl.Series) -> pl.Series | None:
    """As `ancestry.sum_within`."""
    found = bytearray(memory(own, _I64))
    return series(found, _I64).alias(own.name) if _pass(_WITHIN, parent, None, found) else None


def _flagged(what: int, parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """The result of a pass over rows with flags; null where it could not run."""
    found = bytearray(8 * len(parent))
    marks = memory(flags.fill_null(value=False).cast(pl.UInt8), pl.UInt8())
    return series(found, _I64) if _pass(what, parent, marks, found) else None


def _pass(what: int, parent: pl.Series, flags: pa.Buffer | None, found: bytearray) -> bool:
    """Run a pass that fills `found`; false where it could not."""
    if LIBRARY is None:
        return False
    parts = parent.get_chunks()
    firsts = [0, *accumulate(len(part) for part in parts)]
    order = range(len(parts))
    return all(
        LIBRARY.among(what, memory(parts[k].cast(pl.Int64).fill_null(_NONE), _I64), firsts[k], flags, found)
        for k in (reversed(order) if what == _WITHIN else order)
    )
