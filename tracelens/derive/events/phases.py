"""Find each span's phase of a training step: forward, backward, optimizer or other."""

from collections.abc import Iterable

import polars as pl

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.call_tree import nearest

_MARKERS = (
    (
        "backward",
        (
            r"^autograd::engine::evaluate_function|^CompiledFunctionBackward|^## Call"
            r" CompiledFxGraph .* backward"
        ),
    ),
    ("optimizer", r"^Optimizer\.(?:step|zero_grad)#"),
)
_ANNOTATIONS = (
    ("forward", r"(?i)\bforward\b"),
    ("backward", r"(?i)\bbackward\b"),
    ("optimizer", r"(?i)\boptimizer\b"),
)
_PHASES = ("forward", "backward", "optimizer", "other")
_OTHER = r"(?i)^\W*(?:h2d|data|dataloader|loss)\W*$|^enumerate\(DataLoader\)"


def mark_phases(spans: pl.DataFrame, parent: pl.Series) -> pl.Series:
    """Return each span's phase, None if nothing shows it.

    The phase comes from the first of these that shows one:

    - the name or kind of the span itself
    - the name or kind of an ancestor, the nearest ancestor first
    - the annotation in progress in the process when the span starts
    """
    kind = pl.col("kind")
    is_annotation = kind.is_in(["annotation", "nvtx"])
    # Ops that name a forward thread mark the backward pass. Module calls and compiled regions mark
    # the forward pass.
    phase_of_span = pl.coalesce(
        "marked",
        pl.when((pl.col("forward_thread_id") > 0) & (kind == "op")).then(_code("backward")),
        pl.when(is_annotation).then("annotated"),
        pl.when((kind == "module") | pl.col("is_compiled")).then(_code("forward")),
    )
    names = each_once(spans["name"], _by_name).struct.unnest()
    marked = spans.select("kind", "forward_thread_id", *names).select(
        phase=phase_of_span, is_annotation=is_annotation
    )
    inherited = nearest(parent, marked["phase"])
    end = pl.col("start_ns") + pl.col("duration_ns")
    times = spans.select("process_id", "start_ns", end_ns=end)
    annotations = times.with_columns(marked["phase"]).filter(
        marked["is_annotation"] & marked["phase"].is_not_null()
    )
    lost = inherited.is_null().arg_true()
    lost_starts = times[lost].select("process_id", "start_ns")
    open_then = during(lost_starts, annotations, "phase", pl.UInt8)["phase"]
    phase_codes = inherited.scatter(lost, open_then)
    words = pl.Series("phase", _PHASES).cast(pl.Categorical)
    return words.gather(phase_codes)


def _by_name(name: pl.Expr) -> pl.Expr:
    """Return a struct for each name: marked, annotated, is_compiled.

    - `marked`: number of the phase that the name marks, or None
    - `annotated`: number of the phase that an annotation of this name marks, or None
    """
    return pl.struct(
        marked=_first(name, _MARKERS),
        annotated=_first(name, (*_ANNOTATIONS, ("other", _OTHER))),
        is_compiled=name.str.contains(r"^Torch-Compiled Region|^CompiledFunction$"),
    )


def _first(
    name: pl.Expr,
    rules: Iterable[tuple[str, str]],
) -> pl.Expr:
    """Return the number of the first phase with a pattern that matches the name, or None."""
    return pl.coalesce(
        pl.when(name.str.contains(pattern)).then(_code(phase)) for phase, pattern in rules
    )


def _code(phase: str) -> pl.Expr:
    """Return the phase's number as UInt8, which takes little memory in the tree of spans."""
    return pl.lit(_PHASES.index(phase), pl.UInt8)
