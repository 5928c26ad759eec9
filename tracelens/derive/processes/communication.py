"""Find spans in which a process communicates with others.

They are the ops of torch's process groups, and what the groups' own threads run.
"""

import polars as pl

from tracelens.derive.columns.per_unique import matching

ON_HOST = r"^gloo:|^mpi:|^ucc:"
"""Names of spans on the host that send and receive, but for the ops that request it."""
COMMUNICATION = rf"^c10d::|{ON_HOST}"
"""Names of spans in which a process communicates with others.

They are the ops of torch's process groups, and functions that run on the groups' threads.
"""
SPAN_KINDS = ("op", "annotation", "nvtx")
"""Kinds of spans that may be communication; Python calls with such names are not."""


def communication_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return process_id, start_ns and duration_ns of the spans in which a process communicates."""
    names = spans["name"].cast(pl.Categorical)
    (communicates,) = matching(names, COMMUNICATION)
    is_of_kind = spans["kind"].is_in(SPAN_KINDS)
    return span_times(spans, communicates & is_of_kind)


def span_times(spans: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """Return the process and the times of the chosen spans, as wide integers."""
    columns = spans.select("process_id", "start_ns", "duration_ns")
    rows = columns[chosen.arg_true()]
    return rows.cast(pl.Int64)
