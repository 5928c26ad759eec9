"""Compare each way of timing the model with the run that times only the whole model."""

from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, named
from tracelens.derive.columns.ratios import over
from tracelens.derive.comparing.predicted_vs_measured import planned_outcome
from tracelens.schemas.results.layers import TIMING_METHODS
from tracelens.trace import Trace

_CONFIGURATION = ("rank", "configuration", "compile_mode")
_GROUP = (*_CONFIGURATION, "variant", "quantity", "profiled", "synchronized")
_CONFIGURATIONS = ("interpreted", "cpp", "cuda", "triton", "custom")
_PLAIN, _WAITING = {"e2e": "pure", "layer": "timed"}, {"e2e": "sync", "layer": "timed-sync"}
_VARIANT_OF = {"cuda_event": "events", "subtraction": "subtraction", "profiler": "profiler"}
"""The variant of timing of each method.

The methods e2e and layer have two variants each: one that waits for the device around each layer
(_WAITING), and one that does not (_PLAIN).
"""
_VARIANTS = ("pure", "sync", "timed", "timed-sync", "events", "subtraction", "profiler")
_QUANTITIES = ("wall", "cuda_event", "arr_sum", "CPU_self", "CUDA_self", "CUDA_total")


def timing_methods(trace: Trace) -> pl.DataFrame:
    """Compare timings: one row per configuration, way of timing and quantity.

    A row has the median time of an execution. `cost_ratio` divides this median by the median of the
    unprofiled run that times only the whole model. Profiled rows follow unprofiled ones. Raises
    MissingTableError without timings.
    """
    trace.require("timing_methods", "timings")
    is_warmup = pl.col("is_warmup")
    ns, warmup_ns = (
        pl.col("duration_ns").filter(~is_warmup),
        pl.col("duration_ns").filter(is_warmup),
    )
    sums = (
        _of_whole_model(trace)
        .group_by(_GROUP, maintain_order=True)
        .agg(
            n_rounds=pl.col("round").filter(~is_warmup).n_unique().cast(pl.Int64),
            n_executions=(~is_warmup).sum().cast(pl.Int64),
            median_ns=ns.median(),
            low_ns=ns.quantile(0.25, "linear"),
            high_ns=ns.quantile(0.75, "linear"),
            first_ns=warmup_ns.sort_by(pl.col("round").filter(is_warmup)).first(),
        )
    )
    measured = sums.filter(pl.col("n_executions") > 0)
    is_pure = pl.col("variant") == "pure"
    is_wall = pl.col("quantity") == "wall"
    pure = measured.filter(is_pure, is_wall, ~pl.col("profiled"))
    pure_times = pure.select(*_CONFIGURATION, pure_ns="median_ns")
    rows = measured.join(
        pure_times, on=_CONFIGURATION, how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(cost_ratio=over(pl.col("median_ns"), pl.col("pure_ns")))
    configuration, *others = (
        pl.col(name).cast(pl.Enum([*words, "unknown"])) for name, words in _ORDERS.items()
    )
    return TIMING_METHODS.conform(
        rows.sort("rank", configuration, "compile_mode", "profiled", *others, "synchronized")
    )


def _of_whole_model(trace: Trace) -> pl.DataFrame:
    """Return the timings of the whole model, each with its variant of timing and its quantity."""
    method = pl.col("method")
    plain = method.replace_strict(_VARIANT_OF | _PLAIN, default="unknown")
    waiting = method.replace_strict(_VARIANT_OF | _WAITING, default="unknown")
    is_device_clock = pl.col("clock") == "cuda_event"
    clock = pl.when(is_device_clock).then(pl.lit("cuda_event")).otherwise(pl.lit("wall"))
    whole = trace.timings.filter(pl.col("module_path").is_null())
    return whole.with_columns(
        variant=pl.when("synchronized").then(waiting).otherwise(plain),
        # A timing without a quantity has the quantity of its clock.
        quantity=pl.coalesce("quantity", clock),
    )


_ORDERS = {"configuration": _CONFIGURATIONS, "variant": _VARIANTS, "quantity": _QUANTITIES}


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the gain of a measured plan, the cost of measuring, and the layers' share of a run."""
    outcome = planned_outcome(trace)
    for key, part in frame.group_by(_CONFIGURATION, maintain_order=True):
        name = str(key[1]) + (f" ({key[2]})" if key[2] else "")
        costs = {
            words: _cost(part, variant, profiled)
            for words, variant, profiled in (
                ("waiting for the device around each layer", "sync", False),
                ("timers", "timed", False),
                ("both", "timed-sync", False),
                ("the profiler alone", "pure", True),
                ("all three", "timed-sync", True),
            )
        }
        known = {words: row for words, row in costs.items() if row is not None}
        # Measuring cannot make a run faster. If a run is faster by more than the spread, something
        # else differs.
        strange = {words for words, row in known.items() if row["high_ns"] < row["pure_low_ns"]}
        ratios = [
            f"{words} {row['cost_ratio']:.2f}"
            for words, row in known.items()
            if words not in strange
        ]
        if ratios:
            outcome.append(
                f"{name}: time of a run, as a multiple of the pure one, by what measured it:"
                f" {', '.join(ratios)}."
            )
        outcome += [
            f"{name}: with {words} a run took {known[words]['cost_ratio']:.2f} of the pure"
            " run's time: less, by more than the spread of both. Measuring makes nothing faster, so"
            " these runs are not comparable (another warm-up, clock rate or load of the machine, or"
            " compiled again): measure again."
            for words in known
            if words in strange
        ]
        explained = part.filter(quantity="arr_sum", profiled=False, variant="timed-sync")[
            "cost_ratio"
        ].drop_nulls()
        if explained.len():
            outcome.append(
                f"{name}: the layers' synchronised timers sum to {explained[0]:.2f} of the pure run"
                " (arr_sum)."
            )
    if frame["configuration"].is_in(["cpp", "triton"]).any():
        outcome.append(
            "Layers of compiled configurations are timed each as a compiled region of its own:"
            " their sum lacks what fusing across layers saves, and has what calling each region"
            " costs."
        )
    return outcome


def _cost(part: pl.DataFrame, variant: str, profiled: bool) -> dict[str, Any] | None:
    """Return the wall-clock row of a variant, extended by the key `pure_low_ns`.

    `pure_low_ns` is the lower quartile of the times of the variant "pure". Return None if one of
    the two variants was not measured.
    """
    rows = part.filter(variant=variant, profiled=profiled, quantity="wall").drop_nulls("cost_ratio")
    pure = part.filter(variant="pure", profiled=False, quantity="wall")
    return rows.row(0, named=True) | {"pure_low_ns": pure["low_ns"][0]} if rows.height else None


def _charts(frame: pl.DataFrame) -> list[Chart]:
    on = pl.when(pl.col("profiled")).then(pl.lit("profiled")).otherwise(pl.lit("not profiled"))
    frame = frame.with_columns(profiler=on)
    names = named(frame, "configuration", "compile_mode", "variant", "quantity", "profiler")
    return [Bars("Time by each way of measuring", frame, names, "median_ns", "variant")]


ANALYSIS = Analysis(
    "What does measuring cost?",
    TIMING_METHODS,
    timing_methods,
    notes=notes,
    shown=(
        "rank",
        "configuration",
        "compile_mode",
        "variant",
        "quantity",
        "profiled",
        "synchronized",
        "median_ns",
        "cost_ratio",
        "low_ns",
        "high_ns",
        "n_rounds",
        "n_executions",
        "first_ns",
    ),
    charts=_charts,
)
