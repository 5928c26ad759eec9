"""Split spans into one tree per rank, with the rank's rows of other tables."""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.lookup import AT_ONCE, by_value
from tracelens.errors import SourceError
from tracelens.trace import Trace

_ROWS_AT_ONCE = 1 << 19


def span_trees(spans: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield each rank's spans in order of span_id.

    Every span_id and parent_id is then a row number of the frame. Raises SourceError if a parent
    does not come before its child.
    """
    for _, part in by_value(spans, "rank"):
        tree = part if part["span_id"].is_sorted() else part.sort("span_id")
        if "parent_id" in tree.columns:
            refuse_circles(tree["parent_id"], tree["rank"][0])
        yield tree


def spans_by_id(trace: Trace, rank: int, *columns: str) -> Iterator[pl.DataFrame]:
    """Yield columns of a rank's spans in order of span_id, half a million rows at a time.

    Strings are Categorical. Raises SourceError if parent_id is asked for and a parent does not come
    before its child.
    """
    if _are_by_id(trace, rank):
        parts = trace.chunks("spans", *columns, rank=rank)
    else:
        spans = trace.select("spans", "span_id", *columns, rank=rank)
        by_id = spans.sort("span_id")
        parts = iter([by_id.select(columns)])
    first = 0
    for part in _larger(parts):
        if "parent_id" in columns:
            refuse_circles(part["parent_id"], rank, first)
        first += part.height
        yield part


def _larger(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Join parts to frames of at least _ROWS_AT_ONCE rows, except for the last frame."""
    waiting = list[pl.DataFrame]()
    n_rows = 0
    for part in parts:
        waiting.append(part)
        n_rows += part.height
        if n_rows >= _ROWS_AT_ONCE:
            yield pl.concat(waiting)
            waiting.clear()
            n_rows = 0
    if waiting:
        yield pl.concat(waiting)


def _are_by_id(trace: Trace, rank: int) -> bool:
    """Return whether a rank's spans are stored in order of span_id."""
    last = -1
    for part in trace.chunks("spans", "span_id", rank=rank):
        ids = part["span_id"]
        if ids.is_empty():
            continue
        if ids[0] < last or not ids.is_sorted():
            return False
        last = ids[-1]
    return True


def refuse_circles(parents: pl.Series, rank: int, first_row: int = 0) -> None:
    """Raise SourceError unless each parent comes before its child.

    A parent is a row number or None. The first of `parents` belongs to the row `first_row`.
    """
    # A walk from child to parent might otherwise never end.
    n_wrong = 0
    for first in range(0, len(parents), AT_ONCE):
        part = parents.slice(first, AT_ONCE)
        row = first_row + first
        after_last = row + len(part)
        rows = pl.int_range(row, after_last, eager=True)
        is_wrong = (part < 0) | (part >= rows)
        n_wrong += int(is_wrong.sum())
    if n_wrong:
        raise SourceError(
            f"spans of rank {rank}: the parent_id of {n_wrong:,} is not an earlier span; collect it"
            " again"
        )


def with_trees(
    spans: pl.DataFrame, frame: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield each rank's span tree with that rank's rows of the frame.

    A span_id that is not in the tree becomes None. Rows of ranks without spans come last, with an
    empty tree.
    """
    parts = dict(by_value(frame, "rank"))
    no_rows = frame.clear()
    for tree in span_trees(spans):
        rank = tree["rank"][0]
        rows = parts.pop(rank, no_rows)
        yield tree, of_rank(rows, tree)
    if parts:
        rows = pl.concat(parts.values())
        no_span = pl.lit(None, pl.Int64)
        yield spans.clear(), rows.with_columns(span_id=no_span)


def one_tree(spans: pl.DataFrame, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the span trees of all ranks in one frame, and the rows of `frame`, rank by rank.

    `frame` has rank and span_id. The span_id of its rows, and the parent_id of spans, become row
    numbers of the frame of all trees.
    """
    trees = []
    parts = []
    first = 0
    for tree, part in with_trees(spans, frame):
        parent_row = pl.col("parent_id") + first
        span_row = pl.col("span_id") + first
        trees.append(tree.with_columns(parent_row))
        parts.append(part.with_columns(span_row))
        first += tree.height
    has_several = len(trees) > 1
    return pl.concat(trees, rechunk=has_several), pl.concat(parts)


def of_rank(frame: pl.DataFrame, tree: pl.DataFrame) -> pl.DataFrame:
    """Return the frame's rows of the tree's rank.

    A span_id that is not in the tree becomes None.
    """
    rank = tree["rank"][0]
    n_spans = tree.height
    ranks = frame["rank"]
    if frame.height and not ranks.min() == rank == ranks.max():
        is_of_rank = pl.col("rank") == rank
        frame = frame.filter(is_of_rank)
    low = frame["span_id"].min()
    high = frame["span_id"].max()
    if isinstance(low, int) and isinstance(high, int) and low >= 0 and high < n_spans:
        return frame
    is_of_tree = pl.col("span_id").is_between(0, n_spans - 1)
    span_of_tree = pl.when(is_of_tree).then("span_id")
    return frame.with_columns(span_of_tree)
