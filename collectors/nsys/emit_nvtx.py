"""Ops, shapes and sequence numbers from the names of NVTX ranges that torch.autograd.profiler.emit_nvtx makes.

A range is named `aten::mm, seq = 3, op_id = 12, sizes = [[8, 64], [64, 64]], input_op_ids = [(9,0), (11,0)]`
(getNvtxStr in torch/csrc/profiler/util.cpp). Each part but the name may be missing: without autograd there is no `seq`,
before PyTorch 1.11 no `op_id`, and `sizes` and `input_op_ids` come with record_shapes=True. A program's own
record_function is named `NAME, op_id = N`.
"""

import polars as pl

from tracelens.derive.columns.distinct import distinct_rows

_PARTS = (
    r"^(?s:(?P<name>.+?))(?:, seq = (?P<sequence_number>[0-9]{1,18}))?(?:, op_id = (?P<external_id>[0-9]{1,18}))?"
    r"(?:, sizes = (?P<input_shapes>\[[\[\]0-9, -]+\]))?(?:, input_op_ids = \[[()0-9, -]*\])?$"
)
_QUALIFIED = r"^[A-Za-z_]\w*(::[A-Za-z_]\w*)+(\.\w+)?(: .+)?$"
"""Names of ops, aten::add.Tensor, and of autograd's nodes, autograd::engine::evaluate_function: AddmmBackward0."""
_BACKWARD = r"^\w*Backward\w*$"
_BARE = r"^(aten|prim)::\w+$"


def read_names(names: pl.Series) -> pl.DataFrame:
    """The kind of each range (op, annotation, null if PyTorch did not name it), its name, and other columns of spans.

    An op has a qualified name, or an id and a sequence number or sizes. Only PyTorch's own ops may have a bare name, so
    a range named `load, shard 3` or `Model::forward` stays a range.
    """
    rows, places = distinct_rows(names.cast(pl.Categorical).to_physical())
    found = _read(names.gather(rows).cast(pl.String)).with_columns(pl.selectors.string().cast(pl.Categorical))
    return found.select(pl.all().gather(places))


def _read(texts: pl.Series) -> pl.DataFrame:
    """The columns of `read_names` for distinct texts; only texts with parts are parsed."""
    frame = texts.alias("text").to_frame()
    text = pl.col("text")
    has_parts = pl.any_horizontal(text.str.contains(f", {part} = ", literal=True) for part in ("seq", "op_id", "sizes"))
    rows = frame.select((has_parts | text.str.contains(_BARE)).fill_null(value=False)).to_series().arg_true()
    parsed = frame[rows].select(text.str.extract_groups(_PARTS)).unnest("text")
    parsed = parsed.with_columns(pl.col("sequence_number", "external_id").cast(pl.Int64))
    sequence, op_id = pl.col("sequence_number").is_not_null(), pl.col("external_id").is_not_null()
    has_detail, is_qualified = sequence | pl.col("input_shapes").is_not_null(), pl.col("name").str.contains(_QUALIFIED)
    is_qualified |= sequence & pl.col("name").str.contains(_BACKWARD)
    is_op = (is_qualified & (has_detail | op_id)) | (has_detail & op_id) | pl.col("name").str.contains(_BARE)
    parsed = parsed.select(pl.all(), kind=pl.when(is_op).then(pl.lit("op")).when(op_id).then(pl.lit("annotation")))
    named = parsed["kind"].is_not_null()
    kept, rows = parsed.filter(named), rows.filter(named)
    spread = [column.clear(len(texts)).scatter(rows, column) for column in kept.get_columns()]
    return pl.DataFrame(spread).with_columns(name=pl.coalesce("name", texts))
