"""Sum the GPU time of each layer, by library and primitive, forward and backward."""

from collections.abc import Iterator

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.layers.attribution import attribute_kernels
from tracelens.derive.layers.graph_capture import EVIDENCE as CAPTURE_EVIDENCE
from tracelens.derive.layers.graph_capture import captured_graphs
from tracelens.derive.layers.graph_replay import BASE_EVIDENCE, UNATTRIBUTED, has_replays
from tracelens.derive.layers.layer_rules import PRE_WINDOW
from tracelens.derive.layers.open_ranges import EVIDENCE as RANGE_EVIDENCE
from tracelens.derive.time.step_table import process_ranks
from tracelens.errors import MissingTableError
from tracelens.schemas.results.work import LAYER_ATTRIBUTION
from tracelens.trace import Trace

_RESTS = (UNATTRIBUTED, PRE_WINDOW)


def layer_attribution(
    trace: Trace,
    base: Trace | None = None,
    *,
    by_step: bool = False,
) -> pl.DataFrame:
    """Attribute kernel time: one row per rank, layer and phase, and per step if `by_step`.

    Rows are sorted by rank, then by time, longest first. They sum to the kernel total. Work without
    a layer, such as work of the model's root module itself, has the row `(unattributed)`. Work
    launched before the trace began has the row `(pre-window)`. The step is None outside of steps.

    - A kernel belongs to the innermost module around its launch. In the backward pass, it belongs
      to the module of the forward op that made the autograd node.
    - A kernel of a compiled graph is split among the modules in its recorded provenance, by the
      bytes that each module writes. estimate_ns is the time by this split; low_ns and high_ns
      bound the time by any other split.
    - A kernel of a replayed CUDA graph belongs to the module that launched the kernel when the
      graph was captured, if `trace` or `base` recorded this launch. If not, replayed kernels are
      aligned by name with the kernels of `base`, a run without graphs. If fewer than half of the
      kernels can be aligned, all replayed kernels are unattributed.

    Raises MissingTableError without kernels.
    """
    if not trace.has("kernels") and process_ranks(trace):
        raise MissingTableError(
            "layer_attribution needs kernels, and nothing ran on a device here; layer_host_time has"
            " what each layer costs on the host"
        )
    trace.require("layer_attribution", "kernels")
    if by_step:
        return attribute_kernels(trace, base=base, by_step=True)
    return _with_rests(attribute_kernels(trace, base=base))


def _with_rests(frame: pl.DataFrame) -> pl.DataFrame:
    """Add rows for unattributed and pre-window work on ranks that have none."""
    rests = frame.select(pl.col("rank").unique()).join(pl.DataFrame({"layer": _RESTS}), how="cross")
    absent = rests.join(frame, on=["rank", "layer"], how="anti").with_columns(
        evidence=pl.lit("no kernel")
    )
    numbers = {
        name: dtype for name, dtype in frame.schema.items() if dtype.is_numeric() and name != "rank"
    }
    zeros = [pl.lit(0, dtype).alias(name) for name, dtype in numbers.items()]
    both = pl.concat([frame, absent.with_columns(zeros)], how="diagonal")
    order = ["rank", "duration_total_ns", "layer", "phase"]
    return LAYER_ATTRIBUTION.conform(
        both.sort(order, descending=[False, True, False, False], maintain_order=True)
    )


def notes(trace: Trace, frame: pl.DataFrame, base: Trace | None = None) -> list[str]:
    """Give the attributed share of kernel time, its evidence, and a way to attribute the rest."""
    sentences = []
    for (rank,), rows in frame.group_by("rank", maintain_order=True):
        primitives = trace.select("kernels", "rank", "primitive").filter(rank=rank)["primitive"]
        sentences += [f"Rank {rank}: {text}" for text in _describe_rank(rows, primitives)]
    sentences += _describe_replays(trace, frame, base)
    by_base = frame["evidence"].is_in((BASE_EVIDENCE, CAPTURE_EVIDENCE)).any()
    is_known = (~frame["layer"].str.starts_with("(")).any() or by_base
    if not is_known and not trace.has("layers") and not trace.has("provenance"):
        sentences.append(
            "The trace has no module calls, so layers are unknown; profile with with_stack=True,"
            " with_modules=True."
        )
    return sentences


def _describe_rank(rows: pl.DataFrame, primitives: pl.Series) -> Iterator[str]:
    """Describe the attribution of a rank, from its rows and the primitives of its kernels."""
    lost = rows.filter(pl.col("layer").is_in(_RESTS))["share_frac"].sum()
    layout = (rows["layout_frac"] * rows["share_frac"]).sum()
    n_layout = (primitives == "layout").sum()
    yield (
        f"{1 - lost:.1%} of kernel time belongs to a layer, or to a row such as (optimizer);"
        f" {layout:.1%} is layout transforms ({n_layout:,} of {len(primitives):,} kernels)."
    )
    in_range = rows.filter(evidence=RANGE_EVIDENCE)["share_frac"].sum()
    if in_range:
        yield (
            f"{in_range:.1%} was {RANGE_EVIDENCE}: it is the backward pass, which autograd runs on"
            " threads of its own."
        )
    root_only = int(rows["root_only_ns"].sum())
    if root_only:
        share = root_only / max(int(rows["duration_total_ns"].sum()), 1)
        yield (
            f"{duration(root_only)} of {UNATTRIBUTED}, {share:.1%} of kernel time, ran in the root"
            " module or a wrapper around it (torch.compile, DistributedDataParallel) and in no"
            " layer within: operations of the model itself, or a compiled model, which calls no"
            " layers; collect torch --compile-provenance tells whose kernels those are."
        )
    split = rows.filter(pl.col("low_ns") < pl.col("high_ns"))
    if split.height:
        yield (
            f"{split.height} rows hold parts of fused kernels, split by the bytes that each"
            " module's operators write; low and high are the results of other splits."
        )


def _describe_replays(trace: Trace, frame: pl.DataFrame, base: Trace | None) -> list[str]:
    """Name the evidence for the layers of replayed CUDA graphs, or a capture that would give it."""
    if not has_replays(trace):
        return []
    ns, sentences = pl.col("duration_total_ns"), []
    shares = {
        evidence: (
            frame.select(ns.filter(pl.col("evidence") == evidence).sum() / ns.sum().clip(1)).item()
        )
        for evidence in (CAPTURE_EVIDENCE, BASE_EVIDENCE)
    }
    if shares[CAPTURE_EVIDENCE]:
        sentences.append(
            f"Layers that have {shares[CAPTURE_EVIDENCE]:.1%} of kernel time are known from the"
            " launches recorded while CUDA graphs were captured: in order they stand for the"
            " kernels of a replay."
        )
    if shares[BASE_EVIDENCE]:
        sentences.append(
            f"Layers that have {shares[BASE_EVIDENCE]:.1%} of kernel time are known from the other"
            " trace alone: its kernels ran without CUDA graphs in the same order as they are"
            " replayed here. That holds if it ran the same program."
        )
    if frame["evidence"].str.starts_with("compile provenance").any() and not sentences:
        sentences.append(
            "Kernels of replayed CUDA graphs are placed by the order in which the compiled graph"
            " calls them."
        )
    if frame.filter(evidence="graph node").height and not sentences:
        sentences.append(
            "Replayed kernels are placed by where the nodes of their CUDA graphs were made."
        )
    sentences += [
        f"A CUDA graph that was captured is not the one replayed: {why}."
        for why in _refusals(trace, base)
    ]
    unknown = (
        "Kernels were replayed from CUDA graphs, and nothing shows to which layers they belong:"
        " report against a trace of the same program without graphs, or of its graphs' capture"
        " (--against), which places them by their order."
    )
    if base is not None:
        unknown += (
            " The other trace is of the same graphs and names no layers: record it with modules."
            if _is_captured(trace, base)
            else " The other trace does not help: it ran another program or another batch size."
        )
    return sentences or [unknown]


def _is_captured(trace: Trace, base: Trace) -> bool:
    """Return whether the trace replays graphs that the base captured."""
    captured = captured_graphs(base)
    return captured is not None and bool(captured.pairs(trace).height)


def _refusals(trace: Trace, base: Trace | None) -> list[str]:
    reasons = set()
    for side in (trace, base):
        captured = captured_graphs(side) if side is not None else None
        if captured is not None:
            captured.pairs(trace)
            reasons |= captured.refused
    return sorted(reasons)


def _charts(frame: pl.DataFrame) -> list[Chart]:
    charts: list[Chart] = []
    for what in ("primitive", "library"):
        columns = [c for c in frame.columns if c.startswith(f"{what}_") and c.endswith("_ns")]
        parts = {column: column.removeprefix(f"{what}_").removesuffix("_ns") for column in columns}
        charts.append(
            SplitBars(f"GPU time of each layer by {what}", frame, named(frame, "layer"), parts)
        )
    return charts


ANALYSIS = Analysis(
    "What does each layer cost on the GPU?",
    LAYER_ATTRIBUTION,
    layer_attribution,
    notes=notes,
    shown=(
        "rank",
        "layer",
        "class_name",
        "phase",
        "duration_total_ns",
        "share_frac",
        "layout_frac",
        "n_kernels",
        "low_ns",
        "high_ns",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
