"""The command `collect calls`: time the calls of a call plan."""

from pathlib import Path
from typing import Annotated

import typer

from tracelens.advisor import CallPlan, time_calls
from tracelens.cli.collect.request import Force, Out, tell_of
from tracelens.cli.io import progress
from tracelens.cli.output import tell
from tracelens.errors import SourceError
from tracelens.trace.target_folder import check_target


def collect_calls(
    plan: Annotated[
        Path,
        typer.Argument(metavar="PLAN", help="Call plan from tracelens advise; it names the calls."),
    ],
    *,
    out: Out = None,
    force: Force = False,
) -> None:
    """Time each call of a plan that has no measured cost yet.

    The trace that is written has the table call_costs, which tracelens advise --costs reads.
    """
    target = out or Path(f"{plan.stem}_calls.tracelens")
    check_target(target, force=force)
    chosen = CallPlan.read(plan)
    if not chosen.candidates:
        raise SourceError(
            f"{plan}: names no candidates: every call was measured; apply it with tl.apply_calls"
        )
    with progress(f"timing {len(chosen.candidates)} calls"):
        trace = time_calls(chosen.candidates)
    failed = trace.frame("call_costs")["problem"].count()
    tell_of(trace.write(target, force=force), target)
    tell(
        f"timed {len(chosen.candidates) - failed:,} calls alone; {failed:,} failed (column problem)"
    )
