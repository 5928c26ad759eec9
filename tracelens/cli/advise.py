"""The command `advise`: find faster library calls for a model, in words and as a plan."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tracelens.analyses.advise import (
    advised_ranks,
    frame_of,
    greedy_notes,
    greedy_ranks,
    notes,
)
from tracelens.cli.io import keep_sources, open_any, progress, screen
from tracelens.cli.next_step import report_command, suggest
from tracelens.cli.output import emit, tell
from tracelens.derive.calls.advising import plan_of
from tracelens.derive.calls.constraints import has_z3
from tracelens.storage.addresses import shown
from tracelens.trace import Trace
from tracelens.views.formats.report_text import frame_to_text
from tracelens.views.values import printable

SHOWN = (
    "sub_graph",
    "layers",
    "calls_now",
    "calls_advised",
    "saving_low_ns",
    "saving_ns",
    "saving_high_ns",
    "evidence",
)


def advise(
    trace: Annotated[
        list[Path], typer.Argument(metavar="TRACE", help="A trace, or the sources of one.")
    ],
    *,
    costs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="OTHER",
            help="A further trace with times of the same calls; repeat for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the call plan to this file, for tl.apply_calls(model, FILE).",
        ),
    ] = None,
    greedy: Annotated[
        bool,
        typer.Option(
            "--greedy",
            help="Choose calls greedily (the largest match first, in channels_last), not by the"
            " search, and compare both.",
        ),
    ] = False,
) -> None:
    """Say which library calls would compute the model faster, by a search over the legal ones."""
    keep_sources(
        [*trace, *(costs or [])],
        [out],
    )
    opened = open_any(trace)
    others: list[Trace] = [open_any([path]) for path in costs or []]
    with progress("searching"):
        advised = advised_ranks(opened, others, z3=None)
        frame = frame_of(advised)
        sentences = notes(opened, frame, costs=others)
        if greedy and advised:
            searched, advised = advised, greedy_ranks(opened, others, advised)
            frame, sentences = frame_of(advised), greedy_notes(advised, searched)
    if advised and out is not None:
        about = {"trace": opened.name, "costs": [other.name for other in others]}
        emit(
            json.dumps(plan_of(advised[min(advised)], about), indent=1) + "\n",
            out,
        )
        tell(f"wrote {out}")
    for sentence in sentences:
        emit(f"{printable(sentence)}\n")
    if not has_z3():
        tell(
            "layouts were tried one by one, with the same result; pip install z3-solver"
            " solves for them (Z3)"
        )
    if frame.height:
        emit(f"\n{frame_to_text(frame.select(SHOWN), screen())}")
    if not advised:
        suggest(report_command(trace))
    elif out is not None:
        suggest(f"tracelens collect calls {shlex.quote(str(out))}")
    else:
        sources = " ".join(shlex.quote(shown(path)) for path in trace)
        suggest(f"tracelens advise {sources} --out calls.json")
