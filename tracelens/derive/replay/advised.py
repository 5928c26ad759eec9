"""Compute the saving of each advised change, by a replay or else from the recorded times."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from tracelens.derive.columns.time_text import change_text, duration, span_text
from tracelens.derive.layers.roofline_rules import roofline_rules
from tracelens.derive.replay.predict import Prediction, predict
from tracelens.derive.replay.unprofiled import unprofiled_steps
from tracelens.derive.time.advice import Change, largest_changes
from tracelens.derive.time.advice_rules import RULES
from tracelens.derive.time.judged_program import judge_program
from tracelens.derive.time.model import time_model
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.errors import MissingTableError, UsageError
from tracelens.trace import Trace


class Advised(Struct, frozen=True):
    """Holds an advised change with its prediction, None if no replay can make the change."""

    change: Change
    prediction: Prediction | None

    @property
    def saved_frac(self) -> float | None:
        """The share of a step that the change saves; None if that is not known."""
        if self.prediction is None:
            return self.change.share
        return 1 - self.prediction.after_ns / max(self.prediction.before_ns, 1)

    @property
    def is_clear(self) -> bool:
        """False if a replay predicts that the change may save nothing."""
        return self.prediction is None or self.prediction.has_gain

    @property
    def sentence(self) -> str:
        """A sentence with the change, its predicted effect, and the code that it concerns."""
        if self.prediction is None or self.saved_frac is None:
            return self.change.sentence
        prediction = self.prediction
        before_ns, after_ns = prediction.before_ns, prediction.after_ns
        spread = span_text(prediction.low_ns, prediction.high_ns)
        if not prediction.has_gain:
            return self.change.predicted_sentence(
                f"no clear gain: {duration(before_ns)} → {spread} a step without the"
                f" profiler; see whatif {self.change.expression}"
            )
        return self.change.predicted_sentence(
            f"{change_text(before_ns, after_ns)} a step without the profiler ({spread};"
            f" {self.saved_frac:.0%} less; see whatif {self.change.expression})"
        )


def list_changes(trace: Trace) -> list[Change]:
    """List the changes that the trace's recorded time and its roofline suggest."""
    return trace.derived(_list_changes)


def _list_changes(trace: Trace) -> list[Change]:
    program = judge_program(time_model(trace))
    rules = [rule for of_program in (*RULES, roofline_rules) for rule in of_program(program)]
    return largest_changes(program, rules)


def advised_changes(trace: Trace) -> list[Advised]:
    """List the changes that save at least 2 % of a step.

    A replay computes the saving if it can. Changes of unknown saving are listed, too. The largest
    saving is first, but changes that may save nothing are last.
    """
    return trace.derived(_advised_changes)


def _advised_changes(trace: Trace) -> list[Advised]:
    predictions = _predictions(trace)
    advised = [
        Advised(change, predictions.get(change.expression or "")) for change in list_changes(trace)
    ]
    worth = [item for item in advised if item.saved_frac is None or item.saved_frac >= WORTH_IT]
    return sorted(
        worth,
        key=lambda item: (not item.is_clear, -_most_saved(item)),
    )


def _most_saved(item: Advised) -> float:
    """Return the largest share of a step that a change may save.

    If the saving is unknown, it is the share of the step that the change concerns.
    """
    if item.saved_frac is not None:
        return item.saved_frac
    return sum(ns for _, ns in item.change.places) / max(item.change.step_ns, 1)


def advise(trace: Trace) -> list[str]:
    """Describe each of `advised_changes` in a sentence."""
    return [advised.sentence for advised in advised_changes(trace)]


def _predictions(trace: Trace) -> dict[str, Prediction]:
    """Return the prediction of each advised change, by the change's expression.

    Changes that no replay can make are left out.
    """
    # A replay of one rank of several would leave out the waits for other ranks.
    steps = unprofiled_steps(trace) if len(trace.manifest.ranks) == 1 else {}
    if not any(step.unprofiled_ns for step in steps.values()):
        return {}
    predictions = {}
    for change in list_changes(trace):
        if change.expression is not None:
            # Predicting raises if the trace lacks the data that the change needs.
            with suppress(UsageError, MissingTableError):
                (prediction,) = predict(trace, [change.expression], names_bound=False)
                predictions[change.expression] = prediction
    return predictions
