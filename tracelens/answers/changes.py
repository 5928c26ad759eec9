"""List changes that would help one program, each with the time of a step after it."""

from collections.abc import Collection

from msgspec.structs import replace

from tracelens.answers.answer import LEAST_SHARE, Change
from tracelens.answers.words import place_text
from tracelens.derive.replay.advised import advised_changes, list_changes
from tracelens.derive.replay.job_changes import predict_job
from tracelens.derive.replay.predict import Prediction
from tracelens.derive.replay.unprofiled_job import UnprofiledJob
from tracelens.derive.time.advice import Change as Saving
from tracelens.derive.time.culprit_costs import Culprit
from tracelens.derive.time.idle_advice import BY_CAUSE
from tracelens.derive.time.time_parts import SLOWED, WORTH_IT
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.trace import Trace

_MOST = 3


def changes_of(
    trace: Trace,
    step_ns: int | None,
    place: str | None = None,
    without: Collection[str | None] = (),
    unprofiled_ns: int | None = None,
) -> tuple[Change, ...]:
    """Return the best changes, the largest saving first.

    - `step_ns`: time of a step without the changes, which their shares refer to
    - `place`: code or layer that the answer already names, which no change names again
    - `without`: causes whose changes are left out
    - `unprofiled_ns`: time of a step without the profiler, which is shortened; default: `step_ns`
    """
    changes = []
    for advised in advised_changes(trace):
        if advised.change.cause in without:
            continue
        change = _change(advised.change, step_ns, place, unprofiled_ns)
        prediction = advised.prediction
        changes.append(change if prediction is None else _predicted(change, prediction))
    return tuple(changes[:_MOST])


def widen(changes: tuple[Change, ...], job: UnprofiledJob | None) -> tuple[Change, ...]:
    """Extend the ranges of changes by the range of the job's step without the profiler.

    The savings of these changes are of recorded time.
    """
    if job is None:
        return changes
    lower, higher = (ns / max(job.unprofiled_ns, 1) for ns in (job.low_ns, job.high_ns))
    return tuple(
        change
        if change.low_ns is None or change.high_ns is None
        else replace(
            change,
            low_ns=round(change.low_ns * lower),
            high_ns=round(change.high_ns * higher),
        )
        for change in changes
    )


def changes_of_job(
    trace: Trace,
    culprit: Culprit,
    step_ns: int | None,
    place: str | None,
    unprofiled: UnprofiledJob | None,
) -> tuple[Change, ...]:
    """Return the best changes of a job: first the change for the late ranks, then others.

    `place` is the code in which the late ranks lose their time. See `changes_of` for `step_ns`.
    """
    unprofiled_ns = None if unprofiled is None else unprofiled.unprofiled_ns
    if culprit.part == "communication" or step_ns is None:
        others = changes_of(trace, step_ns, place, unprofiled_ns=unprofiled_ns)
        return widen(others, unprofiled)
    # A rank that is late because it computes more needs less work, not faster kernels.
    is_same = (culprit.cause, "waiting") if culprit.cause in IDLE_PARTS else ("waiting",)
    changes = list_changes(trace)
    of_cause = next(
        (change for cause in is_same for change in changes if change.cause == cause),
        None,
    )
    if of_cause is None:
        others = changes_of(trace, step_ns, place, unprofiled_ns=unprofiled_ns)
        return widen(others, unprofiled)
    # A replay of the job's collectives gives the step after the first change.
    job = predict_job(trace, ["straggler_fixed"])
    first = replace(
        _change(of_cause, None, place),
        saved_frac=1 - job.after_ns / job.before_ns,
        after_ns=round(job.after_ns),
        low_ns=round(job.low_ns),
        high_ns=round(job.high_ns),
        has_gain=job.least_gain_ns > WORTH_IT * job.before_ns,
    )
    if culprit.cause in IDLE_PARTS:
        # The cause of one of many ranks may be too small a part of the job to have a change.
        usual = BY_CAUSE.get(culprit.cause) if of_cause.cause == "waiting" else None
        text = first.text if usual is None else usual[:1].lower() + usual[1:]
        first = replace(first, text=f"on {culprit.members.text}: {text}")
    # The first change removes what others wait for, so changes against waiting are left out.
    rest = changes_of(trace, step_ns, place, is_same, unprofiled_ns)
    return (first, *widen(rest, unprofiled))[:_MOST]


def _predicted(change: Change, prediction: Prediction) -> Change:
    """Return the change with the step that a replay predicts, and its range."""
    return replace(
        change,
        saved_frac=1 - prediction.after_ns / prediction.before_ns,
        after_ns=prediction.after_ns,
        low_ns=prediction.low_ns,
        high_ns=prediction.high_ns,
        has_gain=prediction.has_gain,
    )


def _change(
    saving: Saving,
    step_ns: int | None,
    place: str | None,
    unprofiled_ns: int | None = None,
) -> Change:
    """Return the change with the length of a step after it. See `changes_of` for parameters."""
    text = saving.text[:1].lower() + saving.text[1:]
    where = saving.places[0][0] if saving.places else None
    is_named = where is None or where == place or saving.cause == "launch"
    change = Change(
        text,
        saving.share,
        section=saving.section.split(",")[0],
        place=None if is_named else place_text(where),
    )
    if saving.share is None or step_ns is None or not saving.step_ns:
        return change
    if saving.share > 1 - LEAST_SHARE:
        return change  # it would save nearly all of the step, so the step after it is unknown

    before_ns = step_ns if unprofiled_ns is None else unprofiled_ns
    # A profiler slows hosts, which others then wait for. So these savings shrink with the step.
    shrinks = unprofiled_ns is not None and saving.cause in (*SLOWED, "waiting")
    of_ns = before_ns if shrinks else step_ns
    # The saving is a share of the mean step. A median step is shortened by the same share.
    if saving.low_ns is None or saving.high_ns is None:
        return replace(change, after_ns=round(max(before_ns - saving.share * of_ns, 0)))
    least_ns, most_ns = (
        round(max(before_ns - saved_ns / saving.step_ns * of_ns, 0))
        for saved_ns in (saving.high_ns, saving.low_ns)
    )
    return replace(change, low_ns=least_ns, high_ns=most_ns)
