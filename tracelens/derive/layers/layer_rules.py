"""Name the layer of kernels and ops by rules, with the evidence for the layer."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from tracelens.derive.layers.graph_replay import UNATTRIBUTED
from tracelens.derive.layers.open_ranges import EVIDENCE as RANGE_EVIDENCE
from tracelens.trace import Trace

PRE_WINDOW = "(pre-window)"
ROOT_ONLY = "root module only"
"""Evidence for kernels launched directly in the model's root module, or in its wrapper."""


def with_classes(trace: Trace, placed: pl.DataFrame) -> pl.DataFrame:
    """Add class_name, the class of each row's layer; None if it is not known."""
    classes = trace.layers.select("rank", "class_name", layer="module_path")
    return placed.drop("class_name", strict=False).join(
        classes,
        on=["rank", "layer"],
        how="left",
        maintain_order="left",
    )


class _Rule(NamedTuple):
    """Holds a rule that names layers: its condition on rows, their layer, and the evidence."""

    holds: pl.Expr
    layer: pl.Expr
    evidence: str


def _layer_rules() -> Iterator[_Rule]:
    """Yield the rules in order of precedence: the first rule that holds for a row counts."""
    path = pl.col("module_path")
    phase = pl.col("phase")
    is_root = pl.col("is_root")
    is_in_layer = path.is_not_null() & ~is_root
    is_in_root = path.is_not_null() | is_root
    accumulates = pl.col("accumulates").fill_null(False)
    unattributed = pl.lit(UNATTRIBUTED)
    yield _Rule(
        pl.col("is_communication"),
        pl.lit("(communication)"),
        "communication kernel",
    )
    yield _Rule(accumulates, pl.lit("(gradient accumulation)"), "autograd node")
    yield _Rule(phase == "optimizer", pl.lit("(optimizer)"), "optimizer marker")
    yield _Rule(is_in_layer & pl.col("by_node"), path, "graph node")
    yield _Rule(is_in_layer & (phase == "backward"), path, "backward sequence")
    yield _Rule(is_in_layer, path, "module span")
    yield _Rule(
        pl.col("link") == "pre_window",
        pl.lit(PRE_WINDOW),
        "launched before the trace began",
    )
    yield _Rule(
        pl.col("loads"),
        pl.lit("(input)"),
        "data loader",
    )
    yield _Rule(is_in_root, unattributed, ROOT_ONLY)
    yield _Rule(pl.col("by_range"), unattributed, RANGE_EVIDENCE)


def name_layers(located: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """Add layer, class_name and evidence to rows of kernels or ops.

    A row may also be a group of kernels or ops. `located` has module_path, phase and these columns:

    - is_communication, link: as in the table kernels
    - accumulates, is_root: as in the table sites
    - by_node: whether module_path is from the span that created the kernel's node in a CUDA graph
    - by_range: whether another thread's open range shows a backward pass (may be absent)
    - loads: whether a data loader's annotation is around the row (may be absent)

    Strings become pl.String.
    """
    complete = _with_optional(located.cast({pl.Categorical: pl.String}))
    phase_of_range = pl.when("by_range").then(pl.lit("backward"))
    phase = pl.coalesce("phase", phase_of_range)
    with_phase = complete.with_columns(phase=phase)
    layers = []
    reasons = []
    for rule in _layer_rules():
        holds = pl.when(rule.holds)
        layers.append(holds.then(rule.layer))
        reasons.append(holds.then(pl.lit(rule.evidence)))
    named = with_phase.with_columns(
        layer=pl.coalesce(*layers, pl.lit(UNATTRIBUTED)),
        evidence=pl.coalesce(*reasons, pl.lit("none")),
    )
    return with_classes(trace, named)


def _with_optional(located: pl.DataFrame) -> pl.DataFrame:
    """Add by_range and loads, False for all rows, if they are absent."""
    no = pl.lit(value=False)
    absent = [name for name in ("by_range", "loads") if name not in located.columns]
    columns = [no.alias(name) for name in absent]
    return located.with_columns(columns)
