"""Compute the work of calls from their recorded inputs, once per distinct input."""

import polars as pl

from tracelens.derive.kernels.op_work import tensors_of, work_of

INPUTS = ("name", "input_shapes", "input_dtypes", "input_strides", "concrete_inputs")
"""Columns with the inputs of a call, as text."""
WORK = pl.Schema(
    {
        "op": pl.String(),
        "shapes": pl.String(),
        "dtypes": pl.String(),
        "dtype": pl.String(),
        "flops": pl.Float64(),
        "needed_flops": pl.Float64(),
        "least_bytes": pl.Float64(),
        "pair_flops": pl.Float64(),
        "key_bytes": pl.Float64(),
        "most_flops": pl.Float64(),
        "most_bytes": pl.Float64(),
        "assumed": pl.String(),
    }
)
"""Columns of a call's work."""


def works_of(calls: pl.DataFrame) -> pl.DataFrame:
    """Return rank, span_id and WORK of each call of known work.

    `calls` have rank, span_id, INPUTS, list_dtype, inputs_assumed, n_chosen and weight_bytes.
    """
    keys = (*INPUTS, "list_dtype", "inputs_assumed", "n_chosen", "weight_bytes")
    distinct = calls.lazy().group_by(keys, maintain_order=True).agg("rank", "span_id").collect()
    rows = [
        _row(
            name,
            texts,
            list_dtype,
            inputs_assumed,
            None if n_chosen is None else (n_chosen, width),
        )
        for name, *texts, list_dtype, inputs_assumed, n_chosen, width in distinct.select(
            keys
        ).iter_rows()
    ]
    works = pl.DataFrame(rows, schema=WORK, orient="row")
    known = distinct.select("rank", "span_id").hstack(works).drop_nulls("op")
    return known.explode("rank", "span_id")


def _row(
    name: str,
    texts: list[str | None],
    list_dtype: str | None,
    inputs_assumed: str | None,
    experts: tuple[int, float] | None,
) -> tuple[object, ...]:
    """Return the values of WORK for a call, all None if its work is unknown."""
    work = work_of(name, texts, list_dtype, experts)
    if work is None:
        return (None,) * len(WORK)
    return (
        name,
        *tensors_of(*texts[:2]),
        work.dtype,
        float(work.flops),
        float(work.needed_flops),
        None if work.least_bytes is None else float(work.least_bytes),
        float(work.pair_flops),
        float(work.key_bytes),
        None if work.most_flops is None else float(work.most_flops),
        None if work.most_bytes is None else float(work.most_bytes),
        work.assumed or inputs_assumed,
    )
