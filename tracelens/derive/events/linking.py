"""Tying device work to the API call that started it, and through it to span and step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

_HAS_ID = pl.col("correlation_id").fill_null(0) != 0
"""0 is CUPTI's word for no correlation."""
_STARTS_WORK = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])
_FEW_PROCESSES = 16
_SPARSE, _FEW = 4, 1 << 10
_LOOKED_AT = ("row", "correlation_id", "start_ns", "duration_ns", "kind")


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
        self._calls = calls.select("process_id", "correlation_id")
        self.tell(calls)
        self._is_graph = calls["kind"] == "graph_launch"
        numbered = calls.with_row_index("row")
        self._processes = {process: _Process(part) for process, part in _by_process(numbered, _LOOKED_AT)}

    def tell(self, calls: pl.DataFrame) -> None:
        """What work is told of its call, from now on: the same calls, of which more is known."""
        answers = ("api_call_id", "span_id", "step", "site_id")
        self._answers = calls.select(name for name in answers if name in calls.columns)

    def fill_process(self, work: pl.DataFrame, fallback: int) -> pl.DataFrame:
        """The work with process_id, by the rules of the function `fill_process`."""
        processes = [process for process in self._processes if isinstance(process, int)]
        if "process_id" in work.columns or not 1 < len(processes) <= _FEW_PROCESSES:
            return fill_process(work, self._calls, fallback)
        ids = work["correlation_id"]
        owner = pl.repeat(None, work.height, dtype=pl.Int64, eager=True)
        for process in processes:
            rows = self._processes[process].rows_of(ids).is_not_null().arg_true()
            # One that another process has too is of nobody.
            owner = owner.scatter(
                rows, pl.select(pl.when(owner.gather(rows).is_null()).then(process).otherwise(-1)).to_series()
            )
        return work.with_columns(owner.fill_null(fallback).alias("process_id"))

    def link(self, work: pl.DataFrame, found: pl.DataFrame | None = None) -> pl.DataFrame:
        """The work with api_call_id, span_id, step and link, and site_id where the calls have it.

        `found` is what `find` gave for the work, where that was asked for before.
        """
        found = self.find(work) if found is None else found
        answers = [column.gather(found["row"]) for column in self._answers.get_columns()]
        return work.with_columns(*answers, found["link"])

    def find(self, work: pl.DataFrame) -> pl.DataFrame:
        """The row of the call that started each piece of work, null where there is none, and link."""
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
        return pl.DataFrame({"row": row}).with_columns(
            pl.when(graph).then(pl.lit("graph", pl.Categorical))
            .when(row.is_not_null()).then(pl.lit("launched", pl.Categorical))
            .when(is_before).then(pl.lit("pre_window", pl.Categorical))
            .otherwise(pl.lit("unlinked", pl.Categorical))
            .alias("link")
        )  # fmt: skip


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
    """The first of the calls with an id, the outer of two that start together.

    Ids mostly count up by one, and are then looked up in a list by id. Others are walked through beside those asked for
    where these count up too, in a tenth of the time that halving takes, which is left for the rest.
    """

    def __init__(self, calls: pl.DataFrame) -> None:
        by_id = calls.select("correlation_id", "row")
        if not by_id["correlation_id"].is_sorted():
            by_id = by_id.sort("correlation_id")
        if by_id.select((pl.col("correlation_id").diff() == 0).any()).item():
            ordered = calls.sort("correlation_id", "start_ns", pl.col("duration_ns").neg(), maintain_order=True)
            by_id = ordered.unique("correlation_id", keep="first", maintain_order=True).select("correlation_id", "row")
        self._ids, self._rows = by_id.get_columns()
        first, last = self._ids.min(), self._ids.max()
        self._first, self._table = 0, self._rows.clear()
        if isinstance(first, int) and isinstance(last, int) and last - first < _SPARSE * len(self._ids) + _FEW:
            self._first = first
            self._table = pl.repeat(None, last - first + 1, dtype=self._rows.dtype, eager=True)
            self._table.scatter(self._ids.cast(pl.Int64) - first, self._rows)

    def find(self, ids: pl.Series) -> pl.Series:
        """The row for each id, null where there is none."""
        if len(self._table):
            place = ids.cast(pl.Int64, strict=False) - self._first
            place = pl.select(pl.when(place.is_between(0, len(self._table) - 1)).then(place)).to_series()
            return self._table.gather(place.cast(pl.get_index_type())).alias("row")
        wanted = ids.cast(self._ids.dtype, strict=False)
        if wanted.is_sorted() and not wanted.null_count():
            known = pl.DataFrame([self._ids.alias("id"), self._ids.alias("known"), self._rows])
            both = wanted.to_frame("id").join_asof(known, on="id", check_sortedness=False)
            return both.select(row=pl.when(pl.col("known") == pl.col("id")).then("row")).to_series()
        place = self._ids.search_sorted(wanted.fill_null(0))
        place = place.set(place >= len(self._ids), None)
        return self._rows.gather(place.set(self._ids.gather(place).ne_missing(ids), None)).alias("row")


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
    own = pl.col("process_id")
    # Frames may have the ids narrower, each in its own way.
    owners = (
        calls.filter(_HAS_ID)
        .select(pl.col("process_id", "correlation_id").cast(pl.Int64))
        .group_by("correlation_id")
        .agg(process_id=pl.when(own.min() == own.max()).then(own.min()).otherwise(-1))
    )
    found = work.select(pl.col("correlation_id").cast(pl.Int64)).join(
        owners, on="correlation_id", how="left", maintain_order="left"
    )
    return work.with_columns(found["process_id"].fill_null(fallback))
