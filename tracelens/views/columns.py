"""Which columns of an analysis's result people need first, in order; a narrow terminal drops the last ones."""

from tracelens.report import Section
from tracelens.schemas.events import CAUSES
from tracelens.views.values import informative

_GRID, _BLOCK = tuple(f"grid_{a}" for a in "xyz"), tuple(f"block_{a}" for a in "xyz")

VIEW_COLUMNS: dict[str, tuple[str, ...]] = {
    "verdict": ("rank", "bound", "value", "unit", "evidence"),
    "idle_gaps": ("rank", "device_id", "cause", "what", "idle_ns", "share_frac", "n_gaps", "longest_ns"),
    "data_quality": ("rank", "status", "check", "value", "unit", "text"),
    "time_breakdown": (
        "rank", "device_id", "step", "window_ns", "compute_frac", "idle_frac", "exposed_copy_frac",
        "exposed_communication_frac", *(f"idle_{cause}_ns" for cause in CAUSES), "collective_wait_ns",
    ),
    "time_by_range": (
        "rank", "path", "domain", "n_calls", "host_total_ns", "device_total_ns", "device_own_ns", "projected_ns",
        "idle_ns", "other_threads_ns", "host_own_ns", "n_launches",
    ),
    "top_kernels": ("rank", "name", "library", "primitive", "duration_total_ns", "share_frac", "n_calls"),
    "top_ops": ("rank", "name", "n_calls", "cuda_total_ns", "cuda_self_ns", "cpu_self_ns", "duration_total_ns"),
    "layer_host_time": ("rank", "layer", "class_name", "phase", "op_self_ns", "share_frac", "n_ops", "evidence"),
    "threads": (
        "rank", "process_id", "thread_id", "op_frac", "wait_frac", "api_frac", "python_frac", "unrecorded_frac",
        "op_ns", "n_ops",
    ),
    "launch_delay": ("rank", "api", "work", "n_calls", "api_median_ns", "delay_median_ns", "short_frac"),
    "dispatch_depth": (
        "rank", "op", "layer", "phase", "role", "n_launches", "total_depth_median", "op_depth_median",
        "python_depth_median", "host_median_ns", "host_total_ns",
    ),
    "kernel_grids": (
        "rank", "name", *_GRID, *_BLOCK, "n_calls", "duration_total_ns", "waves", "theoretical_occupancy_frac",
        "tail_frac", "occupancy_limiter", "duration_median_ns",
    ),
    "compare_grids": (
        "match", "name", "primitive", "base_duration_total_ns", "other_duration_total_ns", "speedup",
        *(f"base_{axis}" for axis in _GRID), *(f"other_{axis}" for axis in _GRID), "base_n_calls", "other_n_calls",
    ),
    "copy_cost": (
        "rank", "direction", "source_memory", "destination_memory", "step", "n_calls", "size_bytes",
        "duration_total_ns", "bandwidth_bytes_per_s", "exposed_ns", "pinned_ns", "wasteful_dtype", "wasted_bytes",
    ),
    "compare_copies": (
        "rank", "direction", "speedup", "duration_base_ns", "duration_other_ns", "size_base_bytes", "size_other_bytes",
        "bandwidth_base_bytes_per_s", "bandwidth_other_bytes_per_s", "memory_base", "memory_other",
    ),
    "stack_alignment": (
        "segment", "role", "n_edges_base", "n_edges_other", "n_common", "start_base", "start_other", "diverges_base",
        "diverges_other", "symbol_base", "symbol_other",
    ),
    "compare_layers": (
        "rank", "layer", "class_name", "phase", "method", "other_configuration", "compile_mode", "base_estimate_ns",
        "other_estimate_ns", "speedup", "speedup_low", "speedup_high", "outcome", "match",
    ),
    "layer_oracle": (
        "rank", "oracle", "position", "layer", "choice", "base_ns", "other_ns", "chosen_ns", "switch_ns",
        "cumulative_ns", "speedup_over_base", "speedup_over_other", "speedup_over_best",
    ),
    "timing_methods": (
        "rank", "configuration", "compile_mode", "variant", "quantity", "profiled", "synchronized", "median_ns",
        "cost_ratio", "low_ns", "high_ns", "n_rounds", "n_executions", "first_ns",
    ),
    "layer_attribution": (
        "rank", "layer", "class_name", "phase", "duration_total_ns", "share_frac", "layout_frac", "n_kernels", "low_ns",
        "high_ns",
    ),
}  # fmt: skip
"""By analysis: what text shows. HTML has the others after them, CSV and JSON have all as they are declared."""


UNANSWERED = "What this trace cannot answer"
"""The heading over sections without an answer."""

PROSE = (
    "evidence",
    "text",
    "reason",
    "meaning",
    "doc",
    "used_for",
    "to_get_it",
    "a row is",
    "empty because",
    "answers",
)
"""Columns of sentences, which are wrapped; names are cut in their middle instead."""


def ordered(section: Section) -> list[str]:
    """The section's columns that say something, those that people need first in front."""
    first = useful(section)
    return [*first, *(name for name in informative(section.frame) if name not in first)]


def useful(section: Section) -> list[str]:
    """The section's columns that people need first and that say something; all of an analysis that names none."""
    available = informative(section.frame)
    return [name for name in VIEW_COLUMNS.get(section.analysis.name, available) if name in available]
