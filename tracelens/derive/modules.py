"""Which module a span belongs to: by nesting in the forward pass, by autograd's sequence numbers in the backward."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest, outermost

MODULE_PREFIX = "nn.Module: "
_NODE = ("process_id", "forward_thread_id", "sequence_number")


def mark_modules(spans: pl.DataFrame, parent: pl.Series) -> tuple[pl.Series, int]:
    """module_path of each span (null outside any module), and how many backward spans were ambiguous.

    Forward: the chain of module calls around the span. Backward: the path of the forward op that made the autograd
    node, which is the last op to start with that sequence number; checked against Kineto's own fwdbwd flows. Sequence
    numbers are per thread, and a backward op names its forward thread by a number of torch's own: the thread whose ops
    match most of that number's sequence numbers is taken for it, and where two match as many, none.
    """
    own = spans.select(
        pl.when(pl.col("kind") == "module").then(pl.col("name").str.strip_prefix(MODULE_PREFIX))
    ).to_series()
    forward = _chains(parent, own)
    if not spans["sequence_number"].count():
        return forward, 0
    keyed = spans.select(
        *_NODE, "thread_id", "start_ns", path=forward, is_backward=pl.col("forward_thread_id").fill_null(0) > 0
    )
    leads = keyed.select(pl.when("is_backward").then(pl.int_range(pl.len()))).to_series()
    lead = outermost(parent, leads)
    paths = _paths_of_nodes(keyed)
    through = keyed.select(*_NODE)[lead].join(paths, on=[*_NODE], how="left", maintain_order="left")
    n_ambiguous = through.filter(pl.col("is_ambiguous").fill_null(False)).height
    return forward.zip_with(forward.is_not_null(), through["path"]), n_ambiguous


def _paths_of_nodes(keyed: pl.DataFrame) -> pl.DataFrame:
    """process_id, forward_thread_id, sequence_number; path of the op that made the node, or is_ambiguous."""
    makers = (
        keyed.filter(~pl.col("is_backward") & pl.col("sequence_number").is_not_null())
        .group_by("process_id", "thread_id", "sequence_number")
        .agg(pl.col("path").sort_by("start_ns").last(), made_ns=pl.col("start_ns").max())
    )
    nodes = (
        keyed.filter("is_backward").drop_nulls("sequence_number").group_by(*_NODE).agg(run_ns=pl.col("start_ns").max())
    )
    pairs = nodes.join(makers, on=["process_id", "sequence_number"]).filter(pl.col("made_ns") <= pl.col("run_ns"))
    votes = pairs.group_by("process_id", "forward_thread_id", "thread_id").agg(votes=pl.len())
    best = votes.filter(pl.col("votes") == pl.col("votes").max().over("process_id", "forward_thread_id"))
    chosen = best.with_columns(n_best=pl.len().over("process_id", "forward_thread_id"))
    return (
        pairs.join(chosen, on=["process_id", "forward_thread_id", "thread_id"])
        .group_by(*_NODE)
        .agg(
            path=pl.when(pl.col("n_best").max() == 1).then(pl.col("path").first()),
            is_ambiguous=pl.col("n_best").max() > 1,
        )
    )


def _chains(parent: pl.Series, own: pl.Series) -> pl.Series:
    """The names of the module calls around each span, outermost first, joined with dots."""
    is_module = own.is_not_null()
    if not is_module.any():
        return pl.Series([None] * len(own), dtype=pl.String)
    rows = (
        pl.DataFrame({"own": own}).select(pl.when(pl.col("own").is_not_null()).then(pl.int_range(pl.len()))).to_series()
    )
    enclosing = nearest(parent, rows)
    up = enclosing.gather(parent)
    path = own
    while up.gather(is_module.arg_true()).null_count() < is_module.sum():
        above = path.gather(up)
        path = (
            pl.DataFrame({"above": above, "path": path})
            .select(
                pl.when(pl.col("above").is_not_null()).then(pl.col("above") + "." + pl.col("path")).otherwise("path")
            )
            .to_series()
        )
        up = up.gather(up)
    return path.gather(enclosing)


def list_layers(spans: pl.DataFrame) -> pl.DataFrame:
    """module_path, class_name and call_order of every module called, in the order first called."""
    return (
        spans.filter(pl.col("kind") == "module")
        .group_by("module_path")
        .agg(pl.col("start_ns").min())
        .sort("start_ns", "module_path")
        .with_row_index("call_order")
        .select(
            "module_path",
            class_name=pl.col("module_path").str.extract(r"([^.]+?)(?:_\d+)?$"),
            call_order=pl.col("call_order").cast(pl.Int64),
        )
    )
