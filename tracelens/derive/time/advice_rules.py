"""Find changes to advise: each rule looks for a sign, and yields a change with its saving."""

from collections.abc import Iterator

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.time.advice import Rule
from tracelens.derive.time.bound_places import CAST
from tracelens.derive.time.copy_advice import (
    download_rules,
    other_copy_rules,
    page_rules,
    process_copy_rules,
    upload_rules,
)
from tracelens.derive.time.idle_advice import idle_rules
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.launch_advice import launch_rules
from tracelens.derive.time.lone_waits import lone_waits
from tracelens.derive.time.receives import is_mostly_receiving
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.trace import Trace

_UNFUSED_LAUNCHES = 20
"""An optimizer counts as unfused with at least this many kernels per step.

At most half of these kernels may be of ops that update many tensors at once (foreach, fused).
"""
_LARGE_SCORES = 128 * 128
"""A fused attention kernel is advised for matrices with at least this number of scores."""
_MANY_CASTS = 0.1
"""Casts are advised against if they take at least this share of computing (chosen by hand)."""
_HAS_FUSED = r"^Optimizer\.step#(?:Adam|AdamW|SGD)\.step$"
"""Marks of torch's optimizers that have a fused form on a GPU (torch 2.13)."""
CONTIGUOUS_NORMS = r"^aten::(native_)?(group|instance)_norm$"
"""Ops that, on a GPU, convert channels_last images to the default layout.

See `group_norm.cpp` of torch 2.13.
"""


def _optimizer(program: JudgedProgram) -> Iterator[Rule]:
    """Advise a fused optimizer instead of one that updates tensors one by one.

    The saving is the idle time in which the optimizer's kernels are launched.
    """
    of_optimizer = program.kernels.filter(pl.col("phase") == "optimizer")
    n_kernels = int(of_optimizer["n"].sum())
    n_launches = n_kernels / max(program.n_steps, 1)
    is_fused_op = of_optimizer["op"].str.contains("foreach|fused")
    is_fused = is_fused_op.fill_null(value=False)
    n_fused = int(of_optimizer.filter(is_fused)["n"].sum())
    if n_launches < _UNFUSED_LAUNCHES or 2 * n_fused > n_kernels:
        return
    ops = of_optimizer["op"].drop_nulls().unique().implode()
    op = pl.col("what").str.split(" > ").list.last()
    is_launch = pl.col("cause") == "launch"
    idle = program.places.filter(is_launch & op.is_in(ops))
    same_ops = program.kernels.filter(pl.col("op").is_in(ops))
    n_all_kernels = int(same_ops["n"].sum())
    share = n_kernels / max(n_all_kernels, 1)
    words = (
        f"Use a fused optimizer (foreach=True or fused=True): this one launches {n_launches:,.0f}"
        " kernels a step one by one"
    )
    saved = int(int(idle["idle_ns"].sum()) * share)
    yield Rule(
        saved,
        words,
        "launch",
        "dispatch_depth",
        is_of_host=True,
        expression="fused_optimizer",
    )


def _joined_optimizer(program: JudgedProgram) -> Iterator[Rule]:
    """Advise a fused optimizer instead of one that takes several passes over all parameters."""
    of_optimizer = program.kernels.filter(pl.col("phase") == "optimizer")
    # `foreach` optimizers run one kernel for each arithmetic operation. Each of these kernels reads
    # and writes all parameters or states; a fused kernel does so once.
    is_joined = of_optimizer["op"].str.contains("_foreach_").fill_null(value=False)
    joined_ns = int(of_optimizer.filter(is_joined)["ns"].sum())
    if joined_ns < WORTH_IT * program.total_ns:
        return
    names = program.trace.select("spans", "name")["name"].unique().cast(pl.String)
    if names.str.contains(_HAS_FUSED).any():
        yield Rule(
            joined_ns,
            "Use a fused optimizer (fused=True): foreach reads and writes all parameters several"
            " times",
            "compute",
            "top_kernels",
            expression="fused_optimizer",
        )


def _layout(program: JudgedProgram) -> Iterator[Rule]:
    """Advise channels_last if convolutions transform layouts."""
    # Such norms would convert channels_last images back.
    ops = program.kernels["op"].drop_nulls()
    if ops.cast(pl.String).str.contains(CONTIGUOUS_NORMS).any():
        return
    is_layout = pl.col("primitive") == "layout"
    of_convolutions = is_layout & pl.col("op").str.contains("conv")
    saved = program.kernels.filter(of_convolutions.fill_null(value=False))["ns"].sum()
    words = "Keep images in channels_last: convolutions transpose their operands"
    yield Rule(
        int(saved),
        words,
        "compute",
        "layer_attribution",
        expression="channels_last",
    )


def _casts(program: JudgedProgram) -> Iterator[Rule]:
    """Advise fewer conversions of types if conversions take much of the computing time."""
    kernels = program.trace.select("kernels", "rank", "step", "name", "duration_ns")
    judged = kernels.filter(program.is_judged)
    casts = judged.filter(*matching(judged["name"], CAST))
    ns = int(casts["duration_ns"].sum())
    # Autocast alone converts weights and activations once, which takes a few percent.
    if ns < _MANY_CASTS * program.parts["compute"]:
        return
    n = f"{casts.height / max(program.n_steps, 1):,.0f}"
    every = "a step" if program.n_steps else "in all"
    words = (
        f"Convert types less often: {n} casts {every}; keep what is used again in one type, or fuse"
        " casts with what follows (torch.compile)"
    )
    yield Rule(ns, words, "compute", "top_kernels")


def _attention(program: JudgedProgram) -> Iterator[Rule]:
    """Advise one fused attention kernel instead of products with a softmax over large scores."""
    is_softmax = pl.col("primitive") == "softmax"
    softmax = program.kernels.filter(is_softmax & pl.col("op").str.contains(r"^aten::_?softmax"))
    saved = int(softmax["ns"].sum())
    if saved < WORTH_IT * program.total_ns or not _has_large_scores(program.trace):
        return
    is_product = program.kernels["op"].str.contains(r"^aten::(bmm|baddbmm|matmul)$")
    if is_product.fill_null(value=False).any():
        words = (
            "Use scaled_dot_product_attention: softmax over large scores runs between batched"
            " matrix products"
        )
        yield Rule(saved, words, "compute", "top_kernels")


def _has_large_scores(trace: Trace) -> bool:
    """Return whether a softmax's recorded input shape is a batch of large matrices."""
    is_softmax = pl.col("name") == "aten::_softmax"
    softmaxes = trace.select("spans", "input_shapes", where=is_softmax)
    shapes = softmaxes["input_shapes"].unique().cast(pl.String)
    last_two = shapes.str.extract(r"^\[\[(?:\d+, ?)+(\d+, ?\d+)\]")
    matrices = last_two.drop_nulls().str.split(",")
    size = pl.element().str.strip_chars().cast(pl.Int64)
    sizes = matrices.list.eval(size)
    n_scores = sizes.list.agg(pl.element().product())
    return bool((n_scores >= _LARGE_SCORES).any())


def _communication(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on communication that no computation hides, and on waits for other ranks."""
    exposed_ns = program.parts["communication"]
    if exposed_ns and is_mostly_receiving(program.trace):
        split_evenly = (
            "A receive waits until the other rank sends: in a pipeline, split the stages evenly, or"
            " give a step more microbatches"
        )
        yield Rule(exposed_ns, split_evenly, "communication", "time_breakdown")
        return
    if exposed_ns and lone_waits(program.trace) is not None:
        of_others = (
            "Speed up the rank that this one waits for: traces of the other ranks show which"
        )
        yield Rule(exposed_ns, of_others, "communication", "time_breakdown")
        return
    hideable_ns = program.hideable_ns["communication"]
    overlap = "Overlap communication with computing (buckets, a later wait)"
    yield Rule(hideable_ns, overlap, "communication", "time_breakdown")
    if exposed_ns > 2 * hideable_ns:
        send_less = (
            "Communicate less: gradient accumulation, a narrower type, fewer and larger messages"
        )
        yield Rule(exposed_ns - hideable_ns, send_less, "communication", "time_breakdown")
    share_evenly = "Give all ranks equally much to do: collectives wait for the slowest rank"
    yield Rule(program.parts["waiting"], share_evenly, "waiting", "waiting")


RULES = (
    idle_rules,
    launch_rules,
    process_copy_rules,
    upload_rules,
    download_rules,
    other_copy_rules,
    page_rules,
    _optimizer,
    _joined_optimizer,
    _layout,
    _casts,
    _attention,
    _communication,
)
