"""The outcome of a measured compile plan: its end-to-end time beside that of the same model without it."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracelens.derive.layers.layer_times import DEVICES, EAGER
from tracelens.trace import Trace

PLANNED = "custom"
"""The configuration in which a plan is measured."""

_ALONE = (
    "A plan was measured and nothing to compare it with: measure the model without it on the same device too "
    "(tracelens collect timings --configuration interpreted, or cuda, --method e2e --plan FILE)."
)


def planned_outcome(*traces: Trace) -> list[str]:
    """A sentence each on what a measured plan gained over the uncompiled model and over the one compiled as a whole.

    Plan and model may have been measured in one trace or several, the first of which counts. Each gain is judged
    against the spread (quartiles) of both, and the first against the prediction, where the measurement recorded one.
    Empty where no plan was measured.
    """
    pure: dict[str, dict[str, Any]] = {}
    for trace in reversed(traces):
        pure |= _pure(trace)
    if PLANNED not in pure:
        return []
    about = _settings(next(trace for trace in traces if PLANNED in _pure(trace)))
    device = _kind_of_device(about)
    found = []
    for name in sorted(set(pure) - {PLANNED}, key=lambda one: one not in EAGER):
        if device is None or DEVICES.get(name) == device:
            predicted = about.get("plan", {}).get(f"predicted_speedup_over_{'base' if name in EAGER else 'other'}")
            found.append(_beside(name, pure[name], pure[PLANNED], predicted))
    return found or [_ALONE]


def _pure(trace: Trace) -> dict[str, dict[str, Any]]:
    """Median and quartiles of the unprofiled end-to-end time of each configuration, the fastest of its modes."""
    ns = pl.col("duration_ns")
    rows = trace.timings.filter(
        pl.col("module_path").is_null() & (pl.col("method") == "e2e"),
        ~pl.col("is_warmup") & ~pl.col("profiled") & ~pl.col("synchronized"),
    )
    each = rows.group_by("configuration", "compile_mode").agg(
        low=ns.quantile(0.25, "linear"), median=ns.median(), high=ns.quantile(0.75, "linear")
    )
    fastest = each.sort("median").unique("configuration", keep="first", maintain_order=True)
    return {row["configuration"]: row for row in fastest.iter_rows(named=True) if row["median"] > 0}


def _settings(trace: Trace) -> dict[str, Any]:
    """The settings that the measurement of the plan recorded."""
    kept = [source.get("settings", {}) for source in trace.manifest.sources]
    return next((about for about in kept if PLANNED in about.get("devices", {})), {})


def _kind_of_device(about: dict[str, Any]) -> str | None:
    """The kind of device that the plan ran on, cpu or gpu; null where it was not recorded."""
    device = about.get("devices", {}).get(PLANNED)
    return None if device is None else "cpu" if device == "cpu" else "gpu"


def _beside(name: str, base: dict[str, Any], plan: dict[str, Any], predicted: float | None) -> str:
    speedup = base["median"] / plan["median"]
    low, high = base["low"] / plan["high"], base["high"] / plan["low"]
    outcome = "it helps" if low > 1 else "it does harm" if high < 1 else "no difference beyond the spread"
    prediction = "" if predicted is None else f"; predicted {predicted:.2f}"
    return (
        f"The measured plan ({PLANNED}) takes {plan['median'] / 1e6:.3f} ms end to end, {name} "
        f"{base['median'] / 1e6:.3f} ms: a speedup of {speedup:.2f} ({low:.2f} to {high:.2f}{prediction}), {outcome}."
    )
