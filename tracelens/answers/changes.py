"""Changes that would help one program, with the time of a step after each."""

from dataclasses import replace

from tracelens.answers.answer import LEAST_SHARE, Change
from tracelens.answers.words import place_text
from tracelens.derive.replay.advised import advised_changes
from tracelens.derive.replay.predict import Prediction
from tracelens.derive.time.advice import Change as Saving
from tracelens.trace import Trace

_MOST = 3


def changes_of(trace: Trace, step_ns: int | None, place: str | None = None) -> tuple[Change, ...]:
    """Return the best changes, the largest saving first, for a step of this time.

    `place` is named in the answer already, and not again.
    """
    changes = []
    for advised in advised_changes(trace):
        change = _change(advised.change, step_ns, place)
        prediction = advised.prediction
        changes.append(change if prediction is None else _predicted(change, prediction))
    return tuple(changes[:_MOST])


def _predicted(change: Change, prediction: Prediction) -> Change:
    """Return the change with the step that a replay gives, and its range."""
    return replace(
        change,
        saved_frac=1 - prediction.after_ns / prediction.before_ns,
        after_ns=prediction.after_ns,
        low_ns=prediction.low_ns,
        high_ns=prediction.high_ns,
    )


def _change(saving: Saving, step_ns: int | None, place: str | None) -> Change:
    """Return the change with what is left of a step.

    Shares of the mean step are taken as shares of the median one.
    """
    text = saving.text[:1].lower() + saving.text[1:]
    where = saving.places[0][0] if saving.places else None
    is_told = where is None or where == place or saving.cause == "launch"
    change = Change(
        text,
        saving.share,
        section=saving.section.split(",")[0],
        place=None if is_told else place_text(where),
    )
    if saving.share is None or step_ns is None or not saving.step_ns:
        return change
    if saving.share > 1 - LEAST_SHARE:
        return change  # no change leaves nothing of a step: how much it leaves is not known

    def after(saved_ns: int) -> int:
        return round(step_ns * (1 - saved_ns / saving.step_ns))

    if saving.low_ns is None or saving.high_ns is None:
        return replace(change, after_ns=round(step_ns * (1 - saving.share)))
    return replace(change, low_ns=after(saving.high_ns), high_ns=after(saving.low_ns))
