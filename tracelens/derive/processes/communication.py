"""Find the spans in which a process communicates with others."""

import polars as pl

from tracelens.derive.columns.per_unique import matching

ON_HOST = r"^gloo:|^mpi:|^ucc:"
"""Pattern for names of host spans that send and receive.

The ops that request communication do not match.
"""
COMMUNICATION = rf"^c10d::|{ON_HOST}"
"""Pattern for names of spans in which a process communicates with others."""
SPAN_KINDS = ("op", "annotation", "nvtx")
"""Kinds of spans that may be communication.

Python calls with such names are not.
"""


def communication_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return process_id, start_ns and duration_ns of the spans in which a process communicates."""
    names = spans["name"].cast(pl.Categorical)
    (communicates,) = matching(names, COMMUNICATION)
    is_of_kind = spans["kind"].is_in(SPAN_KINDS)
    return span_times(spans, communicates & is_of_kind)


def span_times(spans: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """Return process_id, start_ns and duration_ns of the chosen spans as Int64."""
    columns = spans.select("process_id", "start_ns", "duration_ns")
    rows = columns[chosen.arg_true()]
    return rows.cast(pl.Int64)
