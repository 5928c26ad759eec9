"""What the advised changes would give, by replaying the trace with each."""

from __future__ import annotations

from contextlib import suppress

from tracelens.derive.replay.predict import Prediction, predict
from tracelens.derive.replay.unprofiled import unprofiled_steps
from tracelens.derive.time.advice import list_changes
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace


def predicted_changes(trace: Trace) -> dict[str, Prediction]:
    """Predict each advised change that a replay can make: by its expression, the step with it.

    Empty for several ranks, which are replayed one by one and would not wait for each other, and
    for steps of which the time without the profiler is not known.
    """
    return trace.derived(_predicted_changes)


def _predicted_changes(trace: Trace) -> dict[str, Prediction]:
    steps = unprofiled_steps(trace) if len(trace.manifest.ranks) == 1 else {}
    if not any(step.unprofiled_ns for step in steps.values()):
        return {}
    predictions = {}
    for change in list_changes(trace):
        if change.expression is not None:
            with suppress(UsageError, MissingTableError):  # the trace does not hold what it changes
                predictions[change.expression] = predict(trace, [change.expression])[0]
    return predictions
