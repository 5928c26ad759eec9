"""Ops, shapes and sequence numbers, from the names of the NVTX ranges that torch.autograd.profiler.emit_nvtx makes.

A range is named `aten::mm, seq = 3, op_id = 12, sizes = [[8, 64], [64, 64]], input_op_ids = [(9,0), (11,0)]`
(getNvtxStr in torch/csrc/profiler/util.cpp). Each part but the name may be missing: without autograd there is no `seq`,
before PyTorch 1.11 no `op_id`, and `sizes` and `input_op_ids` come with record_shapes=True. A record_function of the
program's own goes by `NAME, op_id = N`.
"""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.distinct import distinct_rows

_PARTS = (
    r"^(?s:(?P<name>.+?))(?:, seq = (?P<sequence_number>[0-9]{1,18}))?(?:, op_id = (?P<external_id>[0-9]{1,18}))?"
    r"(?:, sizes = (?P<input_shapes>\[[\[\]0-9, -]+\]))?(?:, input_op_ids = \[[()0-9, -]*\])?$"
)
_QUALIFIED = r"^[A-Za-z_]\w*(::[A-Za-z_]\w*)+(\.\w+)?(: .+)?$"
"""As ops are named, aten::add.Tensor, and nodes of autograd: autograd::engine::evaluate_function: AddmmBackward0."""
_BACKWARD = r"^\w*Backward\w*$"
_BARE = r"^(aten|prim)::\w+$"


def read_names(names: pl.Series) -> pl.DataFrame:
    """The kind (op, annotation, null where PyTorch did not name the range), the name, and what else of a span it tells.

    An op has a qualified name, or an id and a sequence number or sizes. PyTorch names its own ops alone by their bare
    names, so that a range named `load, shard 3` or `Model::forward` stays what it is.
    """
    rows, places = distinct_rows(names.cast(pl.Categorical).to_physical())
    said = _read(names.gather(rows).cast(pl.String)).with_columns(pl.selectors.string().cast(pl.Categorical))
    return said.select(pl.all().gather(places))


def _read(texts: pl.Series) -> pl.DataFrame:
    """The columns of `read_names` for distinct texts; parts are looked for only in those that have any."""
    frame = texts.alias("text").to_frame()
    text = pl.col("text")
    has_parts = pl.any_horizontal(text.str.contains(f", {part} = ", literal=True) for part in ("seq", "op_id", "sizes"))
    rows = frame.select((has_parts | text.str.contains(_BARE)).fill_null(value=False)).to_series().arg_true()
    told = frame[rows].select(text.str.extract_groups(_PARTS)).unnest("text")
    told = told.with_columns(pl.col("sequence_number", "external_id").cast(pl.Int64))
    sequence, op_id = pl.col("sequence_number").is_not_null(), pl.col("external_id").is_not_null()
    is_told, looks_so = sequence | pl.col("input_shapes").is_not_null(), pl.col("name").str.contains(_QUALIFIED)
    looks_so |= sequence & pl.col("name").str.contains(_BACKWARD)
    is_op = (looks_so & (is_told | op_id)) | (is_told & op_id) | pl.col("name").str.contains(_BARE)
    told = told.select(pl.all(), kind=pl.when(is_op).then(pl.lit("op")).when(op_id).then(pl.lit("annotation")))
    named = told["kind"].is_not_null()
    kept, rows = told.filter(named), rows.filter(named)
    return pl.DataFrame([_spread(column, rows, len(texts)) for column in kept.get_columns()]).with_columns(
        name=pl.coalesce("name", texts)
    )


def _spread(column: pl.Series, rows: pl.Series, n_rows: int) -> pl.Series:
    """The values at so many of the rows, null elsewhere."""
    return column.clear(n_rows).scatter(rows, column)
