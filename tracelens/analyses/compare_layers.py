"""Compare layers of an eager and a compiled run: times, speedup with its range, slower layers."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from tracelens.analyses.analysis import TOP, Analysis, Bars, Chart, Density, named
from tracelens.derive.columns.ratios import speedup
from tracelens.derive.columns.time_text import duration
from tracelens.derive.comparing.comparability import not_judged
from tracelens.derive.comparing.per_step import layer_values, of_runs
from tracelens.derive.comparing.rows import Comparison
from tracelens.derive.comparing.significance import DEFAULT, TICK_NS, Rules, judge
from tracelens.derive.layers.graph_replay import UNATTRIBUTED
from tracelens.derive.layers.layer_rules import PRE_WINDOW
from tracelens.derive.layers.layer_times import (
    are_numbered,
    both_kernel_times,
    executions,
    layer_pairs,
    measured_times,
    measured_ways,
)
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.errors import MissingTableError
from tracelens.schemas.results.common import SIDE_WORDS
from tracelens.schemas.results.layers import COMPARE_LAYERS
from tracelens.trace import Trace

_WAY = ("method", "base_configuration", "other_configuration", "compile_mode")
_KEY = ("rank", "layer", "phase")
_NONE = pl.lit(None, pl.String)
_BOUNDS = (("low", "high"), ("high", "low"))
_SPEEDUPS = ("speedup", "speedup_low", "speedup_high")
_NAMED_LOSERS = 3


@pairs_ranks
def compare_layers(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare layers: one row per layer, phase and way of timing.

    A way of timing is a timing method, such as profiler, with the configuration of each run, such
    as cuda and triton. Kernel times are per step, or for the whole trace if no step is marked.
    Measured times are per execution. Work outside of layers has no speedup. The outcome is unclear
    if it depends on how a fused kernel's time is split. Rows are sorted by way of timing, then by
    time in base, longest first. Layers that one run lacks come last.

    Raises MissingTableError unless both runs have kernels, or layers measured by the same method.
    """
    pairs = layer_pairs(base, other, both_kernel_times(base, other))
    if pairs.is_empty():
        raise MissingTableError(
            "compare_layers needs the table kernels, or timings of layers by the same method, in"
            " both traces; tracelens collect torch of a run on a GPU gives the first, tracelens"
            " collect timings the second"
        )
    declared = COMPARE_LAYERS.without(*_SPEEDUPS, "saved_ns", "outcome", "reason").conform(pairs)
    judged = pl.concat(_judge_layers(base, other, rules), how="diagonal")
    with_outcomes = declared.join(
        judged,
        on=[*_WAY, *_KEY],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    are_marked = all(map(_marks_steps, (base, other)))
    frame = _with_speedups(with_outcomes, are_marked=are_marked)
    order = pl.col("method").replace_strict(
        {"kernels": 0},
        default=1,
        return_dtype=pl.Int64,
    )
    return COMPARE_LAYERS.conform(frame).sort(
        order,
        *_WAY,
        pl.col("match") != "both",
        pl.coalesce("base_estimate_ns", "other_estimate_ns"),
        "rank",
        "layer",
        "phase",
        descending=[False] * 6 + [True] + [False] * 3,
    )


def _with_speedups(layers: pl.DataFrame, *, are_marked: bool) -> pl.DataFrame:
    """Add speedups with their ranges.

    A layer becomes unclear if the split of fused kernels decides its outcome. `are_marked` says
    that both runs mark steps.
    """
    estimate = speedup(pl.col("base_estimate_ns"), pl.col("other_estimate_ns"))
    low_split, high_split = (
        speedup(pl.col(f"base_{base_bound}_ns"), pl.col(f"other_{other_bound}_ns"))
        for base_bound, other_bound in _BOUNDS
    )
    value = pl.col("base_value")
    low, high = (speedup(value, value + pl.col(bound)) for _, bound in _BOUNDS)
    is_split = pl.col("method") == "kernels"
    # Times of whole traces are compared only if both ran the layer equally often.
    is_same_work = ~is_split | are_marked | (pl.col("n_base") == pl.col("n_other"))
    is_layer = ~pl.col("layer").is_in([PRE_WINDOW, UNATTRIBUTED])
    lowest = pl.when(is_split).then(pl.min_horizontal(low_split, low)).otherwise(low)
    highest = pl.when(is_split).then(pl.max_horizontal(high_split, high)).otherwise(high)
    outcome = pl.col("outcome")
    is_clear = pl.when(outcome == "faster").then(low_split > 1).otherwise(high_split < 1)
    is_judged = outcome.is_in(["faster", "slower"])
    is_unclear = is_judged & is_split & ~is_clear.fill_null(value=False)
    of_fused = pl.lit("within the split of fused kernels")
    return layers.with_columns(
        speedup=pl.when(is_layer & is_same_work).then(estimate),
        speedup_low=pl.when(is_layer).then(lowest),
        speedup_high=pl.when(is_layer).then(highest),
        saved_ns=pl.col("base_estimate_ns") - pl.col("other_estimate_ns"),
        outcome=pl.when(is_unclear).then(pl.lit("unclear")).otherwise("outcome"),
        reason=pl.when(is_unclear).then(of_fused).otherwise("reason"),
    )


def _judge_layers(base: Trace, other: Trace, rules: Rules) -> list[pl.DataFrame]:
    """Return each layer's outcome, see `judge`, in one frame per way of timing."""
    runs = (base, *rules.base_runs), (other, *rules.other_runs)
    refusal = not_judged(base, other, rules)
    judged_rows = []
    if base.has("kernels") and other.has("kernels"):
        frame = Comparison(_KEY, layer_values, TICK_NS).values(base, other, rules)
        judged_rows.append(
            frame.with_columns(
                method=pl.lit("kernels"),
                **dict.fromkeys(_WAY[1:], _NONE),
            )
        )
    for ways in measured_ways(measured_times(base), measured_times(other)):
        # A sample is a trace if there are several per side; with a single trace, it is a round.
        base_values, other_values = (
            (
                executions(side[0], way)
                if len(side) == 1
                else of_runs(side, partial(executions, way=way))
            )
            for side, way in zip(runs, ways, strict=True)
        )
        frame = judge(base_values, other_values, _KEY, rules, refusal=refusal)
        way = (
            ways[0].variant[0],
            ways[0].configuration,
            ways[1].configuration,
            ways[1].compile_mode,
        )
        judged_rows.append(
            frame.with_columns(
                pl.lit(word, pl.String).alias(name) for name, word in zip(_WAY, way, strict=True)
            )
        )
    return judged_rows


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Count faster and slower layers, and name the slowest and the unmatched ones."""
    sentences = []
    layers = frame.filter(~pl.col("layer").str.starts_with("("))
    for way, part in layers.group_by(_WAY, maintain_order=True):
        both = part.filter(pl.col("match") == "both")
        if both.is_empty():
            sentences.append(_unmatched(_name(way), part))
            continue
        slower = both.filter(pl.col("outcome") == "slower")
        base_ns, other_ns = (_sum(both, f"{side}_estimate_ns") for side in ("base", "other"))
        ratio = f", a speedup of {base_ns / other_ns:.2f}" if base_ns > 0 and other_ns > 0 else ""
        sentences.append(
            f"{_name(way)}: of {both.height:,} layers and phases in both,"
            f" {(both['outcome'] == 'faster').sum():,} are faster in new, {slower.height:,}"
            f" slower, {(both['outcome'] == 'unclear').sum():,} unclear; together"
            f" {duration(base_ns)} in base and {duration(other_ns)} in new{ratio}.{_losers(slower)}"
        )
        if part.height > both.height:
            sentences.append(
                f"{_name(way)}: {(part['match'] == 'only_base').sum():,} layers and phases are in"
                f" base only, {(part['match'] == 'only_other').sum():,} in new only: fused into"
                " others, optimised away, or not attributed."
            )
    return [*sentences, *_doubts(base, other, frame.filter(method="kernels"))]


def _doubts(base: Trace, other: Trace, kernel_times: pl.DataFrame) -> Iterator[str]:
    """Yield the shares of kernel time outside of layers, and the runs without marked steps."""
    if kernel_times.is_empty():
        return
    outside = kernel_times.filter(pl.col("layer").str.starts_with("("))
    for side, word in SIDE_WORDS.items():
        column = f"{side}_estimate_ns"
        share = _sum(outside, column) / (_sum(kernel_times, column) or 1.0)
        yield f"{share:.1%} of kernel time in {word} belongs to no layer."
    marks_steps = [_marks_steps(trace) for trace in (base, other)]
    if not all(marks_steps):
        where = "either trace" if not any(marks_steps) else "new" if marks_steps[0] else "base"
        yield (
            f"No step is marked in {where}, so the whole trace counts as one: there is a speedup"
            " only where both ran as many kernels."
        )


def _name(way: tuple[object, ...]) -> str:
    method, base, other, mode = way
    if method == "kernels":
        return "GPU time of kernels, a step"
    return f"Measured by {method}, {base} against {other}" + (f" ({mode})" if mode else "")


def _sum(frame: pl.DataFrame, column: str) -> float:
    return float(frame.select(pl.col(column).sum()).item())


def _losers(slower: pl.DataFrame) -> str:
    if slower.is_empty():
        return ""
    lost = -_sum(slower, "saved_ns")
    worst = (
        slower.sort("saved_ns", "layer").head(_NAMED_LOSERS).select("layer", "speedup").iter_rows()
    )
    named = ", ".join(
        layer if speedup is None else f"{layer} ({speedup:.2f})" for layer, speedup in worst
    )
    return f" The slower ones lose {duration(lost)}, most of all {named}."


def _unmatched(name: str, part: pl.DataFrame) -> str:
    sides = [part.filter(pl.col("match") == which) for which in ("only_base", "only_other")]
    if any(side.is_empty() for side in sides):
        which = "base" if sides[0].is_empty() else "new"
        return f"{name}: no layer of {which} is known, so none could be matched."
    numbered = [are_numbered(side) for side in sides]
    if numbered[0] != numbered[1]:
        kinds = [
            "as the trace numbers them" if is_numbered else "by attribute path"
            for is_numbered in numbered
        ]
        return (
            f"{name}: no layer matched: base names layers {kinds[0]} ({sides[0]['layer'][0]}),"
            f" new {kinds[1]} ({sides[1]['layer'][0]}); capture both with tracelens collect"
            " torch, which knows attribute paths."
        )
    return (
        f"{name}: no layer matched, as base has {sides[0]['layer'][0]} and other"
        f" {sides[1]['layer'][0]}."
    )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    both = frame.filter((pl.col("match") == "both") & ~pl.col("layer").str.starts_with("("))
    way = pl.concat_str(
        "method", "other_configuration", "compile_mode", separator=", ", ignore_nulls=True
    )
    both = both.with_columns(timed_by=way)
    names = named(both, "layer", "phase", "timed_by")
    largest = both.sort("base_estimate_ns", descending=True).head(TOP)
    worst = (
        both.filter(pl.col("outcome") == "slower")
        .sort("saved_ns")
        .head(TOP)
        .with_columns(-pl.col("saved_ns"))
    )
    title = "How the layers' speedups are distributed; right of 1, this trace is faster"
    return [
        Density(title, both, "speedup", "timed_by"),
        Bars("Speedup of the layers that take most time in base", largest, names, "speedup"),
        Bars("Time that layers lose in this trace", worst, names, "saved_ns"),
    ]


ANALYSIS = Analysis(
    "Which layers does the new run make faster, and which slower?",
    COMPARE_LAYERS,
    compare_layers,
    notes=notes,
    shown=(
        "rank",
        "layer",
        "class_name",
        "phase",
        "method",
        "other_configuration",
        "compile_mode",
        "base_estimate_ns",
        "other_estimate_ns",
        "speedup",
        "speedup_low",
        "speedup_high",
        "outcome",
        "match",
        "reason",
    ),
    charts=_charts,
    of_one_program=True,
)


def _marks_steps(trace: Trace) -> bool:
    return trace.select("kernels", "step")["step"].count() > 0
