"""Advise by the roofline: on products in float32, and on successive ops that only move memory.

The roofline is computed for one step of each rank, and scaled to all of the rank's steps.
"""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.kernels.device_peaks import DEVICE_KEY, device_peaks, roof_ns
from tracelens.derive.kernels.op_families import signatures
from tracelens.derive.layers.modelled_calls import CALL, modelled
from tracelens.derive.time.advice import Rule
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.errors import MissingTableError

_FUSED_FAMILIES = ("elementwise", "copy", "dropout")
_PRODUCTS = ("gemm", "conv")
_MOVERS = ("elementwise", "layout", "copy")
_MOST_KERNELS = 50_000
"""Without steps, all kernels are examined, unless there are more than this."""
_STREAM = (*DEVICE_KEY, "stream_id")


def roofline_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Yield advice on the precision of kernels, and on the bytes that they read and write."""
    # Shorter kernels would only leave the device idle longer.
    if 2 * program.parts["compute"] < program.total_ns:
        return
    total_ns = pl.col("ns").sum()
    ns = program.kernels.group_by("primitive").agg(total_ns)
    is_of_kinds = pl.col("primitive").is_in([*_PRODUCTS, *_MOVERS])
    of_kinds = ns.filter(is_of_kinds)["ns"].sum()
    if not of_kinds or not program.trace.has("spans"):
        return
    sample = _sample(program)
    if sample is None:
        return
    try:
        work = modelled(program.trace, only=sample)
    except MissingTableError:
        return
    calls = work.calls.join(
        device_peaks(program.trace, None),
        on=[*DEVICE_KEY, "precision"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).with_columns(roof=roof_ns())
    sampled_steps = calls.drop_nulls("step").select("rank", "step")
    n_sampled = max(sampled_steps.n_unique(), 1)
    scale = program.n_steps / n_sampled if program.n_steps else 1.0
    yield from _in_float32(program, calls, scale)
    columns = ("kernel_id", *_STREAM, "start_ns", "duration_ns")
    kernels = program.trace.select("kernels", *columns, where=sample)
    known = work.kernels.drop("device_id")
    kernels = kernels.join(
        known,
        on=["rank", "kernel_id"],
        how="left",
        maintain_order="left",
    )
    yield from _chains(program, calls, kernels, scale)


def _sample(program: JudgedProgram) -> pl.Expr | None:
    """Return a condition that selects each rank's step with the median kernel time.

    If no step is marked, it selects all judged rows. Return None if there are too many rows.
    """
    recorded = program.trace.select("kernels", "rank", "step", "duration_ns")
    kernels = recorded.filter(program.is_judged)
    rank = pl.col("rank")
    step = pl.col("step")
    in_steps = kernels.lazy().drop_nulls("step")
    times = in_steps.group_by("rank", "step").agg(pl.col("duration_ns").sum())
    by_time = times.sort("rank", "duration_ns", "step")
    middle = pl.len() // 2
    medians = by_time.group_by("rank", maintain_order=True).agg(step.gather(middle).first())
    steps = medians.collect()
    if not steps.height:
        return program.is_judged if kernels.height <= _MOST_KERNELS else None
    rank_and_step = rank * pl.lit(1 << 32) + step
    chosen = steps.select(rank_and_step).to_series()
    return rank_and_step.is_in(chosen.implode()).fill_null(value=False)


def _in_float32(program: JudgedProgram, calls: pl.DataFrame, scale: float) -> Iterator[Rule]:
    """Advise tensor cores for products and convolutions in float32."""
    precision = pl.col("precision")
    op = pl.col("op")
    # If a call of an op ran as TF32, then TF32 is allowed already.
    may_use = calls.filter(precision == "tf32")["op"].unique()
    products = calls.filter(
        precision == "fp32",
        pl.col("flops") > 0,
        ~op.is_in(may_use.implode()),
    )
    if not products.height:
        return
    peaks = ["peak_flops_per_s", "peak_bytes_per_s"]
    limits = device_peaks(program.trace, None).filter(precision == "tf32")
    known_limits = limits.select(*DEVICE_KEY, *peaks).drop_nulls()
    without_peaks = products.drop(*peaks, "roof")
    fast = without_peaks.join(known_limits, on=DEVICE_KEY)
    saved_ns = (pl.col("duration_ns") - roof_ns()).clip(lower_bound=0)
    by_op = fast.group_by("op").agg(saved=saved_ns.sum()).drop_nulls()
    places = []
    for name, ns in by_op.sort("saved", "op", descending=[True, False]).iter_rows():
        if ns > 0:
            places.append((name, round(ns * scale)))
    words = (
        "Let tensor cores compute products in float32: TF32"
        ' (torch.set_float32_matmul_precision("high")) or autocast'
    )
    all_saved_ns = sum(ns for _, ns in places)
    yield Rule(all_saved_ns, words, "compute", "roofline", places=places)


def _chains(
    program: JudgedProgram,
    calls: pl.DataFrame,
    kernels: pl.DataFrame,
    scale: float,
) -> Iterator[Rule]:
    """Advise to fuse ops that read and write memory one after the other."""
    chains = _chains_of_movers(calls, kernels)
    sums = chains.group_by("op").agg(pl.col("saved", "n").sum())
    by_op = sums.sort("saved", "op", descending=[True, False])
    places = []
    for op, ns in by_op.select("op", "saved").iter_rows():
        places.append((op, round(ns * scale)))
    n_kernels = int(by_op["n"].sum())
    n_calls = round(n_kernels * scale / max(program.n_steps, 1))
    every = " a step" if program.n_steps else ""
    words = (
        f"Fuse chains of elementwise ops and copies (torch.compile): {n_calls:,} calls{every} read"
        " and write memory one after the other"
    )
    saved_ns = sum(ns for _, ns in places)
    yield Rule(
        saved_ns,
        words,
        "compute",
        "roofline",
        places=places,
    )


def _chains_of_movers(calls: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Return runs of successive kernels on a stream that belong to ops that only move memory.

    - op: names of the first two ops
    - n: number of kernels, at least 2
    - saved: ns that fusing them would save
    """
    movers = calls.select(*CALL, "op", is_mover=_only_moves())
    ran = kernels.join(movers, on=CALL, how="left", nulls_equal=True)
    in_order = ran.sort(*_STREAM, "start_ns")
    is_mover = pl.col("is_mover")
    follows_mover = is_mover.shift(1).over(_STREAM).fill_null(False)
    begins_chain = ~(is_mover & follows_mover)
    numbered = in_order.with_columns(chain=begins_chain.cum_sum())
    moving = numbered.filter(is_mover)
    duration_ns = pl.col("duration_ns")
    first_ops = pl.col("op").unique(maintain_order=True).head(2)
    # The fused kernel takes at least as long as the longest kernel.
    chains = moving.group_by("chain", maintain_order=True).agg(
        first_ops.str.join(" + "),
        n=pl.len(),
        saved=duration_ns.sum() - duration_ns.max(),
    )
    return chains.filter(pl.col("n") > 1)


def _only_moves() -> pl.Expr:
    """Return whether an op only moves memory, and a compiler would fuse it with other ops."""
    moves_lists = pl.col("op").str.contains("::_foreach_")
    computes = pl.col("flops") != 0
    return is_fusible() & ~moves_lists & ~computes


def is_fusible() -> pl.Expr:
    """Return whether a compiler fuses ops of this family with their neighbours."""
    families = {name: family for name, (family, _) in signatures().items()}
    family = pl.col("op").replace_strict(families, default=None, return_dtype=pl.String)
    return family.is_in(_FUSED_FAMILIES)
