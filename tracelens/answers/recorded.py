"""Describe in one line what was recorded: steps, program, device and profiler."""

from collections import Counter
from statistics import mean, median

import polars as pl

from tracelens.answers.answer import LEAST_SHARE
from tracelens.answers.words import counted, function_text, listed
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.events.serving_marks import PHASES
from tracelens.derive.events.steps import STEP_NAME
from tracelens.derive.layers.compilation import shows_compilation
from tracelens.derive.time.model import time_model
from tracelens.derive.time.process_facts import unrecorded_device
from tracelens.derive.time.program_phases import LATER, START_UP, TEAR_DOWN
from tracelens.derive.time.step_kinds import describe_steps, long_steps
from tracelens.derive.time.time_parts import TimeModel
from tracelens.schemas.results.time import PROGRAM
from tracelens.trace import Trace

_TRAINING = ("backward", "optimizer")
_OF_EXTRA = 0.5
"""A function that only long steps run is named if it takes this share of their extra time."""
_SLOWER, _SIDE = 1.1, 3
"""A step time changes for good if it changes by this factor, with this many steps on both sides."""
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def about(trace: Trace, model: TimeModel | None = None) -> str:
    """Describe steps, kind of program, devices, versions and the kinds of recorded events.

    The steps come from `model`, by default from `time_model`.
    """
    ranks, steps = len(trace.manifest.ranks), _steps(model or time_model(trace))
    words = [
        f"{counted(ranks, 'rank')}, {steps}" if ranks > 1 else steps,
        _devices(trace),
        *_versions(trace),
        *(["compiled"] if shows_compilation(trace) else []),
        *(["with stacks"] if has_stacks(trace) else []),
    ]
    return ", ".join(word for word in words if word)


def uneven_steps(model: TimeModel, rank: int, *, is_busy: bool) -> tuple[str, ...]:
    """Describe how the steps of a rank differ in length; empty if they differ little.

    If the device is busy (`is_busy`), also name a function that runs in the long steps only.
    """
    steps = model.program_steps.filter(rank=rank).sort("step")
    numbers, times = steps["step"].to_list(), steps["duration_ns"].to_list()
    if len(times) <= _SIDE:
        return ()
    candidates = range(_SIDE, len(times) - _SIDE + 1)
    # From such a position on, all steps have another length.
    changes = [position for position in candidates if _is_change(times, position)]
    if changes:
        first = changes[0]
        before, after = (duration(median(side)) for side in (times[:first], times[first:]))
        return (f"from step {numbers[first]} on a step takes {after}, before that {before}",)
    positions = long_steps(times)
    if not positions:
        return ()
    long_times = [times[position] for position in positions]
    other_times = [ns for position, ns in enumerate(times) if position not in positions]
    # Long steps are named if they stand out: the shortest exceeds the others by at least the range
    # of the others.
    if min(long_times) - max(other_times) < max(other_times) - min(other_times):
        return (f"steps vary: they take {span_text(min(times), max(times))}",)
    long_numbers = [numbers[position] for position in positions]
    when = describe_steps(long_numbers, numbers)
    long_ns, other_ns = mean(long_times), mean(other_times)
    sentence = f"a step takes {duration(long_ns)} {when}, else {duration(other_ns)}"
    name = None
    if is_busy:
        name = _only_in(model.trace, rank, long_numbers, _OF_EXTRA * (long_ns - other_ns))
    if name is None:
        return (sentence,)
    run = "the long one runs" if len(long_numbers) == 1 else "the long ones run"
    return (f"{sentence}: only {run} {function_text(name)}",)


def _only_in(trace: Trace, rank: int, long: list[int], least_ns: float) -> str | None:
    """Return the longest Python function or annotation in all long steps and in no other.

    Functions that take less than `least_ns` of a long step on average are left out. Return None if
    no function is left.
    """
    name = pl.col("name").cast(pl.String)
    is_of_program = pl.col("kind").is_in(["python", "annotation"])
    is_named = is_of_program & ~name.str.contains(STEP_NAME)
    spans = trace.select("spans", "step", "name", "duration_ns", where=is_named, rank=rank)
    step = pl.col("step")
    is_in_long = step.is_in(long)
    by_name = spans.drop_nulls("step").group_by("name")
    functions = by_name.agg(
        n_long=step.filter(is_in_long).n_unique(),
        is_elsewhere=(~is_in_long).any(),
        ns=pl.col("duration_ns").sum() / len(long),
    )
    is_in_all_long = pl.col("n_long") == len(long)
    takes_long = pl.col("ns") >= least_ns
    only_in_long = functions.filter(~pl.col("is_elsewhere"), is_in_all_long, takes_long)
    longest_first = only_in_long.sort("ns", name, descending=[True, False])
    return str(longest_first["name"][0]) if longest_first.height else None


def _is_change(times: list[int], position: int) -> bool:
    """Return whether the length of steps changes for good at this position."""
    before, after = times[:position], times[position:]
    jump = abs(median(after) - median(before))
    spread = max(max(side) - min(side) for side in (before, after))
    least = (_SLOWER - 1) * min(median(before), median(after))
    return jump >= least and 2 * spread < jump


def has_stacks(trace: Trace) -> bool:
    """Return whether the trace has Python calls."""
    return bool((trace.select("spans", "kind")["kind"] == "python").any())


def served(trace: Trace) -> dict[str, int]:
    """Count the steps of an inference server by phase, averaged over ranks, most steps first."""
    phase = pl.col("phase").cast(pl.String)
    steps = trace.select("steps", "rank", "step", "phase").filter(phase.is_in(PHASES))
    counts = steps.unique(["rank", "step"]).group_by(phase).len().sort("len", "phase")
    n_ranks = max(steps["rank"].n_unique(), 1)
    return {name: max(n // n_ranks, 1) for name, n in reversed(counts.rows())}


def _steps(model: TimeModel) -> str:
    batches = ", ".join(f"{n:,} {name}" for name, n in served(model.trace).items())
    kind = f"a server ({batches})" if batches else _kind(model.trace)
    if model.steps.is_empty():
        return f"{kind or 'a program'} that marks no steps{_after_start_up(model.phases)}"
    judged = model.program_steps
    left_out = model.phases.drop_nulls("step").join(judged, on=["rank", "step"], how="anti")
    words = [
        f"and {counted(_per_rank(part), 'step')} {why}"
        for why, part in (
            ("of start-up", left_out.filter(phase=START_UP)),
            ("in which only a tail ran", left_out.filter(phase=TEAR_DOWN)),
            (
                "cut off",
                left_out.filter(pl.col("phase").is_in([PROGRAM, LATER])),
            ),
        )
        if part.height
    ]
    return " ".join(
        [f"{counted(_per_rank(judged), 'step')}{f' of {kind}' if kind else ''}", *words]
    )


def _after_start_up(phases: pl.DataFrame) -> str:
    """Give the longest start-up before the judged time; empty if it is short."""
    by_rank = phases.group_by("rank").agg(
        start_up=_LENGTH.filter(phase=START_UP).sum(),
        program=_LENGTH.filter(phase=PROGRAM).sum(),
    )
    long = by_rank.filter(pl.col("start_up") > LEAST_SHARE * pl.col("program"))["start_up"].max()
    return f", after {duration(long)} of start-up" if isinstance(long, int) else ""


def _per_rank(steps: pl.DataFrame) -> int:
    """Return the median number of steps per rank, over the ranks that have steps."""
    median = steps.group_by("rank").len()["len"].median()
    return round(median) if isinstance(median, float) else 0


def _kind(trace: Trace) -> str | None:
    """Return "training" if a backward pass or an optimizer was recorded, else "inference".

    Return None if no forward pass was recorded either.
    """
    phases = trace.select("spans", "phase")["phase"].unique().cast(pl.String)
    if phases.is_in(_TRAINING).any():
        return "training"
    return "inference" if phases.is_in(["forward"]).any() else None


def _devices(trace: Trace) -> str:
    """Name the devices that ran kernels, such as "on an NVIDIA H200".

    Without kernels, name the CPU. The text is empty if a device was used but not recorded.
    """
    used = trace.select("kernels", "rank", "device_id").unique()
    if used.is_empty():
        is_on_device = any(unrecorded_device(trace, rank) for rank in trace.manifest.ranks)
        return "" if is_on_device else "on the CPU"
    names = trace.devices.join(used, on=["rank", "device_id"], how="semi")["name"]
    counts = Counter(name for name in names.drop_nulls() if name != "unknown")
    phrases = [f"{n} {name}" if n > 1 else f"{_article(name)} {name}" for name, n in counts.items()]
    return f"on {listed(phrases)}" if phrases else "on a GPU"


def _article(name: str) -> str:
    return (
        "an"
        if name[:1] in "AEIO" or name.startswith(("NV", "H1", "H2", "L4", "RTX", "MI"))
        else "a"
    )


def _versions(trace: Trace) -> list[str]:
    """Return versions of torch, nsys or gdb, as far as they were recorded."""
    versions: dict[str, None] = {}
    for source in trace.manifest.sources:
        for key, value in (source.get("versions") or {}).items():
            if key in ("torch", "nsys", "gdb"):
                versions[f"{key} {str(value).split('+')[0]}"] = None
    return [*versions]
