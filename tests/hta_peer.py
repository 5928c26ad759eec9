"""HTA beside tracelens: HTA's own parse of each capture, once per session, and all its analyses."""

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from tests.sources import torch_file, torch_folder

NUMBERED = ("index", "index_correlation", "event_idx", "name", "cat", "user_annotation")
"""Columns of HTA's frames that number events in file order, which is not ours, or names in no
order."""
LEFT_OUT = {
    "input_dims",
    "input_type",
    "input_strides",
    "external_id",
    "python_id",
    "python_parent_id",
    "in_msg_nelems",
    "out_msg_nelems",
    "process_rank",
    "in_split_size",
    "out_split_size",
}
"""Arguments of events that no analysis of HTA reads.

Our tables lack them, or have them of ops only.
"""
PYTHON = re.compile(r"\(\d+\): |^<|^nn\.Module")
"""Names of Python functions. In our tables they have no folders and addresses."""


@contextmanager
def rounding(*, on: bool) -> Iterator[None]:
    """Have HTA round starts and ends to microseconds, or keep nanoseconds, until the block ends."""
    options = importlib.import_module("hta.configs.env_options").HTAEnvOptions.instance()
    was_off = options.disable_ns_rounding()
    options.set_disable_ns_rounding(value=not on)
    try:
        yield
    finally:
        options.set_disable_ns_rounding(value=was_off)


def files_of(name: str) -> dict[int, str]:
    """Return the files of a capture by rank."""
    if not name.startswith("ddp"):
        return {0: str(torch_file(name))}
    return {rank: str(torch_folder(name) / f"rank{rank}.pt.trace.json.gz") for rank in (0, 1)}


@cache
def _parsed(name: str, *, rounded: bool) -> Any:
    """Let HTA parse a capture with all of its steps; ranks are not aligned yet."""
    files = files_of(name)
    with rounding(on=rounded):
        parsed = importlib.import_module("hta.common.trace").Trace(files, "")
        # It would read ranks in processes that it forks, of which one hangs now and then.
        parsed.parse_traces(use_multiprocessing=False)
    return parsed


def parsed_by_hta(name: str, *, last_step: bool = True, rounded: bool = False) -> Any:
    """Return HTA's TraceAnalysis of a capture, made by its constructor.

    Several tests use the object: do not change it.
    """
    module = importlib.import_module("hta.trace_analysis")
    analysis = module.TraceAnalysis.__new__(module.TraceAnalysis)
    analysis.t = deepcopy(_parsed(name, rounded=rounded))
    analysis.t.align_and_filter_trace(last_step)
    frames = analysis.t.traces.items()
    analysis.t.traces = {
        rank: frame.set_index("index", drop=False).rename_axis(None) for rank, frame in frames
    }
    return analysis


def without_host_streams(theirs: Any) -> Any:
    """Return HTA's view without the stream of host ops that launch for Triton.

    Torch writes that stream, and HTA takes the ops for kernels.
    """
    for frame in theirs.t.traces.values():
        host = frame["cat"] == theirs.t.symbol_table.get_sym_id_map()["cpu_op"]
        frame.loc[host, "stream"] = -1
    return theirs


def _critical_path(a: Any, folder: Path) -> Any:
    graph, succeeded = a.critical_path_analysis(0, "ProfilerStep", 0)
    return succeeded, graph.get_critical_path_breakdown(), graph.summary()


def _launches(a: Any, _: Path) -> Any:
    return [a.get_cuda_kernel_launch_stats([rank], visualize=False) for rank in a.t.get_ranks()]


def _queues(a: Any, _: Path) -> Any:
    lengths = a.get_queue_length_time_series(a.t.get_ranks())
    summary = a.get_queue_length_summary_from_time_series(lengths)
    return lengths, summary, a.get_time_spent_blocked_on_full_queue(lengths, 3)


def _idle(a: Any, _: Path) -> Any:
    return a.get_idle_time_breakdown(
        a.t.get_ranks(), visualize=False, show_idle_interval_stats=True
    )


FAST: dict[str, Callable[[Any, Path], Any]] = {
    "comm_comp_overlap": lambda a, _: a.get_comm_comp_overlap(visualize=False),
    "profiler_steps": lambda a, _: a.get_profiler_steps(),
    "potential_stragglers": lambda a, _: a.get_potential_stragglers(),
    "gpu_kernel_breakdown": lambda a, _: a.get_gpu_kernel_breakdown(
        visualize=False, num_kernels=10**6
    ),
    "gpu_kernels_with_user_annotations": lambda a, _: a.get_gpu_kernels_with_user_annotations(0),
    "gpu_user_annotation_breakdown": lambda a, _: a.get_gpu_user_annotation_breakdown(
        visualize=False
    ),
    "cpu_annotation_breakdown": lambda a, _: a.get_gpu_user_annotation_breakdown(
        False, visualize=False
    ),
    "temporal_breakdown": lambda a, _: a.get_temporal_breakdown(visualize=False),
    "cuda_kernel_launch_stats": _launches,
    "queue_length_summary": lambda a, _: a.get_queue_length_summary(a.t.get_ranks()),
    "queue_lengths": _queues,
    "memory_bw_summary": lambda a, _: a.get_memory_bw_summary(a.t.get_ranks()),
    "memory_bw_time_series": lambda a, _: a.get_memory_bw_time_series(a.t.get_ranks()),
    "idle_time_breakdown": _idle,
    "cupti_counter_data_with_operators": lambda a, _: a.get_cupti_counter_data_with_operators(),
}
SLOW: dict[str, Callable[[Any, Path], Any]] = {
    "frequent_cuda_kernel_sequences": lambda a, folder: a.get_frequent_cuda_kernel_sequences(
        "aten::conv2d", str(folder), min_pattern_len=1
    ),
    "aten_op_kernels_and_delay": lambda a, _: a.get_aten_op_kernels_and_delay(),
    "critical_path_analysis": _critical_path,
}


def outcome(analysis: Callable[[Any, Path], Any], a: Any, folder: Path) -> list[Any]:
    """Return the result as a flat list, frames unordered and without `NUMBERED`.

    A failure becomes its words.
    """
    try:
        return _flat(analysis(deepcopy(a), folder))
    except Exception as error:  # noqa: BLE001 - HTA's own failures are compared too
        return [f"{type(error).__name__}: {error}"]


def _flat(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [item for key in sorted(found) for item in (key, *_flat(found[key]))]
    if isinstance(found, list | tuple):
        return [item for one in found for item in _flat(one)]
    return [_bare(found) if hasattr(found, "columns") else found]


def _bare(frame: Any) -> Any:
    numbers = [c for c in NUMBERED if c in frame.columns and frame[c].dtype.kind in "iuf"]
    frame = frame.drop(columns=[*numbers, *(LEFT_OUT & set(frame.columns))]).reset_index(drop=True)
    frame = frame[sorted(frame.columns, key=str)]
    for column in {"pid", "tid"} & {*map(str, frame.columns)}:
        frame[column] = frame[column].astype(float)  # text and numbers, where a file has both
    if (
        "s_name" in frame.columns and "bound_by" in frame.columns
    ):  # names of Python functions have no folders here
        frame["s_name"] = frame["s_name"].where(
            ~frame["s_name"].fillna("").str.contains(PYTHON), "python"
        )
    return frame.sort_values([*frame.columns], key=lambda of: of.astype(str), ignore_index=True)


def differences(theirs: list[Any], ours: list[Any]) -> list[str]:
    """Compare two outcomes, floats up to their last digits, and return what differs."""
    testing = importlib.import_module("pandas").testing
    found = [] if len(theirs) == len(ours) else [f"{len(theirs)} results against {len(ours)}"]
    for they, we in zip(theirs, ours, strict=False):
        try:
            if hasattr(they, "columns"):
                testing.assert_frame_equal(they, we[[*they.columns]], check_dtype=False)
            elif hasattr(they, "index") and hasattr(they, "sort_index"):
                testing.assert_series_equal(they.sort_index(), we.sort_index(), check_dtype=False)
            else:
                assert they == we, f"{they} against {we}"
        except AssertionError as error:
            found.append(str(error))
    return found
