"""The time that ops take on the host and on the device, by name: in machine code where there are many spans."""

from __future__ import annotations

import polars as pl

from tracelens.coding import is_word
from tracelens.derive.ancestry import is_worth_a_kernel, nearest_row, repeats, sum_within
from tracelens.derive.charging import charge, charge_calls
from tracelens.derive.intervals import durations


def op_times(tree: pl.DataFrame, words: dict[str, pl.Series], work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """A row an op name (a code) of one rank: the columns of `durations`, cpu_self_ns, cuda_self_ns, cuda_total_ns.

    `tree` has kind and name as codes of `words`; `work` (span_id, duration_ns) and `calls` are the rank's.
    """
    is_op = is_word(tree["kind"], words["kind"], "op")
    is_python = is_word(tree["kind"], words["kind"], "python", "module")
    found = None
    if is_worth_a_kernel(is_op):
        from tracelens.derive import op_times_fast  # noqa: PLC0415 - needs NumPy, which comes with numba

        marks = is_op.cast(pl.UInt8) + 2 * is_python.cast(pl.UInt8)
        found = op_times_fast.by_name(tree.with_columns(marks=marks), words["name"].len(), work, calls)
    if found is None:
        found = by_name(tree.with_columns(is_op=is_op, is_python=is_python), work, calls)
    return found.select(pl.lit(tree["rank"].first(), pl.Int32).alias("rank"), pl.all())


def by_name(tree: pl.DataFrame, work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """What `op_times` gives, by whole columns, but for the rank."""
    parent, is_op, word = tree["parent_id"], tree["is_op"], tree["name"]
    in_calls = charge_calls(calls, tree.height)
    innermost = nearest_row(parent, is_op)
    within = sum_within(parent, charge(work["span_id"], work["duration_ns"], tree.height))
    is_repeated = repeats(innermost.gather(parent), word, is_op & (within > 0))
    spans = tree.select(
        "name",
        "duration_ns",
        cpu_self_ns=(pl.col("self_ns") - in_calls).clip(0),
        cuda_total_ns=pl.when(is_repeated).then(0).otherwise(within),
    )
    measures = [*durations(), pl.col("cpu_self_ns", "cuda_total_ns").sum()]
    ops = spans.filter(is_op).group_by("name").agg(measures)
    # CPU self of an op includes the Python calls directly within it.
    is_python = tree["is_python"] & innermost.is_not_null()
    python = spans.filter(is_python).select(python_ns="cpu_self_ns", name=_owners(tree, is_python))
    launched = work.select(cuda_self_ns="duration_ns", name=word.gather(innermost.gather(work["span_id"])))
    for part in (python, launched):
        ops = ops.join(part.group_by("name").sum(), on="name", how="left")
    cpu_self = pl.col("cpu_self_ns") + pl.col("python_ns").fill_null(0)
    return ops.with_columns(cpu_self, pl.col("cuda_self_ns").fill_null(0)).drop("python_ns")


def _owners(tree: pl.DataFrame, chosen: pl.Series) -> pl.Series:
    """The names of the ops that the chosen Python calls run directly in; null where an annotation stands between."""
    if not chosen.any():
        return tree["name"].clear()
    owner = nearest_row(tree["parent_id"], ~tree["is_python"]).filter(chosen)
    return tree["name"].gather(owner.set(~tree["is_op"].gather(owner), None))
