"""Derive the profiler's costs from the two windows of a live capture.

The light window records ops and API calls, the deep window also Python calls and shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import astuple, replace

from tracelens.derive.replay.costs import MOST_TIMES, SETTING, Costs, costs_of
from tracelens.derive.replay.predict import scale_and_costs
from tracelens.derive.replay.replay import Replay, replays
from tracelens.derive.replay.unprofiled import unprofiled_steps
from tracelens.trace import Trace


def keep_window_costs(trace: Trace) -> None:
    """Derive the profiler's costs from each source's two windows, and store them in its settings.

    Sources without two windows stay as they are.
    """
    for source in trace.manifest.sources:
        settings = source.get("settings")
        rank = source.get("rank")
        if isinstance(settings, dict) and isinstance(rank, int) and settings.get("light_window"):
            by_kind = costs_of_windows(trace, rank, settings)
            if by_kind:
                settings[SETTING] = {kind: [*astuple(costs)] for kind, costs in by_kind.items()}


def costs_of_windows(trace: Trace, rank: int, settings: Mapping[str, Any]) -> dict[str, Costs]:
    """Return the profiler's costs by kind of profile, from steps of the light and deep window.

    Return an empty dict if steps without the profiler were not timed, or no costs explain the
    times.
    """
    step = unprofiled_steps(trace).get(rank)
    replay = replays(trace).get(rank)
    if step is None or replay is None or step.evidence != "measured":
        return {}
    usual, _ = costs_of(trace, replay)
    # The light window records ops and API calls. Its steps are longer than steps without the
    # profiler by their costs.
    plain = scale_and_costs(trace, replay, step)[1]
    if plain.op_ns >= MOST_TIMES * usual.op_ns:
        return {}
    # The deep window also records Python calls and shapes. Its steps are longer by the costs of
    # Python calls or, without stacks, by further costs of ops.
    more_ns = _median(settings, "deep_step_ns") - _median(settings, "profiled_step_ns")
    if more_ns <= 0:
        return {"plain": plain}
    if settings.get("with_stack"):
        each_ns = more_ns / max(_per_step(replay, "is_python"), 1)
        return {"plain": plain, "stacks": replace(plain, python_ns=each_ns)}
    each_ns = more_ns / max(_per_step(replay, "is_op"), 1)
    return {
        "plain": plain,
        "shapes": replace(plain, op_ns=plain.op_ns + each_ns),
    }


def _median(settings: Mapping[str, Any], name: str) -> float:
    times = settings.get(name)
    median = times.get("median") if isinstance(times, dict) else None
    return float(median) if isinstance(median, int | float) else 0.0


def _per_step(replay: Replay, flag: str) -> float:
    """Return the mean number of spans with a flag, such as is_op, that begin in a step."""
    spans = replay.excerpt.spans.filter(flag)
    return spans.filter("begins_inside").height / (len(replay.marks) - 1)
