"""The interval that was under way at each moment of a process.

It is a step or an annotation, for instance.
"""

import polars as pl


def during(
    frame: pl.DataFrame, intervals: pl.DataFrame, label: str, dtype: pl.DataType | type[pl.DataType]
) -> pl.DataFrame:
    """Label each row with its process's interval that is under way at start_ns.

    Where several are, the one that started last counts.
    """
    if not intervals.height or not frame.height:
        return frame.with_columns(pl.lit(None, dtype).alias(label))
    pieces = _pieces(intervals, label)
    asked = frame.select(pl.col("process_id").cast(pl.Int64), "start_ns")
    order = None if asked["start_ns"].is_sorted() else asked["start_ns"].arg_sort()
    ordered = asked if order is None else asked[order]
    joined = ordered.join_asof(pieces, on="start_ns", by="process_id", check_sortedness=False)
    is_in = pl.col("start_ns") < pl.col("end_ns")
    labels = joined.select(pl.when(is_in).then(pl.col(label)).alias(label)).to_series()
    return frame.with_columns(labels if order is None else labels.gather(order.arg_sort()))


def _pieces(intervals: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return disjoint pieces of time by start.

    Each has the label of the interval under way that started latest. Intervals nest, so after an
    inner one the outer one goes on.
    """
    intervals = intervals.with_columns(pl.col("process_id").cast(pl.Int64))
    ordered = intervals.filter(pl.col("end_ns") > pl.col("start_ns"))
    ordered = ordered.sort("process_id", "start_ns", "end_ns", descending=[False, False, True])
    columns = ordered.select("process_id", "start_ns", "end_ns", label)
    is_disjoint = (pl.col("start_ns") >= pl.col("end_ns").shift()) | pl.col("process_id").diff().ne(
        0
    )
    if columns.select(is_disjoint.all()).item():
        return columns.sort("start_ns")
    pieces: list[tuple[int, int, int, object]] = []
    for (process,), group in ordered.group_by("process_id", maintain_order=True):
        under_way: list[tuple[int, object]] = []
        cursor = 0
        for start, end, word in [
            *group.select("start_ns", "end_ns", label).iter_rows(),
            (None, None, None),
        ]:
            while under_way and (start is None or under_way[-1][0] <= start):
                over, its = under_way.pop()
                if over > cursor:
                    pieces.append((process, cursor, over, its))
                    cursor = over
            if start is None:
                break
            if under_way and start > cursor:
                pieces.append((process, cursor, start, under_way[-1][1]))
            under_way.append((end, word))
            cursor = start
    return pl.DataFrame(
        pieces,
        schema=intervals.select("process_id", "start_ns", "end_ns", label).schema,
        orient="row",
    ).sort("start_ns")
