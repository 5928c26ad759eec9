"""The passes of `ancestry` in machine code; each is None where there is none, or parents do not precede children."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tracelens.derive import ancestry_kernel as words
from tracelens.fast.kernel import MACHINE, Kernel, ready
from tracelens.fast.memory import Words, bytes_at, lend

SOURCES = (Path(__file__).with_name("ancestry_kernel.py"), MACHINE)


def kernel() -> Kernel | None:
    """The passes in machine code; None where there is none."""
    return ready("tracelens.derive.ancestry_kernel", "climb", SOURCES)


def nearest_row(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.nearest_row` gives."""
    return _rows(_climb(words.NEAREST, parent, flags))


def outermost_row(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.outermost_row` gives."""
    return _rows(_climb(words.OUTERMOST, parent, flags))


def count_among(parent: pl.Series, flags: pl.Series) -> pl.Series | None:
    """What `ancestry.count_among` gives."""
    found = _climb(words.COUNT, parent, flags)
    return None if found is None else pl.Series(flags.name, found).cast(pl.Int32)


def sum_within(parent: pl.Series, own: pl.Series) -> pl.Series | None:
    """What `ancestry.sum_within` gives."""
    found = _climb(words.WITHIN, parent, result=own.to_numpy().copy())
    return None if found is None else pl.Series(own.name, found)


def repeats(parent: pl.Series, code: pl.Series, wanted: pl.Series) -> pl.Series | None:
    """What `ancestry.repeats` gives, for rows all of which have a code."""
    found = _climb(words.REPEATS, parent, wanted, own=code.to_numpy())
    return None if found is None else pl.Series(code.name, found).cast(pl.Boolean)


def _climb(
    what: int, parent: pl.Series, flags: pl.Series | None = None, own: Words | None = None, result: Words | None = None
) -> Words | None:
    """Run one pass; None where it cannot be."""
    climb = kernel()
    if climb is None:
        return None
    nothing = np.empty(0, np.int64)
    arrays = [
        parent.fill_null(words.NONE).to_numpy(),
        nothing if flags is None else flags.fill_null(value=False).cast(pl.UInt8).to_numpy(),
        nothing if own is None else own,
        np.empty(len(parent), np.int64) if result is None else result,
    ]
    arrays = [lend(np.ascontiguousarray(array)) for array in arrays]
    state = lend(np.array([what, len(parent), *(bytes_at(array) for array in arrays)], np.int64))
    return None if climb.run(bytes_at(state)) else arrays[-1]


def _rows(found: Words | None) -> pl.Series | None:
    """Row numbers, null for none."""
    if found is None:
        return None
    rows = pl.Series(found)
    return rows.to_frame("row").select(pl.when(pl.col("row") >= 0).then("row")).to_series()
