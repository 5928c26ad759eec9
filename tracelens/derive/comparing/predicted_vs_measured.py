"""Compare the measured time of a compile plan with the same model without the plan."""

from typing import Any

import polars as pl

from tracelens.derive.columns.time_text import duration
from tracelens.derive.comparing.expressions import parse
from tracelens.derive.comparing.gate import evaluate
from tracelens.derive.comparing.significance import judge
from tracelens.derive.layers.layer_times import DEVICES, EAGER
from tracelens.trace import Trace

PLANNED = "custom"
"""The configuration under which a plan's times are stored."""

_ALONE = (
    "A plan was measured and nothing to compare it with: measure the model without it on the same"
    " device too (tracelens collect timings --configuration interpreted, or cuda, --method e2e"
    " --plan FILE)."
)


def planned_outcome(*traces: Trace) -> list[str]:
    """Return sentences on the speedup of the measured plan, an empty list without a plan.

    The plan is compared with the uncompiled model, and with the model compiled as a whole. If
    several traces have times of a configuration, the first trace is used.
    """
    pure: dict[str, pl.DataFrame] = {}
    for trace in reversed(traces):
        pure |= _unprofiled(trace)
    if PLANNED not in pure:
        return []
    measured = next(trace for trace in traces if PLANNED in _unprofiled(trace))
    kept = [source.get("settings", {}) for source in measured.manifest.sources]
    about: dict[str, Any] = next(
        (settings for settings in kept if PLANNED in settings.get("devices", {})),
        {},
    )
    device = about.get("devices", {}).get(PLANNED)
    sentences = []
    for name in sorted(
        set(pure) - {PLANNED},
        key=lambda configuration: configuration not in EAGER,
    ):
        if device is None or DEVICES.get(name) == ("cpu" if device == "cpu" else "gpu"):
            predicted = about.get("plan", {}).get(
                f"predicted_speedup_over_{'base' if name in EAGER else 'other'}"
            )
            sentences.append(_beside(name, pure[name], pure[PLANNED], predicted))
    return sentences or [_ALONE]


def _unprofiled(trace: Trace) -> dict[str, pl.DataFrame]:
    """Return the unprofiled end-to-end times by configuration, as `judge` takes them.

    Columns: `plan` (the key, always 0), `run` (the number of the round), `value` (the time in ns).
    If a configuration was measured in several compile modes, the fastest mode counts.
    """
    rows = trace.timings.filter(
        pl.col("module_path").is_null() & (pl.col("method") == "e2e"),
        ~pl.col("is_warmup") & ~pl.col("profiled") & ~pl.col("synchronized"),
    )
    ways = rows.partition_by("configuration", "compile_mode", maintain_order=True)
    values = [
        (
            way["configuration"][0],
            way.select(plan=0, run="round", value="duration_ns"),
        )
        for way in ways
    ]
    values.sort(
        key=lambda pair: _median(pair[1]),
        reverse=True,
    )
    return {name: frame for name, frame in values if _median(frame) > 0}


def _median(values: pl.DataFrame) -> float:
    middle = values.select(pl.col("value").median())
    return float(middle.item())


def _beside(
    name: str,
    base: pl.DataFrame,
    plan: pl.DataFrame,
    predicted: float | None,
) -> str:
    row = judge(base, plan, ["plan"]).row(0, named=True)
    before, after, low, high = (row[key] for key in ("base_value", "other_value", "low", "high"))
    ends = [before + more for more in (high, low) if more is not None]
    ratios = [" to ".join(f"{before / end:.2f}" if end > 0 else "any" for end in ends)]
    ratios += [] if predicted is None else [f"predicted {predicted:.2f}"]
    brackets = f" ({'; '.join(filter(None, ratios))})" if any(ratios) else ""
    return (
        f"The measured plan ({PLANNED}) takes {duration(after)} end to end, {name}"
        f" {duration(before)}: a speedup of {before / after:.2f}{brackets},"
        f" {_outcome_text(row['outcome'], row['reason'])}."
    )


def _outcome_text(outcome: str, reason: str | None) -> str:
    """Return the meaning of an outcome as the end of a sentence, followed by the reason."""
    meaning = {
        "faster": "it helps",
        "slower": "it does harm",
        "unclear": "no difference can be told",
    }[outcome]
    return meaning if reason is None else f"{meaning}: {reason}"


def planned_steps(base: Trace, planned: Trace) -> str:
    """Return a sentence on whether steps with the plan are faster than steps of base.

    Raises SourceError if the traces are not of one program, or have no kernels.
    """
    (verdict,) = evaluate(base, planned, [parse("step_time > +100%")])
    if verdict.value is None:
        return f"A step of the plan cannot be compared with base: {verdict.reason}."
    spread = "" if verdict.interval is None else " ({:+.1%} to {:+.1%})".format(*verdict.interval)
    sentence = _outcome_text(
        verdict.outcome,
        verdict.reason if verdict.outcome == "unclear" else None,
    )
    return (
        "A step of the measured plan differs from one of base by"
        f" {verdict.value:+.1%}{spread}: {sentence}."
    )
