"""Tying device work to the API call that started it, and through it to span and step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

_HAS_ID = pl.col("correlation_id").fill_null(0) != 0
"""0 is CUPTI's word for no correlation."""
_STARTS_WORK = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])
_LOOKED_AT = ("row", "correlation_id", "start_ns", "duration_ns", "kind")

# Ids count up from 1, so that a list of rows by id is short, and the fastest to look into.
_SPARSE, _FEW = 8, 1 << 16


def link_work(work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Device work with api_call_id, span_id, step and link, by the rules of `Callers`."""
    return Callers(calls).link(work)


class Callers:
    """Calls by process and correlation id: prepared once, then asked for each kind of device work.

    A runtime call and the driver call below it may carry one correlation id: the one that starts work wins, the outer
    one of two. Work whose call is not there counts as pre_window when it started before the first recorded call did,
    or its correlation id is below every recorded one (ids count up), else as unlinked.
    """

    def __init__(self, calls: pl.DataFrame) -> None:
        self._answers = calls.select("api_call_id", "span_id", "step")
        self._is_graph = calls["kind"] == "graph_launch"
        numbered = calls.with_row_index("row")
        self._processes = {process: _Process(part) for process, part in _by_process(numbered, _LOOKED_AT)}

    def link(self, work: pl.DataFrame) -> pl.DataFrame:
        """The work with api_call_id, span_id, step and link."""
        row = pl.repeat(None, work.height, dtype=pl.get_index_type(), eager=True).alias("row")
        is_before = pl.repeat(False, work.height, dtype=pl.Boolean, eager=True)
        for process, part in _by_process(work.with_row_index("work"), ("work", "correlation_id", "start_ns")):
            calls = self._processes.get(process)
            if calls is None:
                continue
            found, before = calls.rows_of(part["correlation_id"]), calls.is_before(part)
            if part.height == work.height:
                row, is_before = found, before
            else:
                row, is_before = row.scatter(part["work"], found), is_before.scatter(part["work"], before)
        graph = self._is_graph.gather(row)
        link = pl.select(
            pl.when(graph).then(pl.lit("graph", pl.Categorical))
            .when(row.is_not_null()).then(pl.lit("launched", pl.Categorical))
            .when(is_before).then(pl.lit("pre_window", pl.Categorical))
            .otherwise(pl.lit("unlinked", pl.Categorical))
            .alias("link")
        )  # fmt: skip
        answers = [column.gather(row) for column in self._answers.get_columns()]
        return work.with_columns(*answers, link["link"])


class _Process:
    """The calls of one process."""

    def __init__(self, calls: pl.DataFrame) -> None:
        self._calls = calls
        self._launches = _RowsById(calls.filter(_HAS_ID & _STARTS_WORK))
        ids = calls["correlation_id"]
        self._first_id = ids.filter(ids > 0).min()
        self._first_ns = calls["start_ns"].min()

    @cached_property
    def _others(self) -> _RowsById:
        return _RowsById(self._calls.filter(_HAS_ID & ~_STARTS_WORK))

    def rows_of(self, ids: pl.Series) -> pl.Series:
        """The row of the call that each id names, null where none does."""
        rows = self._launches.find(ids)
        # Nearly all work is found among the calls that start work; only what is left is looked for among the others.
        left = (rows.is_null() & (ids.fill_null(0) != 0)).arg_true()
        return rows.scatter(left, self._others.find(ids.gather(left))) if len(left) else rows

    def is_before(self, work: pl.DataFrame) -> pl.Series:
        """Whether the work's call came before the first recorded one."""
        older = _HAS_ID & (pl.col("correlation_id") < pl.lit(self._first_id, pl.Int64))
        return work.select(older.fill_null(value=False) | (pl.col("start_ns") < self._first_ns)).to_series()


class _RowsById:
    """The first of the calls with an id, the outer of two that start together."""

    def __init__(self, calls: pl.DataFrame) -> None:
        ids, rows = calls["correlation_id"], calls["row"]
        self._table, self._rows = None, calls.select("correlation_id", "row")
        lowest, highest = ids.min(), ids.max()
        if not isinstance(lowest, int) or not isinstance(highest, int):
            return
        if lowest >= 0 and highest <= _SPARSE * len(ids) + _FEW:
            nothing = pl.repeat(None, highest + 1, dtype=pl.get_index_type(), eager=True)
            self._table = nothing.scatter(ids, rows)
            is_once = bool((self._table.gather(ids) == rows).all())
        else:
            is_once = ids.n_unique() == len(ids)
        if not is_once:
            ordered = calls.sort("start_ns", "duration_ns", descending=[False, True], maintain_order=True)
            self._rows = ordered.unique("correlation_id", keep="first").select("correlation_id", "row")
            if self._table is not None:
                self._table = self._table.scatter(self._rows["correlation_id"], self._rows["row"])

    def find(self, ids: pl.Series) -> pl.Series:
        """The row for each id, null where there is none."""
        if self._table is not None:
            return self._table.gather(ids.set((ids < 0) | (ids >= len(self._table)), None)).alias("row")
        asked = ids.cast(pl.Int64).to_frame("correlation_id")
        return asked.join(
            self._rows.cast({"correlation_id": pl.Int64}), on="correlation_id", how="left", maintain_order="left"
        )["row"]


def _by_process(frame: pl.DataFrame, columns: tuple[str, ...]) -> Iterator[tuple[object, pl.DataFrame]]:
    """The rows of each process."""
    process = frame["process_id"]
    if process.min() == process.max():
        if frame.height:
            yield process.min(), frame.select(columns)
        return
    for found in process.unique(maintain_order=True).drop_nulls():
        yield found, frame.lazy().filter(pl.col("process_id") == found).select(columns).collect()


def fill_process(work: pl.DataFrame, calls: pl.DataFrame, fallback: int) -> pl.DataFrame:
    """Device work of a source that names no process with the process of its call, else the trace's main process.

    Correlation ids are unique within a process only: work whose id several processes used gets process -1, so that it
    stays unlinked instead of landing on the wrong one.
    """
    if "process_id" in work.columns:
        return work
    # The common case, a program of one process, needs no look at the calls' ids.
    if calls["process_id"].min() == calls["process_id"].max() == fallback:
        return work.with_columns(process_id=pl.lit(fallback, pl.Int64))
    process = pl.col("process_id")
    # Frames may have the ids narrower, each in its own way.
    owners = (
        calls.filter(_HAS_ID)
        .select(pl.col("process_id", "correlation_id").cast(pl.Int64))
        .group_by("correlation_id")
        .agg(process_id=pl.when(process.min() == process.max()).then(process.min()).otherwise(-1))
    )
    found = work.select(pl.col("correlation_id").cast(pl.Int64)).join(
        owners, on="correlation_id", how="left", maintain_order="left"
    )
    return work.with_columns(found["process_id"].fill_null(fallback))
