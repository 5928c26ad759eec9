"""The command `calibrate`: measure what the profiler adds to each event on this machine."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import astuple

from tracelens.cli.io import keep_sources, progress
from tracelens.cli.next_step import report_command, suggest
from tracelens.cli.options import OutFile
from tracelens.cli.output import emit, tell
from tracelens.collectors import run_program
from tracelens.collectors.torch import live
from tracelens.collectors.torch.live.settings import Settings
from tracelens.derive.replay.costs import MOST_TIMES, SETTING, Costs, costs_by_kind, costs_of
from tracelens.derive.replay.predict import scale_and_costs
from tracelens.derive.replay.replay import replays
from tracelens.derive.replay.unprofiled import unprofiled_steps
from tracelens.errors import SourceError, ToolError, UsageError
from tracelens.storage.addresses import shown, url_of
from tracelens.trace import Trace

_PROGRAM = Path(live.__file__).with_name("calibration.py")
_STEPS = Settings("", wait=12, warmup=1, active=20, opening=False)
_PROFILES = {
    "plain": replace(_STEPS, shapes=False, stacks=False, modules=False),
    "shapes": replace(_STEPS, shapes=True, stacks=False, modules=False),
    "stacks": replace(_STEPS, shapes=True, stacks=True, modules=True),
}
"""Settings with which each kind of profile is recorded."""
_STEADY = 1.3
"""Steps are steady if their median is at most this many times their minimum.

Other work on the machine makes them unsteady.
"""
_TRIES = 3
"""Largest number of captures of each kind that are made to get steady steps."""


def calibrate(
    traces: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[TRACE...]",
            help="Trace directories that were recorded on this machine. The costs are stored in"
            " them.",
        ),
    ] = None,
    *,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Use these costs instead of measuring: a file that --out wrote on the machine of"
            " the TRACEs, or a trace that collect torch recorded there.",
        ),
    ] = None,
    out: OutFile = None,
    python: Annotated[
        str, typer.Option(metavar="PYTHON", help="The Python interpreter whose torch is measured.")
    ] = sys.executable,
) -> None:
    """Measure what torch.profiler adds to each op, Python call and API call on this machine.

    A small training loop runs with the profiler and without it, half a minute in all. The costs are
    stored in the TRACEs. For these TRACEs, whatif and other estimates then use the stored costs
    instead of another machine's costs.
    """
    keep_sources(
        [
            *(traces or []),
            *([costs] if costs else []),
        ],
        [out],
    )
    if costs is not None and not traces:
        raise UsageError("--costs are for traces; name the TRACEs to keep them in")
    opened = [Trace.open(path) for path in traces or []]
    by_kind = _measure_costs(python) if costs is None else _read_costs(costs)
    if costs is None:
        emit(
            json.dumps({SETTING: by_kind}, indent=1) + "\n",
            out,
        )
    for path, trace in zip(traces or [], opened, strict=True):
        # A link is followed, and stays a link
        written = path if url_of(path) is not None else path.resolve()
        with_costs(trace, by_kind).write(written, force=True)
        tell(f"{shown(path)} keeps these costs")
    if traces:
        suggest(report_command(traces[:1], (), "--section", "unprofiled_step"))
    elif out is not None:
        suggest(f"tracelens calibrate TRACE --costs {shlex.quote(str(out))}")
    else:
        suggest("tracelens calibrate --out costs.json")


def with_costs(trace: Trace, by_kind: dict[str, list[float]]) -> Trace:
    """Store costs in the settings of each source of the trace, and return the trace.

    `by_kind` has the profiler's costs for each kind of profile.
    """
    trace.manifest.sources = [
        source | {"settings": {**(source.get("settings") or {}), SETTING: by_kind}}
        for source in trace.manifest.sources
    ]
    return trace


def _read_costs(path: Path) -> dict[str, list[float]]:
    """Read costs from a file, or from a trace's settings. Raises SourceError if it has no costs."""
    try:
        stored: Any = (
            _settings_with_costs(Trace.open(path))
            if path.is_dir()
            else json.loads(path.read_text("utf-8"))
        )
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not read as costs ({error})") from error
    by_kind = costs_by_kind(stored.get(SETTING) if isinstance(stored, dict) else None)
    if not by_kind:
        raise SourceError(f"{path} holds no costs; tracelens calibrate --out FILE writes them")
    return {kind: [*astuple(costs)] for kind, costs in by_kind.items()}


def _settings_with_costs(trace: Trace) -> dict[str, Any]:
    """Return the settings of the first source that holds costs; empty if none does."""
    every = (source.get("settings") or {} for source in trace.manifest.sources)
    return next(
        (settings for settings in every if settings.get(SETTING)),
        {},
    )


def _measure_costs(python: str) -> dict[str, list[float]]:
    """Measure the profiler's costs, with and without stacks or shapes.

    Raises ToolError if none can be measured.
    """
    by_kind = {}
    for kind, settings in _PROFILES.items():
        with progress(f"measuring the profiler that records {kind}"):
            captured = (
                run_program("torch", [python, str(_PROGRAM)], settings=settings)[0]
                for _ in range(_TRIES)
            )
            costs = next(filter(None, map(costs_of_capture, captured)), None)
        if costs is None:
            tell(f"{kind}: not measured: steps differed too much, or took no longer when recorded")
        else:
            by_kind[kind] = [round(ns, 1) for ns in astuple(costs)]
    if not by_kind:
        raise ToolError(
            "the profiler's cost could not be measured; run this while nothing else runs on the"
            " machine"
        )
    return by_kind


def costs_of_capture(trace: Trace) -> Costs | None:
    """Return the costs per event that explain the longer steps under the profiler.

    Return None if the times of repeated steps varied too much, or if no costs explain the
    difference.
    """
    settings = next(
        (source.get("settings") or {} for source in trace.manifest.sources),
        {},
    )
    times = [settings.get(f"{word}_step_ns") or {} for word in ("unprofiled", "profiled")]
    if not all(
        0 < step_times.get("median", 0) <= _STEADY * step_times.get("min", 0)
        for step_times in times
    ):
        return None
    step = unprofiled_steps(trace).get(0)
    if step is None or step.evidence != "measured":
        return None
    replay = replays(trace)[0]
    usual, _ = costs_of(trace, replay)
    costs = scale_and_costs(trace, replay, step)[1]
    return costs if costs.op_ns < MOST_TIMES * usual.op_ns else None
