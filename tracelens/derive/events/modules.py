"""Find the module to which each span belongs."""

import polars as pl

from tracelens.derive.columns.filling import gathered
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.autograd_nodes import NODE, makers_of_nodes
from tracelens.derive.events.call_tree import count_among, joined_paths, nearest, outermost
from tracelens.storage.limits import MODULES

MODULE_PREFIX = "nn.Module: "
COMPILED_GRAPH = (
    r"^nn\.Module: (GraphModule|GraphModuleImpl|_?LazyGraphModule|<eval_with_key>[.\d]*)_\d+$"
)
"""Names of calls of graphs that Dynamo or another FX tracer made from a module's forward."""
_HOLDERS = (
    r"^nn\.Module:"
    r" (OptimizedModule|DistributedDataParallel|DataParallel|FullyShardedDataParallel)_\d+$"
)
WRAPPER = f"{_HOLDERS}|{COMPILED_GRAPH}"
"""Names of calls of modules that only hold another module or its graph.

They are not layers and do not appear in a path.
"""


def mark_modules(spans: pl.DataFrame, parent: pl.Series) -> tuple[pl.Series, int, int]:
    """Return each span's module_path, and count ambiguous spans and module calls nested too deep.

    - A forward span gets the path of the module call around it. A backward span gets the path of
      the forward op that made its autograd node. Spans outside modules get None.
    - An ambiguous span is a backward span whose forward op could be on several threads.
    - A module call is nested too deep if it is deeper than the limit MODULES. Paths leave it out.
    """
    forward, n_too_deep = _chains(parent, spans)
    if not spans["sequence_number"].count():
        return forward, 0, n_too_deep
    is_backward = pl.col("forward_thread_id").fill_null(0) > 0
    rows = pl.int_range(pl.len(), dtype=pl.get_index_type())
    backward_row = pl.when(is_backward).then(rows)
    lead = outermost(parent, spans.select(backward_row).to_series())
    numbered = pl.col("sequence_number").is_not_null()
    keyed = spans.select(
        *NODE, "thread_id", "start_ns", path=forward, is_backward=is_backward
    ).filter(numbered)
    paths = _paths_of_nodes(keyed)
    leads = lead.drop_nulls().unique()
    through = spans.select(*NODE)[leads].join(
        paths,
        on=[*NODE],
        how="left",
        maintain_order="left",
    )
    lead_row = _numbered(leads, spans.height).gather(lead)
    n_ambiguous = through["is_ambiguous"].gather(lead_row).sum()
    is_forward = forward.is_not_null()
    return (
        forward.zip_with(is_forward, through["path"].gather(lead_row)),
        int(n_ambiguous),
        n_too_deep,
    )


def _numbered(rows: pl.Series, height: int) -> pl.Series:
    """Return, for each row number below `height`, its index in `rows`; None if `rows` lacks it."""
    none = pl.repeat(
        None,
        height,
        dtype=pl.get_index_type(),
        eager=True,
    )
    numbers = pl.int_range(
        len(rows),
        dtype=pl.get_index_type(),
        eager=True,
    )
    return none.scatter(rows, numbers)


def _paths_of_nodes(keyed: pl.DataFrame) -> pl.DataFrame:
    """Return the module path of the op that made each autograd node: NODE, path, is_ambiguous.

    The path of an ambiguous node is None.
    """
    pairs_of_nodes = makers_of_nodes(keyed, "path").group_by(*NODE)
    path = pl.col("path").first()
    is_ambiguous = pl.col("is_ambiguous").any()
    path_if_certain = pl.when(~is_ambiguous).then(path)
    return pairs_of_nodes.agg(path=path_if_certain, is_ambiguous=is_ambiguous)


def _chains(parent: pl.Series, spans: pl.DataFrame) -> tuple[pl.Series, int]:
    """Return the module path around each span, and the number of module calls nested too deep.

    A path joins the names of the module calls by dots, outermost first. If a module call has an
    exact_path, that path replaces its name and all names before it.
    """
    named = _named_modules(spans)
    if not len(named):
        return pl.repeat(None, spans.height, dtype=pl.Categorical, eager=True), 0
    around_named = nearest(parent, _numbered(named, spans.height))
    every = pl.repeat(
        True,
        len(named),
        dtype=pl.Boolean,
        eager=True,
    )
    # All paths together grow with the square of the depth, so a limit on depth bounds memory.
    is_deep = count_among(gathered(around_named, gathered(parent, named)), every) > MODULES.value
    modules, enclosing = named, around_named
    if is_deep.any():
        modules = named.filter(~is_deep)
        enclosing = nearest(parent, _numbered(modules, spans.height))
    name = each_once(
        gathered(spans["name"], modules),
        lambda name: name.str.strip_prefix(MODULE_PREFIX),
    )
    exact = spans["exact_path"].gather(modules).cast(pl.Categorical)
    path = exact.zip_with(exact.is_not_null(), name)
    above = gathered(enclosing, gathered(parent, modules))
    nothing = above.clear(len(above))
    above_name = above.zip_with(exact.is_null(), nothing)
    return joined_paths(path, above_name, ".").gather(enclosing), int(is_deep.sum())


def _named_modules(spans: pl.DataFrame) -> pl.Series:
    """Return the rows of module calls that are part of a path."""
    is_module = (spans["kind"] == "module") & spans["name"].is_not_null()
    modules = is_module.arg_true()
    if not len(modules):
        return modules
    is_wrapper = each_once(
        gathered(spans["name"], modules),
        lambda name: name.str.contains(WRAPPER),
    )
    has_exact_path = gathered(spans["exact_path"], modules).is_not_null()
    # A wrapper, such as DDP, is part of a path only if its exact path was recorded.
    return modules.filter(~is_wrapper | has_exact_path)


def list_layers(spans: pl.DataFrame) -> pl.DataFrame:
    """List every module that was called: module_path, class_name and call_order.

    call_order numbers the modules from 0, by their first call.
    """
    module_path = pl.col("module_path")
    is_module = pl.col("kind") == "module"
    calls = spans.filter(is_module & module_path.is_not_null())
    is_wrapper = each_once(
        calls["name"],
        lambda name: name.str.contains(WRAPPER),
    ).alias("is_wrapper")
    # A wrapper and the module inside it may have the same path. Then the inner module's name
    # counts.
    first_name = pl.col("name").sort_by("is_wrapper", "start_ns").first()
    without_prefix = pl.col("name").str.strip_prefix(MODULE_PREFIX)
    has_prefix = pl.col("name").str.starts_with(MODULE_PREFIX)
    return (
        calls.select("module_path", "start_ns", "name", is_wrapper)
        .group_by("module_path")
        .agg(
            pl.col("start_ns").min(),
            first_name.cast(pl.String),
        )
        .sort("start_ns", module_path.cast(pl.String))
        .with_row_index("call_order")
        .select(
            "module_path",
            # NVTX hooks record the path in a dictionary, TensorRT a layer's name; neither records a
            # class.
            class_name=pl.when(has_prefix)
            .then(without_prefix.str.replace(r"_\d+$", ""))
            .otherwise(pl.lit("unknown")),
            call_order=pl.col("call_order").cast(pl.Int64),
        )
    )
