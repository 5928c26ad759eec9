"""The sites that calls are made at: which op, module and phase is around a call, and how deep. Few, of many calls."""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.lookup import numbered
from tracelens.derive.events.ancestry import above
from tracelens.derive.events.modules import COMPILED_GRAPH, WRAPPER
from tracelens.storage.coding import coded, is_word, spelled

_COMPILED = rf"^(## Call CompiledFxGraph |Torch-Compiled Region)|{COMPILED_GRAPH}"


def find_sites(spans: pl.DataFrame, enclosing: pl.Series, starts: pl.Series) -> tuple[pl.DataFrame, list[pl.Series]]:
    """The table of sites, without the rank; and site_id, op_span_id and op_offset_ns of calls.

    `enclosing` is the row of the span around each call, which is its span_id; `starts` is when each started. Every
    span is looked at once, however many calls are made in it.
    """
    is_around = pl.repeat(False, spans.height, dtype=pl.Boolean, eager=True)
    rows = is_around.scatter(enclosing.drop_nulls(), True).arg_true()
    if not len(rows):
        return pl.DataFrame(), []
    codes = {name: coded(spans[name]) for name in ("kind", "name", "module_path")}
    codes["phase"] = coded(spans["phase"].gather(rows))
    words = {name: own for name, (_, own) in codes.items()}
    tree = pl.DataFrame([spans["parent_id"], *(codes[name][0] for name in ("kind", "name", "module_path"))])
    path = depths(tree, words, rows)
    accumulates, roots = accumulation_and_roots(tree, words, rows)
    places = pl.DataFrame(
        {
            "op": tree["name"].gather(path["top"]),
            "op_depth": path["n_ones"].cast(pl.Int32),
            "python_depth": path["n_twos"].cast(pl.Int32),
            "module_path": tree["module_path"].gather(rows),
            "phase": codes["phase"][0],
            "accumulates": accumulates,
            "in_wrapper": only_in_wrapper(tree, words, rows),
        }
    )
    number, n_sites = _dense(places)
    firsts = pl.repeat(0, n_sites, dtype=pl.UInt32, eager=True).scatter(number, pl.int_range(len(number), eager=True))
    is_root = pl.col("module_path").is_in(roots.implode()).fill_null(value=False) | pl.col("in_wrapper")
    sites = places[firsts].with_columns(is_root=is_root).drop("in_wrapper")
    spelt = (spelled(sites[name], words["name" if name == "op" else name]) for name in ("op", "module_path", "phase"))
    site = _of_each(enclosing, spans.height, rows, number).alias("site_id")
    op = _of_each(enclosing, spans.height, rows, path["top"]).alias("op_span_id")
    no_offset = pl.repeat(None, len(op), dtype=pl.Int8, eager=True)
    offset = no_offset if op.null_count() == len(op) else (starts - spans["start_ns"].gather(op)).shrink_dtype()
    return sites.with_columns(spelt).with_row_index("site_id"), [site, op, offset.alias("op_offset_ns")]


def _of_each(enclosing: pl.Series, n_spans: int, rows: pl.Series, values: pl.Series) -> pl.Series:
    """The value of the span around each call, which is one of those at `rows`; mostly of none, or of each."""
    if values.null_count() == len(values):
        return pl.repeat(None, len(enclosing), dtype=pl.Int8, eager=True)
    values = values.shrink_dtype()
    return pl.repeat(None, n_spans, dtype=values.dtype, eager=True).scatter(rows, values).gather(enclosing)


def _dense(places: pl.DataFrame) -> tuple[pl.Series, int]:
    """A number from 0 on for each row, equal where the rows are; and how many there are."""
    key, *more = numbered(places, places.columns)
    if more:
        key = places.select(pl.struct(pl.all()).rank("dense")).to_series()
    distinct = key.unique().sort()
    return distinct.search_sorted(key), len(distinct)


def depths(tree: pl.DataFrame, words: dict[str, pl.Series], rows: pl.Series) -> pl.DataFrame:
    """Of the spans at `rows` the outermost op around (`top`), and how many ops and Python calls are (n_ones, n_twos).

    The span itself counts. `tree` has kind and name as codes of `words`.
    """
    is_op = is_word(tree["kind"], words["kind"], "op")
    is_python = is_word(tree["kind"], words["kind"], "python", "module")
    return above(tree["parent_id"], is_op.cast(pl.UInt8) + 2 * is_python.cast(pl.UInt8), rows)


def accumulation_and_roots(
    tree: pl.DataFrame, words: dict[str, pl.Series], rows: pl.Series
) -> tuple[pl.Series, pl.Series]:
    """Whether each of the spans at `rows` lies within an AccumulateGrad node; and the paths (codes) of roots.

    Roots are modules that no module call encloses and that have layers of their own within. Layers are known by their
    calls; those of a compiled model make none, but a wrapper around it, or a compiled graph that it runs, says that
    there are some.
    """
    is_module = is_word(tree["kind"], words["kind"], "module") & tree["module_path"].is_not_null()
    nodes = words["name"].filter(words["name"].str.contains("AccumulateGrad", literal=True))
    is_node = is_word(tree["name"], words["name"], *nodes) & ~is_module
    modules = is_module.arg_true().cast(pl.Int64)
    marks = is_module.cast(pl.UInt8) + 2 * is_node.cast(pl.UInt8)
    found = above(tree["parent_id"], marks, pl.concat([rows.rename("row").cast(pl.Int64), modules.rename("row")]))
    path, top = tree["module_path"].gather(modules), found["top"][len(rows) :]
    around = tree["module_path"].gather(top)
    roots = [around.filter(path != around), _compiled_roots(tree, words["name"], is_module, top)]
    return found["n_twos"][: len(rows)] > 0, pl.concat(roots).drop_nulls().unique()


def only_in_wrapper(tree: pl.DataFrame, words: dict[str, pl.Series], rows: pl.Series) -> pl.Series:
    """Whether each of the spans at `rows` lies within a wrapper's call, and in no module that is the model's own."""
    wrappers = words["name"].filter(words["name"].str.contains(WRAPPER))
    if not len(wrappers):
        return pl.repeat(False, len(rows), dtype=pl.Boolean, eager=True)
    marks = is_word(tree["name"], words["name"], *wrappers).cast(pl.UInt8)
    around = above(tree["parent_id"], marks, rows.cast(pl.Int64))["n_ones"] > 0
    return (around & tree["module_path"].gather(rows).is_null()).fill_null(value=False)


def _compiled_roots(tree: pl.DataFrame, names: pl.Series, is_module: pl.Series, tops: pl.Series) -> pl.Series:
    """Of modules that no module call encloses the paths of those that a wrapper does, or that run a compiled graph."""
    graphs, wrappers = (names.filter(names.str.contains(words)) for words in (_COMPILED, WRAPPER))
    parent, path = tree["parent_id"], tree["module_path"]
    found = [path.clear()]
    if len(graphs) and is_module.any():
        runs = is_word(tree["name"], names, *graphs).arg_true().cast(pl.Int64)
        around = path.gather(above(parent, is_module.cast(pl.UInt8), runs)["top"])
        found.append(around.filter(around == path.gather(runs)))
    if len(wrappers) and is_module.any():
        marks, rows = is_word(tree["name"], names, *wrappers).cast(pl.UInt8), tops.drop_nulls().unique().cast(pl.Int64)
        found.append(path.gather(rows.filter(above(parent, marks, rows)["n_ones"] > 0)))
    return pl.concat(found)
