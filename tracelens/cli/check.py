"""The command `check`: say what a trace holds, what was lost, and whether its rows can be true."""

import polars as pl

from tracelens.cli.io import open_any, plain, progress
from tracelens.cli.next_step import suggest_report
from tracelens.cli.options import Sources
from tracelens.cli.output import emit
from tracelens.derive.rank_ranges import merge_rows
from tracelens.trace.checking import problems
from tracelens.views.values import printable

EXIT_LOSSES = 1


def check(trace: Sources) -> None:
    """Say what a trace holds and what was lost.

    Exits with 1 when anything was lost or is broken, or rows cannot be true.
    """
    opened = open_any(trace)
    with progress("checking"):
        wrong = list(problems(opened))
    diagnostics = opened.frame("diagnostics")
    emit(plain(opened.summary().select("table", "n_rows", "empty because")))
    if diagnostics.height:
        emit(f"\n{plain(merge_rows(diagnostics))}")
    bad = diagnostics.filter(pl.col("severity").is_in(["loss", "error"]))
    for text in wrong:
        emit(f"\n{printable(text)}: collect the trace again.\n")
    if bad.height or wrong or not opened.manifest.complete:
        incomplete = "" if opened.manifest.complete else "; the capture is incomplete"
        emit(f"\nNot clean: {bad.height + len(wrong)} kinds of losses or errors{incomplete}.\n")
        suggest_report(trace)
        raise SystemExit(EXIT_LOSSES)
    emit("\nClean: nothing was lost.\n")
    suggest_report(trace)
