"""Every analysis: a pure function from a Trace (or a base and an other one) to a DataFrame.

A new analysis is its module, its result's columns in schemas/results, its test, and one entry in ANALYSES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tracelens.analyses import compare_copies as _compare_copies
from tracelens.analyses import compare_grids as _compare_grids
from tracelens.analyses import compare_layers as _compare_layers
from tracelens.analyses import copy_cost as _copy_cost
from tracelens.analyses import data_quality as _data_quality
from tracelens.analyses import dispatch_depth as _dispatch_depth
from tracelens.analyses import idle_gaps as _idle_gaps
from tracelens.analyses import kernel_grids as _kernel_grids
from tracelens.analyses import launch_delay as _launch_delay
from tracelens.analyses import layer_attribution as _layer_attribution
from tracelens.analyses import layer_host_time as _layer_host_time
from tracelens.analyses import layer_oracle as _layer_oracle
from tracelens.analyses import stack_alignment as _stack_alignment
from tracelens.analyses import threads as _threads
from tracelens.analyses import time_breakdown as _time_breakdown
from tracelens.analyses import time_by_range as _time_by_range
from tracelens.analyses import timing_methods as _timing_methods
from tracelens.analyses import top_kernels as _top_kernels
from tracelens.analyses import top_ops as _top_ops
from tracelens.analyses import verdict as _verdict
from tracelens.schemas.results import grids, layers, stacks, time, work
from tracelens.storage.table import Table


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis as the report, the documentation and the tests know it.

    `run` takes one Trace, or (base, other) where `is_pair`. `notes` takes the same and the resulting frame, and gives
    the finding in words, plus whatever the reader must know to trust it; plain text, one sentence or two an entry.
    `takes_base`: the trace compared with, where there is one, is passed as `base`. `of_host`: it reads all spans, for
    what a trace without kernels is asked; a report on one with kernels has it where it is named.
    """

    name: str
    question: str
    result: Table
    run: Callable[..., pl.DataFrame]
    notes: Callable[..., list[str]] | None = None
    is_pair: bool = False
    takes_base: bool = False
    of_host: bool = False


verdict = _verdict.verdict
time_breakdown = _time_breakdown.time_breakdown
idle_gaps = _idle_gaps.idle_gaps
time_by_range = _time_by_range.time_by_range
layer_attribution = _layer_attribution.layer_attribution
layer_host_time = _layer_host_time.layer_host_time
compare_layers = _compare_layers.compare_layers
layer_oracle = _layer_oracle.layer_oracle
timing_methods = _timing_methods.timing_methods
dispatch_depth = _dispatch_depth.dispatch_depth
stack_alignment = _stack_alignment.stack_alignment
kernel_grids = _kernel_grids.kernel_grids
compare_grids = _compare_grids.compare_grids
copy_cost = _copy_cost.copy_cost
compare_copies = _compare_copies.compare_copies
top_kernels = _top_kernels.top_kernels
top_ops = _top_ops.top_ops
threads = _threads.threads
launch_delay = _launch_delay.launch_delay
data_quality = _data_quality.data_quality

ANALYSES: dict[str, Analysis] = {
    analysis.name: analysis
    for analysis in (
        Analysis("verdict", "What limits this program?", time.VERDICT, verdict, notes=_verdict.notes),
        Analysis(
            "time_breakdown",
            "Where did the time go?",
            time.TIME_BREAKDOWN,
            time_breakdown,
            notes=_time_breakdown.notes,
        ),
        Analysis(
            "idle_gaps",
            "Why was the device, or the process, idle?",
            time.IDLE_GAPS,
            idle_gaps,
            notes=_idle_gaps.notes,
        ),
        Analysis(
            "time_by_range",
            "Where do the program's own annotations say the time goes?",
            time.TIME_BY_RANGE,
            time_by_range,
            notes=_time_by_range.notes,
        ),
        Analysis(
            "layer_attribution",
            "What does each layer cost on the GPU?",
            work.LAYER_ATTRIBUTION,
            layer_attribution,
            notes=_layer_attribution.notes,
            takes_base=True,
        ),
        Analysis(
            "layer_host_time",
            "What does each layer cost on the host?",
            work.LAYER_HOST_TIME,
            layer_host_time,
            notes=_layer_host_time.notes,
            of_host=True,
        ),
        Analysis(
            "compare_layers",
            "Which layers does the other run make faster, and which slower?",
            layers.COMPARE_LAYERS,
            compare_layers,
            notes=_compare_layers.notes,
            is_pair=True,
        ),
        Analysis(
            "layer_oracle",
            "How fast could the model be, with each layer eager or compiled?",
            layers.LAYER_ORACLE,
            layer_oracle,
            notes=_layer_oracle.notes,
            is_pair=True,
        ),
        Analysis(
            "timing_methods",
            "What does measuring cost?",
            layers.TIMING_METHODS,
            timing_methods,
            notes=_timing_methods.notes,
        ),
        Analysis(
            "dispatch_depth",
            "How deep is the path from a framework call to the device?",
            work.DISPATCH_DEPTH,
            dispatch_depth,
            notes=_dispatch_depth.notes,
        ),
        Analysis(
            "stack_alignment",
            "Where do two implementations' stacks coincide and diverge?",
            stacks.STACK_ALIGNMENT,
            stack_alignment,
            notes=_stack_alignment.notes,
            is_pair=True,
        ),
        Analysis(
            "kernel_grids",
            "How well do the launched grids fill the device?",
            grids.KERNEL_GRIDS,
            kernel_grids,
            notes=_kernel_grids.notes,
        ),
        Analysis(
            "compare_grids",
            "How do the grids of two runs differ?",
            grids.COMPARE_GRIDS,
            compare_grids,
            notes=_compare_grids.notes,
            is_pair=True,
        ),
        Analysis(
            "copy_cost",
            "What do copies cost, and what would better ones save?",
            work.COPY_COST,
            copy_cost,
            notes=_copy_cost.notes,
            takes_base=True,
        ),
        Analysis(
            "compare_copies",
            "How do the copies of two runs differ?",
            work.COMPARE_COPIES,
            compare_copies,
            notes=_compare_copies.notes,
            is_pair=True,
        ),
        Analysis(
            "top_kernels", "Which kernels take the time?", time.TOP_KERNELS, top_kernels, notes=_top_kernels.notes
        ),
        Analysis("top_ops", "Which ops take the host's and the device's time?", time.TOP_OPS, top_ops),
        Analysis("threads", "What does each host thread do?", time.THREADS, threads, of_host=True),
        Analysis(
            "launch_delay",
            "How long does work wait between its launch and the device?",
            time.LAUNCH_DELAY,
            launch_delay,
            notes=_launch_delay.notes,
        ),
        Analysis(
            "data_quality",
            "What can this trace be trusted for?",
            time.DATA_QUALITY,
            data_quality,
            notes=_data_quality.notes,
        ),
    )
}
"""Analyses by name, in the order the report shows them."""

__all__ = [
    "ANALYSES",
    "Analysis",
    "compare_copies",
    "compare_grids",
    "compare_layers",
    "copy_cost",
    "data_quality",
    "dispatch_depth",
    "idle_gaps",
    "kernel_grids",
    "launch_delay",
    "layer_attribution",
    "layer_host_time",
    "layer_oracle",
    "stack_alignment",
    "threads",
    "time_breakdown",
    "time_by_range",
    "timing_methods",
    "top_kernels",
    "top_ops",
    "verdict",
]
