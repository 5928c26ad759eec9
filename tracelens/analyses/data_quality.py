"""Checks of how far a trace can be trusted."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import by_value
from tracelens.schemas.results.time import DATA_QUALITY
from tracelens.trace import Trace

_FEW = 0.01
_MUCH = 0.10


def data_quality(trace: Trace) -> pl.DataFrame:
    """A row a check and rank, the worst first within the rank; diagnostics of collecting are included."""
    tables = _sums(trace)
    rows = [
        row
        for rank in trace.manifest.ranks
        for row in _checks(trace, rank, {name: sums.filter(pl.col("rank") == rank) for name, sums in tables.items()})
    ]
    recorded = trace.diagnostics.select(
        "rank",
        check="code",
        status="severity",
        value=pl.col("count").cast(pl.Float64),
        unit=pl.lit("events"),
        text="text",
    )
    frame = pl.concat([DATA_QUALITY.conform(pl.DataFrame(rows)), DATA_QUALITY.conform(recorded)])
    order = pl.col("status").replace_strict(
        {"error": 0, "loss": 1, "warning": 2, "info": 3, "ok": 4}, default=5, return_dtype=pl.Int32
    )
    return frame.sort("rank", order, "check")


def _sums(trace: Trace) -> dict[str, pl.DataFrame]:
    """Sums that the checks of each rank need: kernels by link and primitive, kernels by step, and spans."""
    ns = pl.col("duration_ns")
    kernels = trace.select("kernels", "rank", "link", "primitive", "step", "duration_ns")
    n_zero = (ns == 0).sum().cast(pl.Int64).alias("n_zero")
    by_kind = kernels.lazy().group_by("rank", "link", "primitive").agg(ns.sum(), n_zero)
    by_step = kernels.lazy().group_by("rank", "step").agg(ns.sum())
    return {"kernels": by_kind.collect(), "steps": by_step.collect(), "spans": _host(trace)}


def _host(trace: Trace) -> pl.DataFrame:
    """For each rank with spans: the first start, the last end, the time of overhead, and whether kinds are present."""
    spans = trace.select("spans", "rank", "kind", "start_ns", "duration_ns")
    kind = pl.col("kind")
    measures = {
        "first": pl.col("start_ns").min(),
        "last": END.max(),
        "duration_ns": pl.col("duration_ns").filter(kind == "overhead").sum(),
        "module": (kind == "module").any(),
        "python": (kind == "python").any(),
    }
    found = [part.select(pl.col("rank").first(), **measures) for _, part in by_value(spans, "rank")]
    return pl.concat(found) if found else spans.select("rank")


def _row(rank: int, check: str, status: str, measure: tuple[float | None, str | None], text: str) -> dict[str, object]:
    return {"rank": rank, "check": check, "status": status, "value": measure[0], "unit": measure[1], "text": text}


def _checks(trace: Trace, rank: int, sums: dict[str, pl.DataFrame]) -> Iterator[dict[str, object]]:
    own = [
        source["complete"] for source in trace.manifest.sources if source.get("rank") == rank and "complete" in source
    ]
    complete = all(own) if own else trace.manifest.complete
    yield _row(
        rank,
        "complete",
        "ok" if complete else "loss",
        (None, None),
        "every source of the rank was read to its end"
        if complete
        else "a source ends before its end; totals are too low",
    )
    precision = trace.manifest.time_precision_ns
    yield _row(
        rank,
        "time_precision",
        "ok" if precision == 1 else "warning",
        (float(precision), "ns"),
        "times are exact nanoseconds" if precision == 1 else "times are whole microseconds: short events round to zero",
    )
    if sums["kernels"].height:
        yield from _kernel_checks(rank, sums["kernels"], sums["steps"].drop_nulls("step").sort("step"))
        yield from _device_check(trace, rank)
    if sums["spans"].height:
        shapes = trace.select("spans", "input_shapes", where=pl.col("rank") == rank)
        has_shapes = shapes["input_shapes"].count() > 0
        yield from _span_checks(rank, sums["spans"].row(0, named=True), has_shapes=has_shapes)


def _kernel_checks(rank: int, kernels: pl.DataFrame, steps: pl.DataFrame) -> Iterator[dict[str, object]]:
    total = max(int(kernels["duration_ns"].sum()), 1)
    texts = {
        "pre_window": "kernel time launched before the trace began; it has no op, layer or step",
        "unlinked": "kernel time whose launching call is missing; it has no op, layer or step",
    }
    for link, text in texts.items():
        share = float(kernels.filter(pl.col("link") == link)["duration_ns"].sum()) / total
        yield _row(rank, f"{link}_kernels", _graded(share), (share, "1"), text)
    nameless = float(kernels.filter(pl.col("primitive") == "unknown")["duration_ns"].sum()) / total
    yield _row(rank, "unknown_primitive", _graded(nameless), (nameless, "1"), "kernel time whose primitive is unknown")
    zero = int(kernels["n_zero"].sum())
    yield _row(
        rank, "zero_durations", "warning" if zero else "ok", (float(zero), "kernels"), "kernels that took no time"
    )
    n_steps = steps.height
    text = "steps marked" if n_steps else "no steps marked: call prof.step(), or name NVTX ranges `step N`"
    yield _row(rank, "steps", "ok" if n_steps else "info", (float(n_steps), "steps"), text)
    if n_steps > 1:
        yield from _first_step(rank, steps["duration_ns"])


def _first_step(rank: int, per_step: pl.Series) -> Iterator[dict[str, object]]:
    """Compares the first step with the others; warm-up makes it longer."""
    rest = per_step[1:].median()
    ratio = per_step[0] / rest if isinstance(rest, float) and rest else 1.0
    status = "warning" if abs(ratio - 1) > _MUCH else "ok"
    text = "kernel time of the first step over the median of the others; far from 1 it is still warming up"
    yield _row(rank, "first_step", status, (ratio, "1"), text)


def _device_check(trace: Trace, rank: int) -> Iterator[dict[str, object]]:
    ruled = trace.devices.filter((pl.col("rank") == rank) & pl.col("compute_capability").is_not_null())
    text = "the device's limits are known" if ruled.height else "no device with a CUDA compute capability: no occupancy"
    yield _row(rank, "device_limits", "ok" if ruled.height else "warning", (None, None), text)


def _span_checks(rank: int, spans: dict[str, Any], *, has_shapes: bool) -> Iterator[dict[str, object]]:
    has = {
        "shapes": (has_shapes, "input shapes", "record_shapes=True"),
        "modules": (spans["module"], "module calls", "with_stack=True, with_modules=True"),
    }
    for check, (there, what, option) in has.items():
        text = f"{what} were recorded" if there else f"{what} were not recorded; profile with {option}"
        yield _row(rank, check, "ok" if there else "info", (None, None), text)
    if spans["last"] > spans["first"]:
        share = spans["duration_ns"] / (spans["last"] - spans["first"])
        yield _row(
            rank, "profiler_overhead", _graded(share), (share, "1"), "host time the profiler itself says it took"
        )
    if spans["python"]:
        text = (
            "Python calls were recorded, which slows the host by several times: read no end-to-end time from this trace"
        )
        yield _row(rank, "python_recording", "info", (None, None), text)


def _graded(share: float) -> str:
    if share <= _FEW:
        return "ok"
    return "info" if share <= _MUCH else "warning"


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """The number of checks that need attention."""
    bad = frame.filter(pl.col("status").is_in(["error", "loss", "warning"])).height
    return ["All checks are clean." if not bad else f"{bad} of {frame.height} checks need attention; they stand first."]


ANALYSIS = Analysis(
    "What can this trace be trusted for?",
    DATA_QUALITY,
    data_quality,
    notes=notes,
    shown=("rank", "status", "check", "value", "unit", "text"),
)
