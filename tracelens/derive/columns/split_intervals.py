"""Split disjoint intervals where other intervals start and end."""

from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.filling import filled, gathered, repeated
from tracelens.derive.columns.lookup import last_before


def cut_at(frame: pl.DataFrame, edges: pl.Series) -> pl.DataFrame:
    """Return disjoint intervals, split at the moments `edges`, sorted by start.

    The frame has start_ns and end_ns. Frame and moments are sorted.
    """
    rows = last_before(frame["start_ns"], edges)
    is_after_start = edges > gathered(frame["start_ns"], rows)
    is_before_end = edges < gathered(frame["end_ns"], rows)
    is_inside = is_after_start & is_before_end
    cuts = pl.DataFrame({"row": rows, "start_ns": edges})
    begun_by_cut = cuts.filter(is_inside)
    begun_before = frame.select(
        row=pl.int_range(pl.len()),
        start_ns="start_ns",
    )
    every_piece = pl.concat([begun_before, begun_by_cut])
    pieces = every_piece.sort("start_ns")
    intervals_of_pieces = frame[pieces["row"]]
    with_starts = intervals_of_pieces.with_columns(pieces["start_ns"])
    next_start = pl.col("start_ns").shift(-1)
    until = pl.min_horizontal("end_ns", next_start)
    return with_starts.with_columns(end_ns=until)


def cut_rows(frame: pl.DataFrame, segments: pl.DataFrame) -> pl.DataFrame:
    """Split the intervals of `frame` into pieces where segments start and end, and add `at`.

    `at` is the row number of the segment that contains the piece. It is None outside of all
    segments. Both frames have start_ns and end_ns. Each frame's intervals are disjoint and sorted.
    """
    pieces = cut_at(frame, _edges([segments]))
    rows = _rows_around(segments, pieces["start_ns"])
    return pieces.with_columns(rows.alias("at"))


def _rows_around(intervals: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """Return the row of the disjoint interval that contains each moment, None outside of all."""
    rows = last_before(intervals["start_ns"], moments)
    ends = gathered(intervals["end_ns"], rows)
    is_inside = filled(moments < ends, value=False)
    return rows.set(~is_inside, None)


def _edges(layers: Sequence[pl.DataFrame]) -> pl.Series:
    """Return the distinct starts and ends of all intervals in all layers, sorted."""
    moments = []
    for layer in layers:
        moments.append(layer["start_ns"])
        moments.append(layer["end_ns"])
    return pl.concat(moments).unique().sort()


def overlay(layers: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Merge layers of intervals; where layers overlap, the first layer wins.

    Each layer has disjoint intervals sorted by start: start_ns, end_ns and further columns. The
    result has disjoint intervals sorted by start, too. It has two more columns:

    - `layer`: number of the layer that the interval comes from
    - `at`: row of the interval in the concatenated layers
    """
    edges = _edges(layers)
    n_intervals = max(len(edges) - 1, 0)
    starts = edges.head(n_intervals)
    between_edges = pl.DataFrame({"start_ns": starts, "end_ns": edges.slice(1)})
    rows = _first_cover(layers, starts)
    covered = between_edges.with_columns(rows).drop_nulls("at")
    intervals = pl.concat(layers)
    columns = intervals.drop("start_ns", "end_ns")
    with_layer = columns.with_columns(_layer_numbers(layers))
    return covered.hstack(with_layer[covered["at"]])


def _layer_numbers(layers: Sequence[pl.DataFrame]) -> pl.Series:
    """Return the layer's number for each interval of the concatenated layers."""
    numbers = []
    for number, layer in enumerate(layers):
        numbers.append(repeated(number, layer.height, pl.Int32))
    return pl.concat(numbers).alias("layer")


def _first_cover(layers: Sequence[pl.DataFrame], moments: pl.Series) -> pl.Series:
    """Return the row of the interval around each moment, None without one; the first layer wins.

    Rows are numbered in the concatenated layers.
    """
    cover = repeated(None, len(moments), pl.Int64).alias("at")
    n_before = 0
    for layer in layers:
        if layer.is_empty():
            continue
        rows = _rows_around(layer, moments)
        is_covered = cover.is_not_null()
        cover = cover.zip_with(is_covered, rows + n_before)
        n_before += layer.height
    return cover
