"""Compare two runs' machine, software and work, and say what each difference invalidates."""

import polars as pl

from tracelens.analyses.analysis import Analysis
from tracelens.derive.comparing.comparability import INVALIDATES, facts, unrelated
from tracelens.errors import MissingTableError
from tracelens.schemas.results.comparing import COMPARE_SETUP
from tracelens.trace import Trace

_RAN = ("kernels", "spans", "timings", "stacks")


def compare_setup(base: Trace, other: Trace) -> pl.DataFrame:
    """Compare the runs' properties: one row per property, different ones first.

    Raises MissingTableError if one of the traces recorded nothing.
    """
    if not all(any(trace.has(name) for name in _RAN) for trace in (base, other)):
        raise MissingTableError(
            "compare_setup needs kernels, ops, timings or stacks in both traces; tracelens collect"
            " torch gives the first two"
        )
    rows = []
    for what, base_value, other_value in facts(base, other):
        status = (
            "unknown"
            if base_value is None or other_value is None
            else "same"
            if base_value == other_value
            else "differs"
        )
        rows.append(
            (
                what,
                base_value,
                other_value,
                status,
                INVALIDATES[what] if status == "differs" else None,
            )
        )
    frame = COMPARE_SETUP.conform(
        pl.DataFrame(rows, schema=COMPARE_SETUP.names, orient="row", infer_schema_length=None)
    )
    return frame.sort(pl.col("status") != "differs", maintain_order=True)


def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:
    """Say what each difference invalidates, and list the properties that were not recorded."""
    refused = unrelated(base, other)
    sentences = [f"{refused[0].upper()}{refused[1:]}."] if refused else []
    sentences += [
        f"The runs differ in {what}: {base_value} in base, {other_value} in new;"
        f" not to be compared: {why}."
        for what, base_value, other_value, why in (
            frame.filter(status="differs").select("what", "base", "other", "invalidates").rows()
        )
        if what != "program"
    ]
    unknown = frame.filter(status="unknown")["what"].to_list()
    if unknown:
        sentences.append(f"Not known for at least one run: {', '.join(unknown)}.")
    return sentences


ANALYSIS = Analysis(
    "Did the two runs do the same work?",
    COMPARE_SETUP,
    compare_setup,
    notes=notes,
    shown=("what", "status", "base", "other", "invalidates"),
)
