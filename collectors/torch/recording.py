"""Read the files of a live capture, and describe its steps and how much it slowed the program."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracelens.collectors.torch.live.settings import Settings
from tracelens.collectors.torch.live.status_file import (
    DONE,
    LIGHT_SUFFIX,
    RECORDING,
    SUFFIX,
    TORCH,
)
from tracelens.derive.columns.time_text import duration
from tracelens.errors import SourceError, ToolError
from tracelens.trace.capture import Capture, HostFacts
from tracelens.trace.sources import read_captures

_FEW_STEPS = 3
"""With fewer timed steps, a profiler that seems to cost nothing may still cost time."""
_SLOWED = 1.05
"""A smaller ratio of two step times may be chance."""
_NO_TIMES = "do not read end-to-end time from this trace"
_SHORTER = 0.8
"""A smaller ratio of recorded to unprofiled step time means that recorded steps lack some work."""
_OPENING = (
    "no step was found, the program ended before the steps asked for, or they could not be written:"
    " the ops from torch's import to the end of the first step (half a minute at most) were kept,"
    " without stacks and modules; --wait 0 --warmup 0 takes steps from the first on, --window"
    " START:SECONDS goes by time"
)
_OTHER_TRAINERS = (
    "other threads of the program train at the same time: steps and ops are those of the thread"
    " that trained first; device work that the others launched is included, without ops"
)
_OTHER_PROCESS = (
    "another process of the same rank recorded too, with fewer steps; its trace was left out"
)


def read_recording(
    folder: Path, settings: Settings, exit_code: int = 0
) -> tuple[list[Capture], list[str], str]:
    """Return the captures in a folder, notes, and a sentence on how much recording slowed a step.

    Raises ToolError if nothing was captured. The program's `exit_code` helps to explain why.
    """
    facts_of_processes = [
        json.loads(path.read_text()) | {"stem": path.name.removesuffix(SUFFIX)}
        for path in sorted(folder.glob(f"*{SUFFIX}"))
    ]
    notes = list(
        dict.fromkeys(
            note for process_facts in facts_of_processes for note in process_facts["notes"]
        )
    )
    recorded, errors = _read_traces(folder, facts_of_processes)
    notes += errors
    if not recorded:
        why = "; ".join(notes) or _why_nothing(facts_of_processes, failed=exit_code != 0)
        raise ToolError(f"nothing was captured: {why}")
    chosen = _one_per_rank(recorded)
    for process_facts, capture in chosen:
        _describe(capture, process_facts, settings)
    captures = [capture for _, capture in chosen]
    sidecars = _sidecars(folder, [process_facts["stem"] for process_facts, _ in chosen])
    if sidecars:
        captures += read_captures(sidecars)
    first_facts, first_capture = chosen[0]
    is_light = bool(first_capture.settings.get("light_window"))
    unprofiled = first_capture.settings.get(
        "unprofiled_step_ns", first_facts.get("unprofiled_step_ns")
    )
    with_unprofiled = first_facts | {"unprofiled_step_ns": unprofiled}
    notes += _step_sentences(with_unprofiled, settings, is_light=is_light)
    if warning := _other_steps_warning(with_unprofiled, is_light=is_light):
        notes.append(warning)
    return captures, notes, _cost_sentence(with_unprofiled, is_light=is_light)


def _read_traces(
    folder: Path, facts_of_processes: Iterable[dict[str, Any]]
) -> tuple[list[tuple[dict[str, Any], Capture]], list[str]]:
    """Return pairs of a process's report and its capture, and errors of unreadable traces.

    If some processes found steps, all other processes are left out.
    """
    with_trace = [
        process_facts
        for process_facts in facts_of_processes
        if _trace_of(process_facts, folder).is_file()
    ]
    with_steps = [
        process_facts for process_facts in with_trace if not process_facts.get("is_opening")
    ]
    recorded: list[tuple[dict[str, Any], Capture]] = []
    errors = []
    for process_facts in with_steps or with_trace:
        try:
            captures = read_captures(_trace_of(process_facts, folder), "torch")
            recorded += [(process_facts, capture) for capture in captures if _holds_events(capture)]
        except SourceError as error:
            errors.append(str(error))
    return recorded, errors


def _trace_of(process_facts: Mapping[str, Any], folder: Path) -> Path:
    return folder / f"{process_facts['stem']}.pt.trace.json"


def _describe(capture: Capture, process_facts: Mapping[str, Any], settings: Settings) -> None:
    """Add to a process's capture how it was recorded, and warnings of missing data."""
    capture.settings |= {
        "live": True,
        "wait": settings.wait,
        "warmup": settings.warmup,
        "active": settings.active,
        "window_s": list(settings.window_s) if settings.window_s else None,
        "step_source": process_facts.get("source"),
        "n_steps": process_facts.get("n_steps", 0),
        "n_active": process_facts.get("n_active", 0),
        "export_ns": process_facts.get("export_ns"),
        "blas": process_facts.get("blas"),
    }
    capture.host_facts = HostFacts.on("here")
    if process_facts.get("is_opening"):
        capture.diagnostics.add("warning", "opening_only", _OPENING)
        return
    if n_others := process_facts.get("n_other_trainers"):
        capture.diagnostics.add("warning", "other_trainers", _OTHER_TRAINERS, n_others)
    if process_facts["stage"] != DONE:
        capture.diagnostics.add(
            "info", "killed_later", "the process was killed after its trace had been written"
        )


def _sidecars(folder: Path, stems: Iterable[str]) -> list[Path]:
    """Return the files that recorders wrote beside these processes' traces.

    Files of other processes may describe graphs that the trace does not contain.
    """
    beginnings = tuple(f"{stem}." for stem in stems)
    endings = (SUFFIX, LIGHT_SUFFIX, ".part", ".part.json", ".pt.trace.json")
    return [
        path
        for path in folder.iterdir()
        if path.name.startswith(beginnings) and not path.name.endswith(endings)
    ]


def _one_per_rank(
    read: Iterable[tuple[dict[str, Any], Capture]],
) -> list[tuple[dict[str, Any], Capture]]:
    """Return the report and capture of one process per rank, ordered by rank.

    Of a rank's processes, the one with most recorded steps is taken, and among equals the one with
    the largest trace.
    """
    chosen: dict[int, tuple[dict[str, Any], Capture]] = {}
    for process_facts, capture in sorted(
        read,
        key=lambda pair: (
            pair[0].get("n_active", 0),
            pair[1].source.size_bytes,
        ),
    ):
        rank = capture.rank or 0
        if rank in chosen:
            capture.diagnostics.add("warning", "other_process", _OTHER_PROCESS)
        chosen[rank] = (process_facts, capture)
    return [chosen[rank] for rank in sorted(chosen)]


def _holds_events(capture: Capture) -> bool:
    """Return whether a host op, an API call or a kernel ran under the profiler."""
    return any(
        rows is not None and len(rows)
        for rows in map(capture.tables.get, ("spans", "api_calls", "kernels"))
    )


def _why_nothing(facts_of_processes: Sequence[Mapping[str, Any]], *, failed: bool) -> str:
    """Return why nothing was captured, by the stage that the program's processes reached."""
    stages = {process_facts["stage"] for process_facts in facts_of_processes}
    if not stages:
        return (
            "the command started no Python that tracelens could enter: it is another kind of"
            " program, or a Python that was told to ignore PYTHONPATH (-I, -E, -S)"
        )
    if RECORDING in stages:
        return "the program was killed, or its disk was full, before its trace was written"
    if (
        DONE in stages
        and failed
        and not any(process_facts.get("n_steps") for process_facts in facts_of_processes)
    ):
        return "the program failed before its first step"
    if DONE in stages:
        return (
            "it ended before any step or op ran under the profiler; give --wait 0 --warmup 0, or"
            " --window (in Python wait=0, warmup=0)"
        )
    if TORCH in stages:
        return "the program was killed, or left by os._exit, before its first recorded step"
    return (
        "the program had not imported torch when it ended; if it should have, name the Python that"
        " has torch: tracelens run ENV/bin/python train.py"
    )


def _step_sentences(
    process_facts: Mapping[str, Any],
    settings: Settings,
    *,
    is_light: bool,
) -> list[str]:
    """Return sentences on the recorded steps.

    `is_light` says that the trace has the light window's times.
    """
    is_kept = not process_facts.get("is_opening")
    steps = [
        n
        for n, kind, _ in process_facts.get("step_ns", ())
        if kind.startswith("active") and is_kept
    ]
    sentences = []
    if steps:
        source = (
            f"found from the {process_facts['source']}"
            if process_facts.get("source") != "program"
            else "marked by the program"
        )
        # Steps are counted for some time after the window, but not to the end of a program that was
        # killed.
        least = (
            ""
            if process_facts["stage"] == DONE and process_facts.get("is_counted")
            else "at least "
        )
        n_steps = process_facts.get("n_steps", len(steps))
        sentences.append(f"recorded {_numbered(steps)} of {least}{n_steps}, {source}")
        if is_light:
            light = [n for n, kind, _ in process_facts.get("step_ns", ()) if kind == "light"]
            sentences.append(
                f"recorded {_numbered(light)} again without stacks, shapes and modules, for the"
                " times"
            )
        wanted = settings.active if settings.window_s is None else None
        if wanted is not None and len(steps) < wanted:
            sentences.append(
                f"the program ended before all {wanted} steps asked for; the last one may be cut"
            )
    return sentences


def _numbered(steps: Sequence[int]) -> str:
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"


def _step_times(process_facts: Mapping[str, Any], *, is_light: bool) -> tuple[Any, Any]:
    """Return step times without and with the profiler, None where they are unknown."""
    return process_facts.get("unprofiled_step_ns"), process_facts.get(
        "light_step_ns" if is_light else "profiled_step_ns"
    )


def _unprofiled_text(plain: Mapping[str, Any]) -> str:
    """Return the time of a step without the profiler as text, with the number of timed steps."""
    n_long = plain.get("n_long")
    others = f"; {n_long} took {duration(plain['long_ns'])}" if n_long else ""
    return f"{duration(plain['mean'])} without the profiler (mean of {plain['n']}{others})"


def _other_steps_warning(process_facts: Mapping[str, Any], *, is_light: bool) -> str:
    """Return a warning if no step ran without the profiler, or if steps take longer without it.

    Return "" otherwise.
    """
    plain, active = _step_times(process_facts, is_light=is_light)
    if not plain or not active:
        return f"what the profiler cost is unknown, as no step ran without it; {_NO_TIMES}"
    is_shorter = plain["n"] >= _FEW_STEPS and active["mean"] / plain["mean"] < _SHORTER
    return (
        f"the recorded steps are shorter than others: {_unprofiled_text(plain)}"
        if is_shorter
        else ""
    )


def _cost_sentence(process_facts: Mapping[str, Any], *, is_light: bool) -> str:
    """Return a sentence on how much longer steps took under the profiler, "" if it is unknown."""
    # The program measured these times. A step in the trace also contains work of the profiler.
    plain, active = _step_times(process_facts, is_light=is_light)
    if not plain or not active:
        return ""
    ratio = active["mean"] / plain["mean"]
    deep = process_facts.get("profiled_step_ns")
    with_all = f", {duration(deep['mean'])} with stacks and shapes" if is_light and deep else ""
    with_it = f"{_unprofiled_text(plain)}, {duration(active['mean'])} with it{with_all}"
    if ratio > _SLOWED:
        return f"by the program's own clock a step takes {with_it}; {_NO_TIMES}"
    if plain["n"] < _FEW_STEPS or ratio < _SHORTER:
        return ""
    return f"the profiler hardly slows a step: by the program's own clock {with_it}"
