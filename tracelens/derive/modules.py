"""Which module a span belongs to: by nesting in the forward pass, by autograd's sequence numbers in the backward."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import nearest, outermost

MODULE_PREFIX = "nn.Module: "


def mark_modules(spans: pl.DataFrame, parent: pl.Series) -> tuple[pl.Series, int]:
    """module_path of each span (null outside any module), and how many backward spans were ambiguous.

    Forward: the chain of module calls around the span. Backward: the path of the forward op that made the autograd
    node, which is the last op to start with that sequence number; checked against Kineto's own fwdbwd flows. Sequence
    numbers are per thread and the trace does not say which thread is which, so a number seen on several forward
    threads stays without a module.
    """
    own = spans.select(
        pl.when(pl.col("kind") == "module").then(pl.col("name").str.strip_prefix(MODULE_PREFIX))
    ).to_series()
    forward = _chains(parent, own)
    if not spans["sequence_number"].count():
        return forward, 0
    keyed = spans.select("sequence_number", "forward_thread_id", "thread_id", "start_ns", path=forward)
    made, n_ambiguous = _makers(keyed)
    lead = outermost(parent, keyed.select(_backward_key()).to_series())
    through = pl.DataFrame({"sequence_number": lead}).join(
        made, on="sequence_number", how="left", maintain_order="left"
    )
    return forward.zip_with(forward.is_not_null(), through["path"]), n_ambiguous


def _backward_key() -> pl.Expr:
    return pl.when(pl.col("forward_thread_id") > 0).then(pl.col("sequence_number"))


def _makers(keyed: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """sequence_number and path of the forward op that made each autograd node; the number of ambiguous ones."""
    forward_ops = keyed.filter(
        pl.col("sequence_number").is_not_null() & (pl.col("forward_thread_id").fill_null(0) <= 0)
    )
    last = forward_ops.group_by("sequence_number").agg(
        pl.col("path").sort_by("start_ns").last(), n_threads=pl.col("thread_id").n_unique()
    )
    clear = last.filter(pl.col("n_threads") == 1).select("sequence_number", "path")
    return clear, last.height - clear.height


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
