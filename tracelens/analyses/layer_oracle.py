"""Estimate the model's time with the better of eager and compiled for each layer."""

from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.layers.best_mixture import (
    TOTAL,
    best_of_two,
    by_operation,
    dynamic,
    operations,
    with_total,
)
from tracelens.derive.layers.compilation import EVIDENCE, compiled_sides, other_device
from tracelens.derive.layers.layer_times import (
    are_numbered,
    both_kernel_times,
    layer_pairs,
    region_cost,
)
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.errors import MissingTableError, UsageError
from tracelens.schemas.results.layers import CHOICES, LAYER_ORACLE
from tracelens.trace import Trace

_METHODS = ("kernels", "cuda_event", "layer", "subtraction", "profiler")
"""Ways of timing, the preferred one first."""
_WAY = ["method", "base_configuration", "other_configuration", "compile_mode"]


@pairs_ranks
def layer_oracle(
    base: Trace,
    other: Trace,
    *,
    switch_cost_ns: float | None = None,
    method: str | None = None,
    beyond_spread: bool = False,
) -> pl.DataFrame:
    """Choose the base or the other run for each layer: one row per rank, oracle and layer.

    An oracle is a rule for the choice: the faster run for each layer, the faster run for each
    operation, or the cheapest path if switching between runs costs time. Base is meant to be the
    eager run, and other the compiled one. Layers are in the order of first calls, after the row
    (total).

    - `switch_cost_ns`: cost of each switch between eager and compiled, also before the first layer
      and after the last layer, because the model's caller is eager. The default is half of the
      measured cost of calling a compiled region. If that was not measured, it is 0.
    - `method`: the timing method, as in compare_layers. The default is kernel times. If a run has
      no kernel times, the default is the first method that measured both runs.
    - `beyond_spread`: count a layer as equally fast in both runs if the ranges of its times overlap

    If only one run timed a layer, this run is chosen for the layer, and speedups leave out the
    layer. Raises MissingTableError if no layer is matched, UsageError for an unknown method or an
    invalid cost.
    """
    _check(method, switch_cost_ns)
    kernels = both_kernel_times(base, other)
    pairs = layer_pairs(base, other, kernels)
    way = _chosen_way(pairs, method)
    all_layers = _ordered(pairs, way, base, other)
    measured_ns = _measured_region(base, other, way.get("other_configuration")) or 0.0
    change_ns = measured_ns / 2 if switch_cost_ns is None else switch_cost_ns
    # Timed alone, each compiled layer is a region, whose call is part of its time.
    region_ns = measured_ns if way["method"] == "layer" else 0.0
    if beyond_spread:
        all_layers = _without_unclear(all_layers, region_ns)
    # The profiler's times sum the operations of each layer.
    profiled_layers = _ordered(pairs, way | {"method": "profiler"}, base, other)
    rows: list[dict[str, Any]] = []
    for rank in all_layers["rank"].unique().sort():
        layers = all_layers.filter(rank=rank).to_dicts()
        paths = {"best_of_two": best_of_two(layers)}
        if kernels is not None and way["method"] == "kernels":
            times = operations(kernels, rank)
            if beyond_spread:
                clear = {row["layer"] for row in layers if row["is_clear"]}
                times = {layer: of_layer for layer, of_layer in times.items() if layer in clear}
            paths["profile_timed"] = by_operation(layers, times)
        elif profiled_layers.height:
            paths["profile_timed"] = best_of_two(profiled_layers.filter(rank=rank).to_dicts())
        paths["dynamic"] = dynamic(layers, change_ns, region_ns)
        rows += [
            {"oracle": oracle, "rank": rank, "method": way["method"]} | row
            for oracle, path in paths.items()
            for row in with_total(path)
        ]
    frame = LAYER_ORACLE.conform(pl.DataFrame(rows, infer_schema_length=None))
    if compiled_sides(base, other, way) != (False, True):
        frame = frame.with_columns(pl.col("choice").replace({"eager": "base", "compiled": "other"}))
    return frame


def _check(method: str | None, switch_cost_ns: float | None) -> None:
    if method is not None and method not in _METHODS:
        raise UsageError(f"no method is called {method}; the methods are {', '.join(_METHODS)}")
    if switch_cost_ns is not None and not 0 <= switch_cost_ns < float("inf"):
        raise UsageError(
            f"switch_cost_ns is a number of nanoseconds from 0 on, found {switch_cost_ns}"
        )


def _without_unclear(layers: pl.DataFrame, region_ns: float) -> pl.DataFrame:
    """Make layers equally fast in both runs if the ranges of their times overlap."""
    is_clear = pl.col("is_clear").fill_null(value=True)
    unchanged_ns = pl.col("base_ns") + region_ns
    return layers.with_columns(other_ns=pl.when(is_clear).then("other_ns").otherwise(unchanged_ns))


def _chosen_way(pairs: pl.DataFrame, method: str | None) -> dict[str, Any]:
    """Return the first way of timing, in the order of _METHODS, that timed a layer in both traces.

    If `method` is given, return a way of timing by this method.
    """
    known_methods = [*_METHODS] if method is None else [method]
    if not pairs.is_empty():
        pairs = pairs.filter(
            pl.col("match") == "both",
            ~pl.col("layer").str.starts_with("("),
            pl.col("method").is_in(known_methods),
        )
    if pairs.is_empty():
        raise MissingTableError(
            f"layer_oracle needs layers with times{f' by {method}' if method else ''} in both"
            " traces, under the same paths, and none is matched; see compare_layers, and capture"
            " both runs with tracelens collect torch, or with tracelens collect timings"
        )
    ways = (
        pairs.select(c for c in [*_WAY] if c in pairs.columns)
        .unique(maintain_order=True)
        .to_dicts()
    )
    return min(
        ways,
        # A custom configuration comes last.
        key=lambda way: (_METHODS.index(way["method"]), way.get("other_configuration") == "custom"),
    )


def _timed_by(pairs: pl.DataFrame, way: dict[str, Any]) -> pl.DataFrame:
    return pairs.filter(pl.col(name).eq_missing(pl.lit(value)) for name, value in way.items())


def _ordered(
    pairs: pl.DataFrame,
    way: dict[str, Any],
    base: Trace,
    other: Trace,
) -> pl.DataFrame:
    """Return the layers that were timed in the given way, in the order of calls.

    Columns: rank, position, layer, class_name, base_ns, other_ns and is_clear. base_ns and other_ns
    sum all phases. `is_clear` is True if all times of one run are below all times of the other run.
    """
    calls = pl.concat(
        trace.layers.select("rank", "call_order", layer="module_path") for trace in (base, other)
    )
    calls = calls.unique(["rank", "layer"], keep="first", maintain_order=True)
    layers = _timed_by(pairs, way).filter(~pl.col("layer").str.starts_with("("))
    return (
        layers.group_by("rank", "layer", "class_name", maintain_order=True)
        .agg(
            _layer_ns("base"),
            _layer_ns("other"),
            is_clear=_is_clearly_faster("base", "other") | _is_clearly_faster("other", "base"),
        )
        .join(
            calls,
            on=["rank", "layer"],
            how="left",
            maintain_order="left",
        )
        .sort("rank", "call_order", "layer", nulls_last=True)
        .with_columns(position=pl.int_range(pl.len()).over("rank"))
        .drop("call_order")
    )


def _layer_ns(which: str) -> pl.Expr:
    """Return the layer's time in all phases, at least 0; None if the run did not time it."""
    time = pl.col(f"{which}_estimate_ns")
    return pl.when(time.count() > 0).then(time.sum().clip(0)).alias(f"{which}_ns")


def _is_clearly_faster(faster: str, slower: str) -> pl.Expr:
    """Return whether the highest time of one run is below the lowest of the other run.

    The result is None if a run has no range of times.
    """
    most, least = pl.col(f"{faster}_high_ns"), pl.col(f"{slower}_low_ns")
    return pl.when((most.count() > 0) & (least.count() > 0)).then(most.sum() < least.sum())


def _measured_region(base: Trace, other: Trace, configuration: str | None) -> float | None:
    """Return the cost of calling a compiled region in ns; None if it was not measured."""
    cost = region_cost(other, configuration)
    return region_cost(base, configuration) if cost is None else cost


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the gain of each oracle, and the assumptions of the estimate."""
    sentences = []
    several = frame["rank"].n_unique() > 1
    for row in frame.filter(pl.col("layer") == TOTAL).iter_rows(named=True):
        path = frame.filter(rank=row["rank"], oracle=row["oracle"]).filter(pl.col("layer") != TOTAL)
        counts = dict(path.group_by("choice").len().iter_rows())
        chosen = ", ".join(
            f"{counts[choice]:,} {'new' if choice == 'other' else choice}"
            for choice in CHOICES
            if choice in counts
        )
        if row["speedup_over_best"] is None:
            continue
        where = f"Rank {row['rank']}, " if several else ""
        sentences.append(
            f"{where}{row['oracle']}: {chosen}; {duration(row['chosen_ns'] + row['switch_ns'])},"
            f" {row['speedup_over_base']:.3f} times as fast as base,"
            f" {row['speedup_over_other']:.3f} times as fast as new (in theory)."
        )
    sentences += _caveats(base, other, frame)
    forced = frame.filter(
        pl.col("oracle") == frame["oracle"][0],
        pl.col("is_forced"),
    ).height
    if forced:
        sentences.append(
            f"{forced:,} layers have a time in one run only; they stay as they are there, and count"
            " in no speedup."
        )
    if "profile_timed" not in frame["oracle"].to_list():
        sentences.append(
            "There is no profile-timed oracle: measure with the method profiler as well."
        )
    if are_numbered(frame.filter(pl.col("layer") != TOTAL)):
        sentences.append(
            "Layers are named as the trace numbers them, so no plan made of this can be applied;"
            " capture both runs with tracelens collect torch."
        )
    return sentences


def _caveats(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Warn if devices differ, or if the runs may not be eager and compiled.

    Also give the assumed cost of a switch between eager and compiled.
    """
    caveats = []
    devices = other_device(base, other)
    if devices is not None:
        caveats.append(f"{devices[0].upper()}{devices[1:]}.")
    if frame["choice"].is_in(["base", "other"]).any():
        caveats.append(
            f"Nothing shows that base ran eager and new compiled ({EVIDENCE}, in new alone, would),"
            " so they are called base and new, and no plan can be made of them."
        )
        return caveats
    region = _measured_region(base, other, None)
    caveats.append(
        "What a change between eager and compiled costs was not measured, so the oracle dynamic"
        " counts 0 for it; give switch_cost_ns, or measure it with tracelens collect timings."
        if region is None
        else (
            f"Calling a compiled region was measured to cost {duration(region)}; each change"
            " counts half of that in the oracle dynamic, unless switch_cost_ns is given."
        )
    )
    return caveats


def _charts(frame: pl.DataFrame) -> list[Chart]:
    totals = frame.filter(pl.col("position").is_null())
    parts = {
        "base_ns": "base",
        "other_ns": "new",
        "chosen_ns": "chosen",
        "switch_ns": "changes",
    }
    names = named(totals, "oracle")
    return [
        SplitBars(
            "Time of the layers by oracle", totals, names, parts, stacked=False, in_order=True
        )
    ]


ANALYSIS = Analysis(
    "How fast could the model be, with each layer eager or compiled?",
    LAYER_ORACLE,
    layer_oracle,
    notes=notes,
    shown=(
        "rank",
        "oracle",
        "position",
        "layer",
        "choice",
        "base_ns",
        "other_ns",
        "chosen_ns",
        "switch_ns",
        "cumulative_ns",
        "speedup_over_base",
        "speedup_over_other",
        "speedup_over_best",
    ),
    charts=_charts,
    of_one_program=True,
)
