"""Compare layers by timers around each of them, in the thesis's four configurations."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from samples.thesis.figures import Run
from samples.thesis.layerwise import layers as by_kernels
from samples.thesis.there import NAMES

CONFIGURATIONS = {
    "interpreted": "CPU, interpreted",
    "cpp": "CPU, compiled to C++",
    "cuda": "CUDA",
    "triton": "Triton",
}
GPU = ("cuda", "triton")
N_PARTS = 3
"""Number of parts: the thesis compares the first third of ResNet's layers with the others."""
_INFIX = "_timings_"


def measured(run: Run) -> list[str]:
    """Return the models with layers that were measured in any configuration."""
    captured = {name.partition(_INFIX)[0] for name in run.captures if _INFIX in name}
    return [
        model for model in NAMES if model in captured and not layer_times(run, model).is_empty()
    ]


def layer_times(run: Run, model: str) -> pl.DataFrame:
    """List each configuration's layers in the order of calls: median and quartiles in ms.

    The times are of synchronised timers.
    """
    frames = []
    for name, trace in run.captures.items():
        if name.split(_INFIX)[0] != model or _INFIX not in name:
            continue
        order = trace.layers.select("module_path", "call_order")
        frames.append(
            trace.timings.filter(
                ~pl.col("is_warmup"),
                ~pl.col("profiled"),
                "synchronized",
                method="layer",
                clock="wall",
            )
            .group_by("configuration", "module_path")
            .agg(
                ms=pl.col("duration_ns").median() / 1e6,
                p25=pl.col("duration_ns").quantile(0.25, "linear") / 1e6,
                p75=pl.col("duration_ns").quantile(0.75, "linear") / 1e6,
            )
            .join(order, on="module_path")
        )
    if not frames:
        times = dict.fromkeys(("ms", "p25", "p75"), pl.Float64)
        return pl.DataFrame(
            schema={
                "configuration": pl.String,
                "module_path": pl.String,
                **times,
                "call_order": pl.Int64,
            }
        )
    return pl.concat(frames).sort("configuration", "call_order")


def sum_of(run: Run, model: str, configuration: str) -> tuple[float, float, float]:
    """Sum the layers' times in ms; returns quartile, median and quartile over the executions."""
    for name, trace in run.captures.items():
        if name.split(_INFIX)[0] == model and _INFIX in name:
            rows = trace.timings.filter(
                ~pl.col("is_warmup"),
                ~pl.col("profiled"),
                "synchronized",
                method="layer",
                clock="wall",
                quantity="arr_sum",
                configuration=configuration,
            )
            if rows.height:
                low, middle, high = (
                    rows["duration_ns"].quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75)
                )
                return low / 1e6, middle / 1e6, high / 1e6
    raise ValueError(f"the layers of {model} were not timed in {configuration}")


def layers(run: Run, model: str, pair: tuple[str, str]) -> pl.DataFrame:
    """Pair the layers of two configurations in the order of calls.

    Columns: `one`, `two` (ms), and `ratio` with its `low` and `high`.
    """
    frame = layer_times(run, model)
    first_name, second_name = pair
    first = frame.filter(configuration=first_name).rename({"ms": "one"})
    second = frame.filter(configuration=second_name).rename({"ms": "two"})
    both = first.join(
        second,
        on=["module_path", "call_order"],
        suffix="_two",
    ).sort("call_order")
    return both.with_columns(
        ratio=pl.col("one") / pl.col("two"),
        low=pl.col("p25") / pl.col("p75_two"),
        high=pl.col("p75") / pl.col("p25_two"),
    )


def sides(frame: pl.DataFrame) -> tuple[int, int]:
    """Count the layers that are surely faster, and surely slower, in the second configuration."""
    faster = frame.filter(pl.col("low") > 1)
    slower = frame.filter(pl.col("high") < 1)
    return faster.height, slower.height


def best_of_two(frame: pl.DataFrame) -> float:
    """Return the gain of choosing the faster configuration per layer over the faster whole."""
    best_layers = frame.select(ms=pl.min_horizontal("one", "two"))["ms"]
    best_whole = min(frame["one"].sum(), frame["two"].sum())
    return float(best_whole / best_layers.sum())


def by_parts(frame: pl.DataFrame) -> list[float]:
    """Return the first configuration's time over the second's in each third of the layers."""
    cuts = [frame.height * number // N_PARTS for number in range(N_PARTS + 1)]
    parts = [frame[begin:end] for begin, end in pairwise(cuts) if end > begin]
    return [float(part["one"].sum() / part["two"].sum()) for part in parts]


def kernels_by_parts(run: Run, model: str) -> list[float]:
    """Return eager over compiled kernel time in each third of the layers."""
    eager, _ = run.pair(model)
    order = eager.layers.select("call_order", layer="module_path")
    in_order = by_kernels(run, model).join(order, on="layer").sort("call_order")
    return by_parts(in_order.select(one="base_estimate_ns", two="other_estimate_ns"))
