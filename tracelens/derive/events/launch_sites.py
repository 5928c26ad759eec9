"""Find the call sites of API calls.

A site is the op, module and phase around a call, with the stack's depth.
"""

import polars as pl

from tracelens.derive.columns.lookup import numbered
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.call_tree import above, count_among, outermost_row
from tracelens.derive.events.modules import COMPILED_GRAPH, WRAPPER

_COMPILED = rf"^(## Call CompiledFxGraph |Torch-Compiled Region)|{COMPILED_GRAPH}"


def find_sites(
    spans: pl.DataFrame,
    enclosing: pl.Series,
    starts: pl.Series,
) -> tuple[pl.DataFrame, list[pl.Series]]:
    """Return one row per site, and three columns of the calls.

    - `site_id`
    - `op_span_id`: the outermost op around the call
    - `op_offset_ns`: time from the op's start to the call

    `enclosing` has the row (span_id) of the span around each call, None outside spans. `starts` has
    the calls' start times.
    """
    no_flags = pl.repeat(False, spans.height, dtype=pl.Boolean, eager=True)
    rows = no_flags.scatter(enclosing.drop_nulls(), True).arg_true()
    if not len(rows):
        return pl.DataFrame(), []
    words = pl.col("kind", "name", "module_path").cast(pl.Categorical)
    tree = spans.select("parent_id", words)
    path = depths(tree, rows)
    accumulates, roots = accumulation_and_roots(tree)
    phase = spans["phase"].gather(rows)
    places = path.select(
        tree["name"].gather(path["op_row"]).alias("op"),
        pl.col("op_depth", "python_depth").cast(pl.Int32),
        module_path=tree["module_path"].gather(rows),
        phase=phase.cast(pl.Categorical),
        accumulates=accumulates.gather(rows),
        in_wrapper=only_in_wrapper(tree, rows),
    )
    number, sites = numbered(places, places.columns)
    is_in_root = pl.col("module_path").is_in(roots.implode()).fill_null(value=False)
    is_root = is_in_root | pl.col("in_wrapper")
    sites = sites.with_columns(is_root=is_root).drop("in_wrapper")
    site = _of_each(enclosing, spans.height, rows, number)
    op = _of_each(enclosing, spans.height, rows, path["op_row"])
    offset = _offsets(starts, spans["start_ns"], op)
    columns = [
        site.alias("site_id"),
        op.alias("op_span_id"),
        offset.alias("op_offset_ns"),
    ]
    return sites.with_row_index("site_id"), columns


def _offsets(
    starts: pl.Series,
    span_starts: pl.Series,
    op: pl.Series,
) -> pl.Series:
    """Return the time from each op's start to its call, in the narrowest type that holds it."""
    if op.null_count() == len(op):
        return pl.repeat(
            None,
            len(op),
            dtype=pl.Int8,
            eager=True,
        )
    return (starts - span_starts.gather(op)).shrink_dtype()


def _of_each(
    enclosing: pl.Series,
    n_spans: int,
    rows: pl.Series,
    values: pl.Series,
) -> pl.Series:
    """Return, for each call, the value of the span around it.

    `values` belong to the spans at `rows`.
    """
    if values.null_count() == len(values):
        return pl.repeat(
            None,
            len(enclosing),
            dtype=pl.Int8,
            eager=True,
        )
    values = values.shrink_dtype()
    return (
        pl.repeat(None, n_spans, dtype=values.dtype, eager=True)
        .scatter(rows, values)
        .gather(enclosing)
    )


def depths(tree: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Return op_row, op_depth and python_depth of the spans at `rows`.

    A span's stack is the span itself and all spans around it.

    - `op_row`: the outermost op in the stack, None without an op
    - `op_depth`: number of ops in the stack
    - `python_depth`: number of Python calls in the stack
    """
    is_op = tree["kind"] == "op"
    is_python = tree["kind"].is_in(["python", "module"])
    kinds = is_op.cast(pl.UInt8) + 2 * is_python.cast(pl.UInt8)
    path = above(tree["parent_id"], kinds, rows)
    return path.rename({"top": "op_row", "n_ones": "op_depth", "n_twos": "python_depth"})


def accumulation_and_roots(tree: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return whether each span lies in an AccumulateGrad node, and the paths of root modules.

    A root module is an outermost module that has layers.
    """
    has_path = tree["module_path"].is_not_null()
    is_module = (tree["kind"] == "module") & has_path
    is_node, is_compiled, is_wrapper = matching(tree["name"], "AccumulateGrad", _COMPILED, WRAPPER)
    is_node &= ~is_module
    modules = is_module.arg_true()
    path = tree["module_path"].gather(modules)
    top = outermost_row(tree["parent_id"], is_module).gather(modules)
    around = tree["module_path"].gather(top)
    # Layers of a compiled model are not called. Then a wrapper around the model, or a compiled
    # graph inside it, shows that it has layers.
    roots = [
        around.filter(path != around),
        _compiled_roots(tree, is_module, top, is_compiled, is_wrapper),
    ]
    n_nodes_around = count_among(tree["parent_id"], is_node)
    return n_nodes_around > 0, pl.concat(roots).drop_nulls().unique()


def only_in_wrapper(tree: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """Return whether each span at `rows` lies in a wrapper's call and in no module of the model."""
    (is_wrapper,) = matching(tree["name"], WRAPPER)
    if not is_wrapper.any():
        return pl.repeat(
            False,
            len(rows),
            dtype=pl.Boolean,
            eager=True,
        )
    wrapper_marks = is_wrapper.cast(pl.UInt8)
    around = (
        above(
            tree["parent_id"],
            wrapper_marks,
            rows.cast(pl.Int64),
        )["n_ones"]
        > 0
    )
    lacks_path = tree["module_path"].gather(rows).is_null()
    return (around & lacks_path).fill_null(value=False)


def _compiled_roots(
    tree: pl.DataFrame,
    is_module: pl.Series,
    tops: pl.Series,
    is_compiled: pl.Series,
    is_wrapper: pl.Series,
) -> pl.Series:
    """Return the paths of compiled outermost modules, whose layers' calls are not recorded.

    A module is compiled if it runs in a wrapper such as OptimizedModule, or if a compiled graph
    runs directly in it.
    """
    parent = tree["parent_id"]
    path = tree["module_path"]
    paths = [path.clear()]
    runs = is_compiled.arg_true().cast(pl.Int64)
    if len(runs) and is_module.any():
        around = path.gather(above(parent, is_module.cast(pl.UInt8), runs)["top"])
        paths.append(around.filter(around == path.gather(runs)))
    if is_wrapper.any() and is_module.any():
        rows = tops.drop_nulls().unique().cast(pl.Int64)
        paths.append(
            path.gather(rows.filter(above(parent, is_wrapper.cast(pl.UInt8), rows)["n_ones"] > 0))
        )
    return pl.concat(paths)
