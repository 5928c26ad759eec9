"""Compute what a step saves if a part of its time takes less."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.derive.replay.faster_change import shortened
from tracelens.derive.replay.moment_graph import Flags
from tracelens.derive.replay.predict import device_ns, scale_and_costs
from tracelens.derive.replay.replay import Replay, steady_step_ns
from tracelens.derive.replay.unprofiled import UnprofiledStep, weights_without
from tracelens.trace import Trace


def savings(
    trace: Trace,
    replay: Replay,
    step: UnprofiledStep | None,
    groups: Sequence[Flags],
    share: float,
) -> list[tuple[int, int]]:
    """Return each edge group's time per step, and the step time saved, in ns.

    The saving is computed with `share` of the group's time removed. As in `predict`, no step is
    shorter than its device work.
    """
    scale, costs = scale_and_costs(trace, replay, step)
    weights = weights_without(replay, costs)
    replayed = steady_step_ns(replay, weights) * scale
    least_ns = device_ns(replay, weights, scale, replayed)
    before = max(replayed, least_ns)
    n_steps = len(replay.marks) - 1
    results = []
    for chosen in groups:
        less = shortened(weights, chosen, 1 - share)
        after = steady_step_ns(replay, less) * scale
        if after < least_ns:
            after = max(after, device_ns(replay, less, scale, replayed))
        total = weights[chosen].clip(min=0).sum() / n_steps
        results.append((round(total * scale), round(max(before - after, 0))))
    return results
