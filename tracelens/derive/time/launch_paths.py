"""Name the call paths of launches inside Python functions."""

from collections.abc import Collection, Iterator

import polars as pl

from tracelens.derive.columns.filling import repeated
from tracelens.derive.events.call_tree import call_paths, outermost_row, sum_within
from tracelens.derive.events.span_trees import one_tree
from tracelens.derive.time.call_path import find_paths
from tracelens.derive.time.frame_lines import mark_lines, ranks_by_earlier_frames
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.trace import Trace

_THREAD = ["rank", "process_id", "thread_id"]
_SPANS = ("rank", "span_id", "parent_id", "kind", "name")
_FEW = 1 << 14
"""Up to this many spans, a call path is found for each span.

With more spans, it is faster to find one call path for all spans with equal spans around them.
"""
PLACED = {"rank": pl.Int32, "api_call_id": pl.Int64, "what": pl.Categorical}


def below_python(
    trace: Trace,
    ranks: Collection[int],
    *,
    is_of_torch: bool,
) -> Iterator[pl.DataFrame]:
    """Yield launches inside Python functions with their call paths (`what`), in PLACED columns.

    Each DataFrame holds some of the ranks. `is_of_torch` says that torch's profiler recorded the
    Python code.
    """
    groups = ranks_by_earlier_frames(trace, ranks) if is_of_torch else {None: ranks}
    is_launch = pl.col("kind").is_in(LAUNCHES)
    is_in_span = pl.col("span_id").is_not_null()
    columns = ("rank", "api_call_id", "span_id")
    for earlier, ranks_of_group in groups.items():
        spans = trace.select("spans", *_SPANS, rank=ranks_of_group)
        calls = trace.select(
            "api_calls",
            *columns,
            where=is_launch & is_in_span,
            rank=ranks_of_group,
        )
        tree, calls_of_tree = one_tree(spans, calls)
        yield _with_call_paths(tree, calls_of_tree, earlier)


def _with_call_paths(
    tree: pl.DataFrame,
    calls: pl.DataFrame,
    earlier: Collection[str] | None,
) -> pl.DataFrame:
    """Return the calls inside Python functions with their call paths, in PLACED columns.

    `earlier` are the Python frames entered before recording. If they are known, line numbers are
    marked.
    """
    parent = tree["parent_id"]
    is_in_python = outermost_row(parent, tree["kind"] == "python").is_not_null()
    below_python = calls.filter(is_in_python.gather(calls["span_id"]))
    launching_spans = below_python["span_id"]
    is_kept = _are_around(parent, launching_spans)
    kept_row = is_kept.cum_sum().cast(pl.Int32) - 1
    kept = tree.select("parent_id", "kind", "name").filter(is_kept)
    spans = kept.with_columns(parent_id=kept_row.gather(kept["parent_id"]))
    # Calls with the same spans around them have one call path. A million calls have about a
    # thousand different paths.
    rows = pl.int_range(spans.height, eager=True)
    is_small = spans.height <= _FEW
    chain_of_span, chains = (rows, spans) if is_small else call_paths(spans, "kind", "name")
    paths = find_paths(chains, rows.head(chains.height))
    lacks_own = paths.frame["own"].is_null()
    place = paths.frame["place"].set(lacks_own, None)
    what_of_chain = paths.texts(chains, place).cast(pl.Categorical)
    if earlier is not None:
        what_of_chain = mark_lines(what_of_chain, earlier)
    chain_of_call = chain_of_span.gather(kept_row.gather(launching_spans))
    named = below_python.with_columns(what=what_of_chain.gather(chain_of_call))
    placed = named.drop_nulls("what").select(*PLACED)
    return placed.cast(PLACED)  # type: ignore[arg-type]


def _are_around(parent: pl.Series, rows: pl.Series) -> pl.Series:
    """Return, per span, whether it is among the rows or encloses a span among them."""
    no_rows = repeated(0, len(parent), pl.Int64)
    return sum_within(parent, no_rows.scatter(rows, 1)) > 0
