"""Link device work to its launching API call, and so to the call's span and step.

A node of a CUDA graph is linked to the span that created it.
"""

import polars as pl

from tracelens.derive.columns.filling import gathered
from tracelens.derive.columns.lookup import by_value
from tracelens.derive.events.nesting import as_rows, nest

_HAS_ID = pl.col("correlation_id").fill_null(0) != 0
"""CUPTI writes 0 for no correlation."""
_NODE = ["process_id", "graph_node_id"]
_CLONES = 8
"""A node may be a copy of a copy, at most this many times.

Graph capture makes the original node, and the graph's instantiation makes the first copy.
"""
_CALL = ["process_id", "correlation_id"]
_FEW = 16
"""Up to this number of processes, calls are looked up process by process.

That takes a quarter of the time of a join.
"""
_STARTS_WORK = pl.col("kind").is_in(["kernel_launch", "graph_launch", "memcpy", "memset"])
_LINKS = ("graph", "launched", "pre_window", "unlinked")


class Callers:
    """Links tables of device work to API calls, by process and correlation id.

    The link is one of:

    - `launched`, or `graph` for work of a CUDA graph: the call is recorded
    - `pre_window`: the work was launched before the first recorded call
    - `unlinked`: the call is unknown
    """

    def __init__(self, calls: pl.DataFrame) -> None:
        answers = ("api_call_id", "span_id", "step", "site_id")
        self._answers = calls.select(name for name in answers if name in calls.columns)
        self._is_graph = calls["kind"] == "graph_launch"
        with_rows = calls.with_row_index("row")
        columns = with_rows.select(*_CALL, "row", "start_ns", "duration_ns", "kind")
        known_calls = columns.drop_nulls("process_id")
        self._many: _Processes | None = None
        self._processes: dict[int, _Process] = {}
        if known_calls["process_id"].n_unique() > _FEW:
            self._many = _Processes(known_calls)
            return
        for process, part in by_value(known_calls, "process_id"):
            self._processes[process] = _Process(part)

    def link(self, work: pl.DataFrame) -> pl.DataFrame:
        """Return the work with the columns api_call_id, span_id, step, link, and site_id.

        site_id is only added if the calls have it.
        """
        numbered_work = work.with_row_index("row")
        keys = numbered_work.select("row", *_CALL, "start_ns")
        if self._many is not None:
            row = self._many.rows_of(keys)
            is_before = self._many.is_before(keys)
        else:
            row, is_before = self._by_process(keys)
        is_graph = gathered(self._is_graph, row)
        graph, launched, pre_window, unlinked = (pl.lit(link, pl.Categorical) for link in _LINKS)
        link = (
            pl.when(is_graph)
            .then(graph)
            .when(row.is_not_null())
            .then(launched)
            .when(is_before)
            .then(pre_window)
            .otherwise(unlinked)
        )
        answers = [gathered(column, row) for column in self._answers.get_columns()]
        links = pl.select(link=link).to_series()
        return work.with_columns(*answers, links)

    def _by_process(self, keys: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Return the row of each work's call, None if it is not recorded.

        Also return whether the work was launched before the first recorded call.
        """
        rows = pl.repeat(
            None,
            keys.height,
            dtype=pl.get_index_type(),
            eager=True,
        )
        are_before = pl.repeat(
            False,
            keys.height,
            dtype=pl.Boolean,
            eager=True,
        )
        of_known_process = keys.drop_nulls("process_id")
        for process, part in by_value(of_known_process, "process_id"):
            calls = self._processes.get(process)
            if calls is None:
                continue
            rows_of_part = calls.rows_of(part["correlation_id"])
            is_before = calls.is_before(part)
            if part.height == keys.height:
                return rows_of_part, is_before
            rows = rows.scatter(part["row"], rows_of_part)
            are_before = are_before.scatter(part["row"], is_before)
        return rows, are_before


class _Process:
    """Holds the calls of one process by correlation id, one call per id."""

    def __init__(self, calls: pl.DataFrame) -> None:
        wide_id = pl.col("correlation_id").cast(pl.Int64)
        known = calls.filter(_HAS_ID).with_columns(wide_id)
        is_not_above_last = known["correlation_id"].diff() <= 0
        if is_not_above_last.any():
            known = _starter_of_each(known, ["correlation_id"])
        # Ids count up, and work is looked up in order of start, so neighbours lie in the same
        # memory. A million look-ups take 0.05 s, and a join takes 0.2 s.
        self._ids = known["correlation_id"]
        self._rows = known["row"]
        self._first_id = self._ids.filter(self._ids > 0).min()
        self._first_ns = calls["start_ns"].min()

    def rows_of(self, ids: pl.Series) -> pl.Series:
        """Return the row of the call with each id; None if no call has it."""
        wanted = ids.cast(pl.Int64).fill_null(0)
        position = self._ids.search_sorted(wanted)
        is_beyond = position >= len(self._ids)
        position_or_none = position.set(is_beyond, None)
        id_there = gathered(self._ids, position_or_none)
        is_other = id_there.ne_missing(wanted)
        position_of_call = position.set(is_other, None)
        return gathered(self._rows, position_of_call)

    def is_before(self, work: pl.DataFrame) -> pl.Series:
        """Return whether work was launched before the process's first recorded call."""
        first_id = pl.lit(self._first_id, pl.Int64)
        is_before = _is_before(first_id, pl.lit(self._first_ns))
        return work.select(is_before).to_series()


def _is_before(first_id: pl.Expr, first_ns: pl.Expr) -> pl.Expr:
    """Return whether work was launched before a process's first recorded call."""
    # Ids count up, so a smaller id belongs to an earlier call.
    has_smaller_id = _HAS_ID & (pl.col("correlation_id") < first_id)
    is_earlier = pl.col("start_ns") < first_ns
    return has_smaller_id.fill_null(value=False) | is_earlier


def _starter_of_each(calls: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return one call for each key: the outermost call that starts work.

    If no call of a key starts work, its outermost call is returned.
    """
    # A runtime call and the driver call below it may have one correlation id.
    ordered = calls.sort(
        *key,
        ~_STARTS_WORK,
        "start_ns",
        pl.col("duration_ns").neg(),
        maintain_order=True,
    )
    return ordered.unique(
        key,
        keep="first",
        maintain_order=True,
    )


class _Processes:
    """Holds the calls of many processes, to be looked up in one join."""

    def __init__(self, calls: pl.DataFrame) -> None:
        wide_keys = pl.col(_CALL).cast(pl.Int64)
        with_wide_keys = calls.with_columns(wide_keys)
        known = with_wide_keys.filter(_HAS_ID)
        starters = _starter_of_each(known, _CALL)
        self._calls = starters.select(*_CALL, "row")
        id_ = pl.col("correlation_id")
        first_id = id_.filter(id_ > 0).min()
        first_ns = pl.col("start_ns").min()
        by_process = with_wide_keys.group_by("process_id")
        self._firsts = by_process.agg(first_id=first_id, first_ns=first_ns)

    def rows_of(self, work: pl.DataFrame) -> pl.Series:
        """Return the row of the call that started each work; None if it is not recorded."""
        wide_keys = pl.col(_CALL).cast(pl.Int64)
        wanted = work.select(wide_keys)
        joined = wanted.join(
            self._calls,
            on=_CALL,
            how="left",
            maintain_order="left",
        )
        return joined["row"]

    def is_before(self, work: pl.DataFrame) -> pl.Series:
        """Return whether work was launched before the first recorded call of its process."""
        columns = pl.col(*_CALL, "start_ns").cast(pl.Int64)
        wanted = work.select(columns)
        with_first = wanted.join(
            self._firsts,
            on="process_id",
            how="left",
            maintain_order="left",
        )
        is_before = _is_before(pl.col("first_id"), pl.col("first_ns"))
        is_known_before = is_before.fill_null(value=False)
        return with_first.select(is_known_before).to_series()


def fill_process(work: pl.DataFrame, calls: pl.DataFrame, fallback: int) -> pl.DataFrame:
    """Add process_id to device work that lacks it: the process of its call, else `fallback`.

    Work with a correlation id that several processes used gets process -1, and stays unlinked.
    """
    if "process_id" in work.columns:
        return work
    # In the common case of a single process, the calls' ids need not be searched.
    lowest = calls["process_id"].min()
    if lowest == calls["process_id"].max() == fallback:
        one_process = pl.lit(fallback, pl.Int64)
        return work.with_columns(process_id=one_process)
    # Ids may have narrower types, which may differ between the two frames.
    wide_keys = pl.col(_CALL).cast(pl.Int64)
    known = calls.filter(_HAS_ID).select(wide_keys)
    lowest_process = pl.col("process_id").min()
    highest_process = pl.col("process_id").max()
    is_one_process = lowest_process == highest_process
    # Correlation ids are unique within a process only.
    owner = pl.when(is_one_process).then(lowest_process).otherwise(-1)
    by_id = known.group_by("correlation_id")
    owners = by_id.agg(process_id=owner)
    wide_id = pl.col("correlation_id").cast(pl.Int64)
    ids = work.select(wide_id)
    with_owner = ids.join(
        owners,
        on="correlation_id",
        how="left",
        maintain_order="left",
    )
    processes = with_owner["process_id"].fill_null(fallback)
    return work.with_columns(processes)


def spans_of_nodes(nodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the span that created each CUDA graph node: process_id, graph_node_id, node_span_id.

    Nodes created outside spans are left out.

    - `nodes` has process_id, thread_id, start_ns, graph_node_id and original_id. For a copied
      node, original_id is the node that was copied. For any other node, it is None.
    - The row number of `spans` is the span_id.
    """
    columns = nodes.select(*_NODE, "original_id", "thread_id", "start_ns")
    by_start = columns.cast(pl.Int64).sort("start_ns", maintain_order=True)
    node_makers = by_start.unique(
        _NODE,
        keep="first",
        maintain_order=True,
    )
    every_node = node_makers.rename({"graph_node_id": "copied_id"})
    # A copy belongs to the span of its original.
    for _ in range(_CLONES):
        if not node_makers["original_id"].count():
            break
        node_makers = _made_as_original(node_makers, every_node)
    no_time = pl.lit(0, pl.Int64)
    calls = node_makers.with_columns(duration_ns=no_time)
    call_span = nest(spans, calls).call_span
    span = as_rows(call_span).cast(pl.Int64)
    with_span = node_makers.select(*_NODE, node_span_id=span)
    return with_span.drop_nulls()


def _made_as_original(nodes: pl.DataFrame, every_node: pl.DataFrame) -> pl.DataFrame:
    """Replace thread_id, start_ns and original_id of each copied node by those of its original.

    The new original_id is None, unless the original is itself a copy. `every_node` lists all nodes,
    with a node's id in the column `copied_id`.
    """
    copied_from = nodes.select("process_id", copied_id="original_id")
    original = copied_from.join(
        every_node,
        on=["process_id", "copied_id"],
        how="left",
        maintain_order="left",
    )
    is_known = original["start_ns"].is_not_null()
    columns = [original["original_id"]]
    for name in ("thread_id", "start_ns"):
        known_or_own = original[name].zip_with(is_known, nodes[name])
        columns.append(known_or_own)
    return nodes.with_columns(columns)


def mark_nodes(work: pl.DataFrame, node_spans: pl.DataFrame) -> pl.DataFrame:
    """Return the work with node_span_id, None if `node_spans` lacks the work's graph node."""
    node = pl.col(_NODE).cast(pl.Int64)
    keys = work.select(node)
    marked = keys.join(
        node_spans,
        on=_NODE,
        how="left",
        maintain_order="left",
    )
    return work.with_columns(marked["node_span_id"])
