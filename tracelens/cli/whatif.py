"""The command `whatif`: predict a step after a change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.io import open_any, progress
from tracelens.cli.next_step import report_command, suggest
from tracelens.cli.options import OneTrace
from tracelens.cli.output import emit
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.replay.changes import usages
from tracelens.derive.replay.predict import Prediction, predict
from tracelens.derive.replay.unprofiled import UnprofiledStep, unprofiled_steps
from tracelens.derive.replay.unprofiled_job import UnprofiledJob, unprofiled_job
from tracelens.derive.time.bound_places import short_kernel
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.errors import UsageError, printable


def whatif(
    trace: OneTrace,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CHANGE…", help=f"What is changed, all together: {', '.join(usages())}."
        ),
    ] = None,
    *,
    other: Annotated[
        Path | None,
        typer.Option(
            "--with", metavar="OTHER", help="A trace of the program with another batch size."
        ),
    ] = None,
    rank: Annotated[
        int | None, typer.Option(metavar="N", help="Only this rank; by default each one.")
    ] = None,
) -> None:
    """Say how long a step would take after a change, by replaying the trace.

    The times are without the cost of torch.profiler. The cost of other profilers is not known and
    stays. Several changes are applied together. docs/accuracy.md says how near predictions came to
    programs that were really changed.
    """
    if not changes:
        raise UsageError(
            f"say what is changed: tracelens whatif {trace} CHANGE, as one of {', '.join(usages())}"
        )
    if file := next((change for change in changes if Path(change).is_file()), None):
        raise UsageError(
            f"{file}: is a file, not a change; for the ranks of a job, name the folder with their files"
        )
    changes = _without_quotes(changes)
    opened = open_any([trace])
    with progress("replaying"):
        second = None if other is None else open_any([other])
        predictions = predict(opened, changes, rank, second)
        steps = unprofiled_steps(opened)
        of_job = unprofiled_job(opened)
    several = len(predictions) > 1
    emit(
        "".join(
            _sentences(prediction, changes, before, several=several)
            for prediction in predictions
            for before in [of_job if prediction.rank is None else steps.get(prediction.rank)]
        )
    )
    suggest(
        report_command([Path("CHANGED")], [trace]),
        "when CHANGED is captured",
    )


def _without_quotes(words: list[str]) -> list[str]:
    """Join `faster NAME by X` and `network XN`, which a shell passes as words without quotes."""
    changes: list[str] = []
    rest = [*words]
    while rest:
        n_words = 1
        if rest[0] == "faster" and [word.lower() for word in rest[2:3]] == ["by"]:
            n_words = 4
        elif rest[0] == "network" and re.fullmatch("[xX]?[0-9].*", "".join(rest[1:2])):
            n_words = 2
        changes.append(" ".join(rest[:n_words]))
        del rest[:n_words]
    return changes


def _sentences(
    prediction: Prediction,
    changes: list[str],
    step: UnprofiledStep | UnprofiledJob | None,
    *,
    several: bool,
) -> str:
    """Describe the prediction for one rank, or for the job, in a few lines.

    `step` is the step before the changes, None if it is not known.
    """
    subject = (
        "the job: " if prediction.rank is None else f"rank {prediction.rank}: " if several else ""
    )
    change = printable(" and ".join(changes))
    whole = "a step" if prediction.rank is None or step is not None else "all that was recorded"
    before = duration(prediction.before_ns)
    of_what = "as recorded, the profiler's cost included"
    if step is not None and step.low_ns is not None and step.high_ns is not None:
        before += f" {_range(step.low_ns, step.high_ns)}"
        of_what = "without the profiler"
    after = duration(prediction.after_ns)
    if prediction.after_ns > (1 + WORTH_IT) * prediction.before_ns:
        after += ", longer"
    elif not prediction.has_gain:
        after += ", no clear gain"
    after += f" {_range(prediction.low_ns, prediction.high_ns)}"
    first = f"{subject}{whole} takes {before}, with {change}: {after}\n"
    thing = prediction.next or ""
    if prediction.bound == "compute":
        thing = short_kernel(thing)
    place = f": {printable(thing)}" if thing else ""
    bound = PART_WORDS.get(prediction.bound or "", prediction.bound)
    is_late = prediction.bound == "straggler"
    limit = f"the others wait for {thing}" if is_late else f"most of the time is {bound}{place}"
    then = f"{first}  times {of_what}; then {limit}\n"
    if prediction.note is not None:
        then += f"  {prediction.note}\n"
    if prediction.replay_error_frac is None:
        return then
    return f"{then}  the replay misses the recorded step by {prediction.replay_error_frac:.1%}\n"


def _range(low_ns: int, high_ns: int) -> str:
    return f"({span_text(low_ns, high_ns)})"
