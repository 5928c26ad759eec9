"""Link device work to the API call that started it, and so to the call's span and step.

A node of a CUDA graph is linked to the span in which it was made, if the source records that.
"""

import polars as pl

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.nesting import as_rows, nest

_HAS_ID = pl.col("correlation_id").fill_null(0) != 0
"""CUPTI writes 0 for no correlation."""
_NODE = ["process_id", "graph_node_id"]
_CLONES = 8
"""A node may be copied at most this many times in a row.

Capturing makes the node; instantiating the graph copies it for the first time.
"""
_CALL = ["process_id", "correlation_id"]
_FEW = 16
"""Up to this number of processes, each is looked up by itself, in a quarter of a join's time."""
_STARTS_WORK = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])


class Callers:
    """API calls by process and correlation id, to which several tables of device work are linked.

    A runtime call and the driver call below it may have one correlation id. Then the call that
    starts work is taken; if both start work, the outer one. Work without a recorded call is
    pre_window if it started before the first recorded call, or if its correlation id is below all
    recorded ones, because ids count up. Otherwise it is unlinked.
    """

    def __init__(self, calls: pl.DataFrame) -> None:
        self._answers = calls.select(
            name for name in ("api_call_id", "span_id", "step", "site_id") if name in calls.columns
        )
        self._is_graph = calls["kind"] == "graph_launch"
        columns = ("row", "correlation_id", "start_ns", "duration_ns", "kind")
        known_calls = (
            calls.with_row_index("row").select("process_id", *columns).drop_nulls("process_id")
        )
        is_few = known_calls["process_id"].n_unique() <= _FEW
        self._many = None if is_few else _Processes(known_calls)
        parts = by_value(known_calls, "process_id") if is_few else ()
        self._processes = {process: _Process(part) for process, part in parts}

    def link(self, work: pl.DataFrame) -> pl.DataFrame:
        """Return the work with api_call_id, span_id, step and link.

        It also has site_id, if the calls have it.
        """
        numbered_work = work.with_row_index("row")
        keys = numbered_work.select("row", "process_id", "correlation_id", "start_ns")
        if self._many is not None:
            row, is_before = self._many.rows_of(keys), self._many.is_before(keys)
        else:
            row, is_before = self._by_process(keys)
        is_graph = self._is_graph.gather(row)
        link = pl.select(
            pl.when(is_graph)
            .then(pl.lit("graph", pl.Categorical))
            .when(row.is_not_null())
            .then(pl.lit("launched", pl.Categorical))
            .when(is_before)
            .then(pl.lit("pre_window", pl.Categorical))
            .otherwise(pl.lit("unlinked", pl.Categorical))
            .alias("link")
        )
        return work.with_columns(
            *(column.gather(row) for column in self._answers.get_columns()),
            link["link"],
        )

    def _by_process(self, keys: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Return each key's row among the calls, and whether its work began before all calls.

        Keys are looked up process by process. The row is None if there is no call.
        """
        rows = pl.repeat(
            None,
            keys.height,
            dtype=pl.get_index_type(),
            eager=True,
        )
        are_before = pl.repeat(False, keys.height, dtype=pl.Boolean, eager=True)
        for process, part in by_value(keys.drop_nulls("process_id"), "process_id"):
            calls = self._processes.get(process)
            if calls is None:
                continue
            found = calls.rows_of(part["correlation_id"]), calls.is_before(part)
            if part.height == keys.height:
                return found
            rows = rows.scatter(part["row"], found[0])
            are_before = are_before.scatter(part["row"], found[1])
        return rows, are_before


class _Process:
    """The calls of one process by correlation id.

    If two calls have the same id, the one that starts work counts; if both do, the outer one. Ids
    count up, and work is looked up in order of start, so neighbours lie in the same memory: a
    million look-ups take 0.05 s, a join 0.2 s.
    """

    def __init__(self, calls: pl.DataFrame) -> None:
        known = calls.filter(_HAS_ID).with_columns(pl.col("correlation_id").cast(pl.Int64))
        if (known["correlation_id"].diff() <= 0).any():
            known = known.sort(
                "correlation_id",
                ~_STARTS_WORK,
                "start_ns",
                pl.col("duration_ns").neg(),
                maintain_order=True,
            ).unique("correlation_id", keep="first", maintain_order=True)
        self._ids, self._rows = known["correlation_id"], known["row"]
        self._first_id = self._ids.filter(self._ids > 0).min()
        self._first_ns = calls["start_ns"].min()

    def rows_of(self, ids: pl.Series) -> pl.Series:
        """Return the row of the call with each id; None if no call has it."""
        wanted = ids.cast(pl.Int64).fill_null(0)
        place = self._ids.search_sorted(wanted)
        is_beyond = place >= len(self._ids)
        place = place.set(is_beyond, None)
        is_other = self._ids.gather(place).ne_missing(wanted)
        return self._rows.gather(place.set(is_other, None))

    def is_before(self, work: pl.DataFrame) -> pl.Series:
        """Return whether the work's call came before the first recorded one."""
        older = _HAS_ID & (pl.col("correlation_id") < pl.lit(self._first_id, pl.Int64))
        return work.select(
            older.fill_null(value=False) | (pl.col("start_ns") < self._first_ns)
        ).to_series()


class _Processes:
    """The calls of many processes, looked up in one join; `_Process` is for a single process."""

    def __init__(self, calls: pl.DataFrame) -> None:
        calls = calls.with_columns(pl.col(_CALL).cast(pl.Int64))
        order = [*_CALL, ~_STARTS_WORK, "start_ns", pl.col("duration_ns").neg()]
        known = calls.filter(_HAS_ID).sort(order, maintain_order=True)
        self._calls = known.unique(_CALL, keep="first", maintain_order=True).select(*_CALL, "row")
        ids = pl.col("correlation_id")
        self._firsts = calls.group_by("process_id").agg(
            first_id=ids.filter(ids > 0).min(),
            first_ns=pl.col("start_ns").min(),
        )

    def rows_of(self, work: pl.DataFrame) -> pl.Series:
        """Return the row of the call that started each work; None if it is not recorded."""
        wanted = work.select(pl.col(_CALL).cast(pl.Int64))
        return wanted.join(self._calls, on=_CALL, how="left", maintain_order="left")["row"]

    def is_before(self, work: pl.DataFrame) -> pl.Series:
        """Return whether the work was called before the first recorded call of its process."""
        columns = pl.col(*_CALL, "start_ns").cast(pl.Int64)
        wanted = work.select(columns)
        both = wanted.join(self._firsts, on="process_id", how="left", maintain_order="left")
        has_smaller_id = _HAS_ID & (pl.col("correlation_id") < pl.col("first_id"))
        is_earlier = pl.col("start_ns") < pl.col("first_ns")
        is_before = has_smaller_id.fill_null(value=False) | is_earlier
        return both.select(is_before.fill_null(value=False)).to_series()


def fill_process(work: pl.DataFrame, calls: pl.DataFrame, fallback: int) -> pl.DataFrame:
    """Add process_id to device work: as the source states, else that of its call, else `fallback`.

    Correlation ids are unique within a process only. Work whose id several processes used gets
    process -1, so that it stays unlinked rather than linked to the wrong process.
    """
    if "process_id" in work.columns:
        return work
    # In the common case of a single process, the calls' ids need not be searched.
    lowest = calls["process_id"].min()
    if lowest == calls["process_id"].max() == fallback:
        one_process = pl.lit(fallback, pl.Int64)
        return work.with_columns(process_id=one_process)
    process_id = pl.col("process_id")
    # Ids may have narrower types, which may differ between the two frames.
    with_ids = calls.filter(_HAS_ID)
    known = with_ids.select(pl.col("process_id", "correlation_id").cast(pl.Int64))
    only_one = process_id.min() == process_id.max()
    one_each = pl.when(only_one).then(process_id.min()).otherwise(-1)
    owners = known.group_by("correlation_id").agg(process_id=one_each)
    correlation_id = pl.col("correlation_id").cast(pl.Int64)
    ids = work.select(correlation_id)
    processes = ids.join(owners, on="correlation_id", how="left", maintain_order="left")
    return work.with_columns(processes["process_id"].fill_null(fallback))


def spans_of_nodes(nodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return one row per node that was made within a span.

    Columns are process_id, graph_node_id and node_span_id. `nodes` has process_id, thread_id,
    start_ns, graph_node_id, and original_id: the node from which it was copied, or None. A copy
    counts as made where its original was made. `spans` are in order, with span_id as row number.
    """
    node_makers = nodes.select(*_NODE, "original_id", "thread_id", "start_ns").cast(pl.Int64)
    node_makers = node_makers.sort("start_ns", maintain_order=True).unique(
        _NODE, keep="first", maintain_order=True
    )
    originals = node_makers.rename({"graph_node_id": "above"})
    for _ in range(_CLONES):
        if not node_makers["original_id"].count():
            break
        from_original = node_makers.select(*_NODE, above="original_id").join(
            originals,
            on=["process_id", "above"],
            how="left",
            maintain_order="left",
        )
        is_known = from_original["start_ns"].is_not_null()
        node_makers = node_makers.with_columns(
            from_original["original_id"],
            *(
                from_original[name].zip_with(is_known, node_makers[name])
                for name in ("thread_id", "start_ns")
            ),
        )
    no_time = pl.lit(0, pl.Int64)
    calls = node_makers.with_columns(duration_ns=no_time)
    call_span = nest(spans, calls).call_span
    span = as_rows(call_span).cast(pl.Int64)
    return node_makers.select(*_NODE).with_columns(node_span_id=span).drop_nulls()


def mark_nodes(work: pl.DataFrame, node_spans: pl.DataFrame) -> pl.DataFrame:
    """Return the work with node_span_id, which is None if its node is not in `node_spans`."""
    node = pl.col(_NODE).cast(pl.Int64)
    keys = work.select(node)
    marked = keys.join(node_spans, on=_NODE, how="left", maintain_order="left")
    return work.with_columns(marked["node_span_id"])
