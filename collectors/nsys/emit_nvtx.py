"""What PyTorch says in the names of the NVTX ranges that torch.autograd.profiler.emit_nvtx makes.

A range is named `aten::mm, seq = 3, op_id = 12, sizes = [[8, 64], [64, 64]], input_op_ids = [(9,0), (11,0)]`
(getNvtxStr in torch/csrc/profiler/util.cpp). Each part but the name may be missing: without autograd there is no `seq`,
before PyTorch 1.11 no `op_id`, and `sizes` and `input_op_ids` come with record_shapes=True. A record_function of the
program's own goes by `NAME, op_id = N`.
"""

from __future__ import annotations

import polars as pl

from tracelens.derive.distinct import each_once

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
    return each_once(names.alias("name"), _read).struct.unnest()


def _read(text: pl.Expr) -> pl.Expr:
    parts = text.str.extract_groups(_PARTS)
    name, sequence, op_id, sizes = (parts.struct.field(column) for column in _FIELDS)
    is_told = sequence.is_not_null() | sizes.is_not_null()
    looks_so = name.str.contains(_QUALIFIED) | (sequence.is_not_null() & name.str.contains(_BACKWARD))
    has_suffix = is_told | op_id.is_not_null()
    is_op = (has_suffix & looks_so) | (is_told & op_id.is_not_null()) | (~has_suffix & name.str.contains(_BARE))
    kind = pl.when(is_op).then(pl.lit("op")).when(~is_told & op_id.is_not_null()).then(pl.lit("annotation"))
    return pl.struct(
        kind=kind.cast(pl.Categorical),
        name=pl.when(kind.is_not_null()).then(name).otherwise(text).cast(pl.Categorical),
        sequence_number=pl.when(is_op).then(sequence.cast(pl.Int64)),
        external_id=pl.when(kind.is_not_null()).then(op_id.cast(pl.Int64)),
        input_shapes=pl.when(is_op).then(sizes).cast(pl.Categorical),
    )


_FIELDS = ("name", "sequence_number", "external_id", "input_shapes")
