"""Check how far a trace can be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl
from msgspec import Struct

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import by_value
from tracelens.schemas.results.calls import DATA_QUALITY
from tracelens.trace import Trace
from tracelens.trace.collector import why_no_shapes

_FEW = 0.01
_MUCH = 0.10


def data_quality(trace: Trace) -> pl.DataFrame:
    """Check the trace's data: one row per check and rank, the worst first within the rank.

    Diagnostics from collecting are included.
    """
    known = _read_facts(trace)
    rows = [(rank, *row) for rank in trace.manifest.ranks for row in _checks(trace, rank, known)]
    recorded = trace.diagnostics.select(
        "rank",
        check="code",
        status="severity",
        value=pl.col("count").cast(pl.Float64),
        unit=pl.lit("events"),
        text="text",
    )
    checked = pl.DataFrame(rows, schema=DATA_QUALITY.schema, orient="row")
    frame = pl.concat([checked, DATA_QUALITY.conform(recorded)])
    order = pl.col("status").replace_strict(
        {"error": 0, "loss": 1, "warning": 2, "info": 3, "ok": 4},
        default=5,
        return_dtype=pl.Int32,
    )
    return frame.sort("rank", order, "check")


class _Facts(Struct, frozen=True):
    """Holds the data that the checks read, by rank."""

    # Sums by link and primitive
    kernels: dict[int, pl.DataFrame]
    # Sums by step
    steps: dict[int, pl.DataFrame]
    # Sums over all spans
    spans: dict[int, dict[str, Any]]
    is_complete: dict[int, bool]
    # Ranks with recorded shapes
    with_shapes: set[int]
    # Ranks with known device limits
    with_limits: set[int]
    # Ranks whose profiler recorded some steps without Python calls
    with_light_window: set[int]


def _read_facts(trace: Trace) -> _Facts:
    """Read the data that the checks of all ranks need, each table once."""
    with_shapes = trace.select("spans", "rank", where=pl.col("input_shapes").is_not_null())
    with_limits = trace.devices.filter(pl.col("compute_capability").is_not_null())
    kernels = trace.select("kernels", "rank", "link", "primitive", "step", "duration_ns")
    return _Facts(
        kernels=dict(by_value(_sums_by_kind(kernels), "rank")),
        steps=dict(by_value(_sums_by_step(kernels), "rank")),
        spans=_sums_of_spans(trace),
        is_complete=_completeness(trace.manifest.sources),
        with_shapes={*with_shapes["rank"].unique()},
        with_limits={*with_limits["rank"]},
        with_light_window=_light_windows(trace.manifest.sources),
    )


def _sums_by_kind(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return kernel time and the number of kernels of 0 ns, by rank, `link` and primitive.

    `link` says whether a kernel's launch is known.
    """
    ns = pl.col("duration_ns")
    by_kind = kernels.lazy().group_by("rank", "link", "primitive")
    return by_kind.agg(ns.sum(), n_zero=(ns == 0).sum().cast(pl.Int64)).collect()


def _sums_by_step(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return kernel time by rank and step, in the order of steps."""
    by_step = kernels.lazy().drop_nulls("step").group_by("rank", "step")
    return by_step.agg(pl.col("duration_ns").sum()).sort("step").collect()


def _sums_of_spans(trace: Trace) -> dict[int, dict[str, Any]]:
    """Return sums over each rank's spans, by rank.

    They are the first start, the last end, the profiler's own time, and whether modules and Python
    calls were recorded.
    """
    kind = pl.col("kind")
    by_rank = trace.scan("spans").group_by("rank")
    sums = by_rank.agg(
        first=pl.col("start_ns").min(),
        last=END.max(),
        overhead_ns=pl.col("duration_ns").filter(kind == "overhead").sum(),
        module=(kind == "module").any(),
        python=(kind == "python").any(),
    )
    rows = sums.collect(engine="streaming").iter_rows(named=True)
    return {row["rank"]: row for row in rows}


def _completeness(sources: Sequence[Mapping[str, Any]]) -> dict[int, bool]:
    """Return whether all sources of a rank were read to their ends, by rank."""
    is_complete: dict[int, bool] = {}
    for source in sources:
        rank = source.get("rank")
        if rank is not None and "complete" in source:
            is_complete[rank] = is_complete.get(rank, True) and source["complete"]
    return is_complete


def _light_windows(sources: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the ranks whose profiler recorded some steps without Python calls."""
    ranks = set()
    for source in sources:
        settings, rank = source.get("settings"), source.get("rank")
        if rank is not None and isinstance(settings, dict) and settings.get("light_window"):
            ranks.add(rank)
    return ranks


_Check: TypeAlias = tuple[str, str, float | None, str | None, str]
"""A check's row without the rank: check, status, value, unit, text."""


def _checks(trace: Trace, rank: int, known: _Facts) -> Iterator[_Check]:
    if known.is_complete.get(rank, trace.manifest.complete):
        yield "complete", "ok", None, None, "every source of the rank was read to its end"
    else:
        yield "complete", "loss", None, None, "a source is cut off; totals are too low"
    precision = trace.manifest.time_precision_ns
    text = (
        "times are exact nanoseconds"
        if precision == 1
        else "times are whole microseconds: short events round to zero"
    )
    yield "time_precision", "ok" if precision == 1 else "warning", float(precision), "ns", text
    if rank in known.kernels:
        yield from _kernel_checks(
            known.kernels[rank],
            known.steps.get(rank),
            trace.manifest.empty_tables.get("steps"),
        )
        has_limits = rank in known.with_limits
        text = (
            "the device's limits are known"
            if has_limits
            else "no device with a CUDA compute capability: no occupancy"
        )
        yield "device_limits", "ok" if has_limits else "warning", None, None, text
    if rank in known.spans:
        shapes = None if rank in known.with_shapes else _why_no_shapes(trace, rank)
        modules = trace.manifest.empty_tables.get("layers", "only other ranks have module calls")
        spans = known.spans[rank]
        if rank in known.with_light_window:
            spans = spans | {"python": False}
        yield from _span_checks(spans, shapes, modules)


def _why_no_shapes(trace: Trace, rank: int) -> str:
    """Say why the rank's ops have no shapes."""
    sources = trace.manifest.sources
    return why_no_shapes([source["kind"] for source in sources if source.get("rank") == rank])


def _kernel_checks(
    kernels: pl.DataFrame,
    steps: pl.DataFrame | None,
    no_steps: str | None,
) -> Iterator[_Check]:
    ns = pl.col("duration_ns")
    total = max(int(kernels["duration_ns"].sum()), 1)
    shares = {
        "pre_window_kernels": (
            pl.col("link") == "pre_window",
            "kernel time launched before the trace began; it has no op, layer or step",
        ),
        "unlinked_kernels": (
            pl.col("link") == "unlinked",
            "kernel time whose launching call is missing; it has no op, layer or step",
        ),
        "unknown_primitive": (
            pl.col("primitive") == "unknown",
            "kernel time whose primitive is unknown",
        ),
    }
    for check, (which, text) in shares.items():
        share = float(kernels.select(ns.filter(which).sum()).item()) / total
        yield check, _graded(share), share, "1", text
    zero = int(kernels["n_zero"].sum())
    yield (
        "zero_durations",
        "warning" if zero else "ok",
        float(zero),
        "kernels",
        "kernels that took no time",
    )
    n_steps = 0 if steps is None else steps.height
    text = "steps marked" if n_steps else no_steps or "no kernel belongs to a marked step"
    yield "steps", "ok" if n_steps else "info", float(n_steps), "steps", text
    if steps is not None and n_steps > 1:
        rest = steps["duration_ns"][1:].median()
        ratio = steps["duration_ns"][0] / rest if isinstance(rest, float) and rest else 1.0
        text = (
            "kernel time of the first step over the median of the others; far from 100 %, it is"
            " still warming up"
        )
        yield "first_step", "warning" if abs(ratio - 1) > _MUCH else "ok", ratio, "1", text


def _span_checks(
    spans: dict[str, Any],
    no_shapes: str | None,
    no_modules: str,
) -> Iterator[_Check]:
    missing = {
        "shapes": ("input shapes", no_shapes),
        "modules": ("module calls", None if spans["module"] else no_modules),
    }
    for check, (what, reason) in missing.items():
        yield check, "info" if reason else "ok", None, None, reason or f"{what} were recorded"
    if spans["last"] > spans["first"]:
        share = spans["overhead_ns"] / (spans["last"] - spans["first"])
        yield (
            "profiler_overhead",
            _graded(share),
            share,
            "1",
            "share of host time that the profiler says it took itself",
        )
    if spans["python"]:
        text = "Python calls were recorded, which slows the host by several times"
        yield (
            "python_recording",
            "info",
            None,
            None,
            f"{text}: read no end-to-end time from this trace",
        )


def _graded(share: float) -> str:
    if share <= _FEW:
        return "ok"
    return "info" if share <= _MUCH else "warning"


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - every notes function takes both
    """Say how many checks need attention."""
    bad = frame.filter(pl.col("status").is_in(["error", "loss", "warning"])).height
    return [
        (
            "No check found anything wrong."
            if not bad
            else f"{bad} of {frame.height} checks need attention; they stand first."
        )
    ]


ANALYSIS = Analysis(
    "What can this trace be trusted for?",
    DATA_QUALITY,
    data_quality,
    notes=notes,
    shown=("rank", "status", "check", "value", "unit", "text"),
    parallel=Parallel.BY_RANK,
)
