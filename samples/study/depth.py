"""Count the calls between the framework's convolution and cuDNN: the paper's Figure 4 today.

They are counted at each level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

import tracelens as tl
from samples.kit.significance import Range
from samples.study.paper import NAMES
from tracelens.errors import TracelensError

ENTRIES = {
    "eager": (r"Conv2d\.forward", "THPVariable_conv2d"),
    "compile": (r"Runner\.call", "THPVariable_convolution"),
    "torchscript": ("VariableType::_convolution", "VariableType::convolution"),
    "libtorch": ("Conv2dImpl::forward",),
    "cudnn": ("Conv2d::forward",),
}
"""Functions that count as the framework's convolution, by level.

It is Conv2d.forward if the level has one. Otherwise it is the function that torch.compile
generates, or the operator that TorchScript's interpreter runs, as in the paper. The second name is
for stacks without the first, such as those without Python frames.
"""

OLD, NEW = "cudnnConvolutionForward", "cudnnBackendExecute"
"""The function where the paper stopped, and the one by which PyTorch calls cuDNN today."""

ROLES = (
    "python",
    "binding",
    "torchscript",
    "libtorch_nn",
    "autograd",
    "dispatcher",
    "aten_native",
    "vendor_glue",
)


@dataclass(frozen=True)
class Path:
    """One level's path from its convolution to cuDNN, in calls.

    `above` and `below` count the calls on either side of at::conv2d, if the path contains it.
    """

    trace: tl.Trace
    entry: str
    start: str
    total: int
    above: int | None
    below: int | None
    by_role: Mapping[str, int]


def path_of(level: str, trace: tl.Trace) -> Path | None:
    """Count calls from the level's entry to cuDNN; None if the stack has no entry."""
    for entry in ENTRIES[level]:
        try:
            rows = tl.analyses.stack_alignment(
                trace,
                trace,
                entry_base=entry,
                entry_other=entry,
                occurrence="innermost",
            )
        except TracelensError:
            continue
        whole = {
            row["segment"]: row
            for row in rows.filter(pl.col("role").is_null()).iter_rows(named=True)
        }
        roles = rows.filter(pl.col("role").is_not_null(), segment="entry_to_symbol")
        above, below = (
            whole.get(name, {}).get("n_edges_base") for name in ("entry_to_via", "via_to_symbol")
        )
        all_of_it = whole["entry_to_symbol"]
        by_role = dict(roles.select("role", "n_edges_base").iter_rows())
        return Path(
            trace, entry, all_of_it["start_base"], all_of_it["n_edges_base"], above, below, by_role
        )
    return None


def common(base: Path, other: Path) -> dict[str, object]:
    """Return the row of stack_alignment on the equal frames of two stacks."""
    rows = tl.analyses.stack_alignment(
        base.trace,
        other.trace,
        entry_base=base.entry,
        entry_other=other.entry,
        occurrence="innermost",
    )
    return rows.filter(pl.col("role").is_null(), segment="entry_to_symbol").row(0, named=True)


CALLER = "_PyObject_MakeTpCall"
"""The interpreter's function that calls a module.

The paper's 30 calls above at::conv2d begin there.
"""


def span_of_the_paper(eager: Path) -> int | None:
    """Count the calls from the interpreter's call of the convolution module; the paper has 91.

    Returns None if the stack lacks Python's frames.
    """
    frames = eager.trace.frames
    start = frames.filter(function=eager.start)["level"].min()
    inside = start if isinstance(start, int) else 0
    outside = frames.filter(pl.col("level") > inside, function=CALLER)["level"].min()
    return outside if isinstance(outside, int) else None


def calls(level: str, path: Path) -> int:
    """Count the calls to cuDNN over the span that the paper counts."""
    return (span_of_the_paper(path) if level == "eager" else None) or path.total


def paths(captures: Mapping[str, tl.Trace], suffix: str = "_old") -> dict[str, Path]:
    """Return the paths of the levels.

    Captures `stack_LEVEL_old` reach the paper's cuDNN function, the others today's.
    """
    paths = {
        level: path_of(level, trace)
        for level in NAMES
        if (trace := captures.get(f"stack_{level}{suffix}")) is not None
    }
    return {level: path for level, path in paths.items() if path is not None}


def steps(trace: tl.Trace) -> dict[str, float | Range]:
    """Return one step of a timeline: its number of kernels, and µs with quartiles.

    There are times of the step, of kernels, and of the idle time before launches.
    """
    frame = tl.analyses.time_breakdown(trace).filter(pl.col("step").is_not_null())
    low, middle, high = (frame["window_ns"].quantile(q, "linear") or 0.0 for q in (0.25, 0.5, 0.75))
    medians = frame.select(pl.col("compute_ns", "idle_launch_ns").median() / 1e3).row(0)
    return {
        "step": Range(
            low / 1e3,
            middle / 1e3,
            high / 1e3,
        ),
        "compute": float(medians[0]),
        "launch": float(medians[1]),
        "kernels": trace.kernels["step"].drop_nulls().len() / frame.height,
    }
