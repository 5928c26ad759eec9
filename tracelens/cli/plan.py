"""The command `plan`: write a compile plan from two runs."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from tracelens.advisor.plan import Plan, make_plan
from tracelens.analyses import layer_oracle
from tracelens.answers.words import counted
from tracelens.cli.io import keep_sources, open_any, progress
from tracelens.cli.next_step import report_command, suggest
from tracelens.cli.options import OutFile
from tracelens.cli.output import emit, tell, warn
from tracelens.derive.comparing.predicted_vs_measured import planned_outcome, planned_steps
from tracelens.derive.layers.best_mixture import TOTAL
from tracelens.derive.layers.compilation import other_device
from tracelens.schemas.results.layers import ORACLES
from tracelens.storage.addresses import shown


def plan(  # noqa: PLR0913 - one parameter an option
    base: Annotated[Path, typer.Argument(metavar="BASE", help="Trace or source of the eager run.")],
    other: Annotated[
        Path,
        typer.Argument(
            metavar="OTHER",
            help="Trace or source of the compiled run. For a trace of collect timings, give BASE"
            " again.",
        ),
    ],
    *,
    out: OutFile = None,
    oracle: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"Oracle whose path is planned: {', '.join(ORACLES)}."),
    ] = "dynamic",
    switch_cost_ns: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="NS",
            help="Cost of a change between eager and compiled; by default as measured, or 0 if it"
            " was not measured.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Times to use: kernels, cuda_event, layer, subtraction or profiler.",
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="TRACE",
            help="A run with the plan applied. Says whether its steps are faster than BASE's.",
        ),
    ] = None,
) -> None:
    """Write a plan of the submodules to compile, for tl.apply_plan(model, FILE)."""
    keep_sources(
        [base, other, *([measured] if measured else [])],
        [out],
    )
    opened = open_any([base])
    compiled = opened if os.path.realpath(base) == os.path.realpath(other) else open_any([other])
    with progress("planning"):
        compile_plan = make_plan(
            opened, compiled, oracle=oracle, switch_cost_ns=switch_cost_ns, method=method
        )
    emit(compile_plan.to_json(), out)
    _tell(compile_plan)
    if compile_plan.made_from.get("n_unclear"):
        with progress("comparing"):
            estimated = layer_oracle(opened, compiled, switch_cost_ns=switch_cost_ns, method=method)
        tell(_why_below_oracle(compile_plan, estimated.filter(oracle=oracle, layer=TOTAL)))
    devices = other_device(opened, compiled)
    if devices is not None:
        warn(devices)
    applied = [] if measured is None else [open_any([measured])]
    for sentence in planned_outcome(*applied, opened, compiled):
        tell(sentence)
    for run in applied:
        if run.has("kernels"):
            with progress("comparing"):
                compared = planned_steps(opened, run)
            tell(compared)
    if out is not None:
        tell(f"wrote {out}: apply it with tl.apply_plan(model, {str(out)!r})")
    if measured is None:
        pair = " ".join(shlex.quote(shown(path)) for path in (base, other))
        suggest(
            f"tracelens plan {pair} --measured PLANNED"
            if out
            else f"tracelens plan {pair} --out plan.json"
        )
    else:
        suggest(report_command([measured], [base]))


def _why_below_oracle(plan: Plan, totals: pl.DataFrame) -> str:
    """Explain why the plan predicts a smaller speedup than `layer_oracle` does.

    `totals` has the total speedup by `layer_oracle`, one row per rank.
    """
    gain = totals.sort("rank")["speedup_over_base"][0]
    unclear = (
        f"{counted(plan.made_from['n_unclear'], 'layer')} may be no faster in either run, as times"
        " vary: the plan counts each as equally fast in both"
    )
    if gain is None:
        return unclear
    return (
        f"{unclear}; with their measured times, as layer_oracle and compare_layers count them, its"
        f" choice would be {gain:.3f} times as fast as base"
    )


def _tell(plan: Plan) -> None:
    about = plan.made_from
    n_compiled = sum(choice == "compiled" for choice in plan.layers.values())
    tell(
        f"{n_compiled:,} of {len(plan.layers):,} layers compiled, in {len(plan.compile):,} regions"
        f" with {len(plan.disable):,} exceptions"
    )
    if about["predicted_speedup_over_base"] is not None:
        tell(
            f"in theory {about['predicted_speedup_over_base']:.3f} times as fast as base and "
            f"{about['predicted_speedup_over_other']:.3f} times as fast as new: measure it"
        )
    if plan.paths == "instance":
        warn(
            "layers are named as the trace numbers them, so the plan cannot be applied: capture"
            " attribute paths"
        )
