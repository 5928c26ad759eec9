"""Which charts each section is drawn with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from tracelens.report import Section
from tracelens.schemas.events import CAUSES
from tracelens.views.chart_parts import TOP, Drawing, Subject, bars, density, points, split_bars


def draw(section: Section) -> list[Drawing]:
    """The section's charts: none where there are no rows, or nothing in them to draw."""
    if section.frame.is_empty() or section.analysis.name not in CHARTS:
        return []
    return [drawing for drawing in CHARTS[section.analysis.name](section) if drawing is not None]


def whole_trace(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows over the whole trace, where the frame has such rows beside those of single steps."""
    if "step" in frame.columns and frame["step"].null_count():
        return frame.filter(pl.col("step").is_null())
    return frame


def single_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of single steps; the ones over the whole trace where there are no others."""
    steps = frame.filter(pl.col("step").is_not_null())
    return frame if steps.is_empty() else steps


def _named(frame: pl.DataFrame, *names: str) -> list[str]:
    """The names, led by the rank and device where there are several."""
    several = [c for c in ("rank", "device_id") if c in frame.columns and frame[c].n_unique() > 1]
    return [*several, *names]


def _time_breakdown(section: Section) -> Sequence[Drawing | None]:
    frame = single_steps(section.frame)
    is_process = frame["device_id"].null_count() == frame.height
    idle = "" if is_process else "idle: "
    parts = {
        "compute_ns": "compute",
        "exposed_communication_ns": "exposed communication",
        "exposed_copy_ns": "exposed copy",
        **{f"idle_{cause}_ns": f"{idle}{cause}" for cause in CAUSES},
    }
    title = "What the process did" if is_process else "What the GPU did"
    subject = Subject(section, frame, _named(frame, "step"), title, in_order=True)
    return [split_bars(subject, parts, stacked=True)]


def _time_by_range(section: Section) -> Sequence[Drawing | None]:
    names = _named(section.frame, "domain", "path")
    title = "Device time launched directly in each range"
    return [bars(Subject(section, section.frame, names, title), "device_own_ns")]


def _idle_gaps(section: Section) -> Sequence[Drawing | None]:
    names = _named(section.frame, "cause", "what")
    return [bars(Subject(section, section.frame, names, "Idle time by cause and place"), "idle_ns", "cause")]


def _top_kernels(section: Section) -> Sequence[Drawing | None]:
    names = _named(section.frame, "name")
    return [bars(Subject(section, section.frame, names, "GPU time by kernel"), "duration_total_ns", "primitive")]


def _top_ops(section: Section) -> Sequence[Drawing | None]:
    parts = {"cuda_self_ns": "GPU work it launched itself", "cpu_self_ns": "CPU time in itself"}
    subject = Subject(section, section.frame, _named(section.frame, "name"), "Self time by op")
    return [split_bars(subject, parts, stacked=False)]


def _layer_host_time(section: Section) -> Sequence[Drawing | None]:
    frame = section.frame.with_columns(pl.col("phase").fill_null("no phase"))
    subject = Subject(section, frame, _named(frame, "layer", "phase"), "Self time of each layer's ops")
    return [bars(subject, "op_self_ns", "phase")]


def _threads(section: Section) -> Sequence[Drawing | None]:
    parts = {
        "op_ns": "ops",
        "wait_ns": "waits",
        "api_ns": "API calls",
        "python_ns": "Python",
        "unrecorded_ns": "nothing recorded",
    }
    names = [*_named(section.frame), "process_id", "thread_id"]
    return [split_bars(Subject(section, section.frame, names, "What each thread did"), parts, stacked=True)]


def _launch_delay(section: Section) -> Sequence[Drawing | None]:
    parts = {"api_median_ns": "median call", "delay_median_ns": "median wait from the call's end to the work's start"}
    subject = Subject(section, section.frame, _named(section.frame, "api", "work"), "Calls, and waits after them")
    return [split_bars(subject, parts, stacked=False)]


def _kernel_grids(section: Section) -> Sequence[Drawing | None]:
    grid, block = (pl.concat_str([f"{what}_{axis}" for axis in "xyz"], separator="x") for what in ("grid", "block"))
    frame = section.frame.with_columns(pl.format("<<<{},{}>>>", grid, block).alias("launch"))
    names = _named(frame, "name", "launch")
    return [
        bars(Subject(section, frame, names, "GPU time by kernel and launch"), "duration_total_ns", "primitive"),
        points(
            Subject(section, frame, names, "How each launch fills the device; larger points took more time"),
            ("waves", "theoretical_occupancy_frac"),
            "primitive",
        ),
    ]


def _compare_grids(section: Section) -> Sequence[Drawing | None]:
    parts = {"base_duration_total_ns": "base", "other_duration_total_ns": "this trace"}
    matched = section.frame.filter(pl.col("match").is_in(["kernel", "primitive"]))
    matched = matched.sort("base_duration_total_ns", descending=True).head(TOP)
    by_name = ["name", "primitive"]
    return [
        split_bars(Subject(section, section.frame, ["primitive"], "GPU time by primitive"), parts, stacked=False),
        bars(Subject(section, matched, by_name, "Speedup of what took most time in base"), "speedup"),
    ]


def _copy_cost(section: Section) -> Sequence[Drawing | None]:
    frame = whole_trace(section.frame).with_columns(hidden_ns=pl.col("duration_total_ns") - pl.col("exposed_ns"))
    names = _named(frame, "direction", "source_memory", "destination_memory")
    time = {"exposed_ns": "exposed", "hidden_ns": "hidden behind kernels"}
    return [
        split_bars(Subject(section, frame, names, "Copy time"), time, stacked=True),
        bars(Subject(section, frame, names, "Bytes copied"), "size_bytes"),
        bars(Subject(section, frame, names, "Bandwidth"), "bandwidth_bytes_per_s"),
    ]


def _compare_copies(section: Section) -> Sequence[Drawing | None]:
    names = _named(section.frame, "direction")
    measures = {
        "Copy time": ("duration_base_ns", "duration_other_ns"),
        "Bytes copied": ("size_base_bytes", "size_other_bytes"),
        "Bandwidth": ("bandwidth_base_bytes_per_s", "bandwidth_other_bytes_per_s"),
    }
    return [
        split_bars(Subject(section, section.frame, names, title), {base: "base", other: "this trace"}, stacked=False)
        for title, (base, other) in measures.items()
    ]


def _layer_attribution(section: Section) -> Sequence[Drawing | None]:
    frame, drawings = section.frame, []
    for what in ("primitive", "library"):
        columns = [c for c in frame.columns if c.startswith(f"{what}_") and c.endswith("_ns")]
        parts = {column: column.removeprefix(f"{what}_").removesuffix("_ns") for column in columns}
        subject = Subject(section, frame, _named(frame, "layer"), f"GPU time of each layer by {what}")
        drawings.append(split_bars(subject, parts, stacked=True))
    return drawings


def _compare_layers(section: Section) -> Sequence[Drawing | None]:
    frame = section.frame.filter((pl.col("match") == "both") & ~pl.col("layer").str.starts_with("("))
    way = pl.concat_str("method", "other_configuration", "compile_mode", separator=", ", ignore_nulls=True)
    frame = frame.with_columns(timed_by=way)
    names = _named(frame, "layer", "phase", "timed_by")
    worst = frame.filter(pl.col("outcome") == "slower").sort("saved_ns").head(TOP).with_columns(-pl.col("saved_ns"))
    title = "How the layers' speedups are distributed; right of 1, this trace is faster"
    return [
        density(Subject(section, frame, names, title), "speedup", "timed_by"),
        bars(
            Subject(
                section,
                frame.sort("base_estimate_ns", descending=True).head(TOP),
                names,
                "Speedup of the layers that take most time in base",
            ),
            "speedup",
        ),
        bars(Subject(section, worst, names, "Time that layers lose in this trace"), "saved_ns"),
    ]


def _layer_oracle(section: Section) -> Sequence[Drawing | None]:
    totals = section.frame.filter(pl.col("position").is_null())
    parts = {"base_ns": "base", "other_ns": "this trace", "chosen_ns": "chosen", "switch_ns": "changes"}
    names = _named(totals, "oracle")
    return [
        split_bars(Subject(section, totals, names, "Time of the layers by oracle", in_order=True), parts, stacked=False)
    ]


def _timing_methods(section: Section) -> Sequence[Drawing | None]:
    on = pl.when(pl.col("profiled")).then(pl.lit("profiled")).otherwise(pl.lit("not profiled"))
    frame = section.frame.with_columns(profiler=on)
    names = _named(frame, "configuration", "compile_mode", "variant", "quantity", "profiler")
    return [bars(Subject(section, frame, names, "Time by each way of measuring"), "median_ns", "variant")]


def _dispatch_depth(section: Section) -> Sequence[Drawing | None]:
    spans = section.frame.filter(pl.col("source") == "span").sort("n_launches", descending=True).head(TOP)
    stacks = section.frame.filter((pl.col("source") == "stack") & pl.col("role").is_not_null())
    parts = {"op_depth_median": "ops", "python_depth_median": "Python and module calls"}
    names = _named(spans, "op", "layer", "phase")
    title = "Median depth above a launch, call sites with the most launches"
    return [
        split_bars(Subject(section, spans, names, title, in_order=True), parts, stacked=True),
        bars(Subject(section, stacks, ["layer", "op", "role"], "Frames by role"), "total_depth_median", "role"),
    ]


def _stack_alignment(section: Section) -> Sequence[Drawing | None]:
    frame = section.frame.filter(pl.col("role").is_not_null() & (pl.col("segment") != "entry_to_symbol"))
    parts = {"n_edges_base": "base", "n_edges_other": "this trace"}
    return [split_bars(Subject(section, frame, ["segment", "role"], "Calls by role"), parts, stacked=False)]


CHARTS: dict[str, Callable[[Section], Sequence[Drawing | None]]] = {
    "time_breakdown": _time_breakdown,
    "time_by_range": _time_by_range,
    "idle_gaps": _idle_gaps,
    "top_kernels": _top_kernels,
    "top_ops": _top_ops,
    "launch_delay": _launch_delay,
    "layer_host_time": _layer_host_time,
    "threads": _threads,
    "kernel_grids": _kernel_grids,
    "compare_grids": _compare_grids,
    "copy_cost": _copy_cost,
    "compare_copies": _compare_copies,
    "layer_attribution": _layer_attribution,
    "compare_layers": _compare_layers,
    "layer_oracle": _layer_oracle,
    "timing_methods": _timing_methods,
    "dispatch_depth": _dispatch_depth,
    "stack_alignment": _stack_alignment,
}
"""Charts by analysis; the others are words, and have none."""
