"""Kernels of two captures of one program, one by one.

They are the same launches in the same order, under two profilers.
"""

import polars as pl

from tracelens.derive.kernels.grids import SHAPE
from tracelens.derive.layers.attribution import in_launch_order
from tracelens.derive.layers.graph_replay import BARE_NAME, tools
from tracelens.derive.layers.sequence_alignment import align
from tracelens.trace import Trace

_PAIRS = {"rank": pl.Int32, "base_id": pl.Int64, "other_id": pl.Int64}


def aligned_kernels(base: Trace, other: Trace) -> pl.DataFrame:
    """Return pairs of kernels that correspond: rank, base_id, other_id.

    Each kernel is in one pair at most.

    Within a rank and step, in launch order, kernels with equal grid, block, registers and name are
    matched; names of two profilers without template arguments and parameters. Steps are taken in
    order, whatever their numbers; where one capture has none, each rank is one sequence. Equal
    sequences take time in proportion to their length.
    """
    sides = [_sequence(trace, is_bare=tools(base) != tools(other)) for trace in (base, other)]
    if any(not side["step"].count() for side in sides):
        sides = [side.with_columns(unit=0) for side in sides]
    what = ["name", *SHAPE, "registers_per_thread"]
    both = pl.concat([side.select(what) for side in sides])
    known = [
        c for c in what if all(side[c].count() for side in sides)
    ]  # not every source tells registers
    codes = both.select(pl.struct(known).rank("dense").cast(pl.Int64)).to_series()
    n_base, n_other = sides[0].height, sides[1].height
    coded = (
        sides[0].with_columns(code=codes.head(n_base)),
        sides[1].with_columns(code=codes.tail(n_other)),
    )
    theirs = dict(coded[1].group_by("rank", "unit", maintain_order=True))
    frames = []
    for key, mine in coded[0].group_by("rank", "unit", maintain_order=True):
        if key in theirs:
            place = pl.Series(
                align(tuple(mine["code"]), tuple(theirs[key]["code"])), dtype=pl.Int64
            )
            other_id = theirs[key]["kernel_id"].gather(place)
            frames.append(
                mine.select("rank", base_id="kernel_id")
                .with_columns(other_id=other_id)
                .drop_nulls()
            )
    return pl.concat(frames) if frames else pl.DataFrame(schema=_PAIRS)


def _sequence(trace: Trace, *, is_bare: bool) -> pl.DataFrame:
    """Return kernels in launch order.

    `unit` is the place of their step among the rank's, -1 outside of steps.
    """
    name = BARE_NAME if is_bare else pl.col("name").cast(pl.String)
    unit = pl.col("step").rank("dense").over("rank").cast(pl.Int64).fill_null(-1)
    kernels = in_launch_order(trace).with_columns(name, unit=unit)
    return kernels.select(
        "rank", "kernel_id", "step", "unit", "name", *SHAPE, "registers_per_thread"
    )
