"""Make a collected trace larger, table by table: as if millions of kernels had been collected.

    python -m benchmarks.enlarge_tables OUT.tracelens --kernels 1000000 TRACE

Each repetition of the trace's events starts after the previous one ended. Row ids, correlation ids,
sequence numbers and steps are new, so that links stay inside it. Names do not vary: TRACE should be
an enlarged trace of 100 MB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from tracelens.schemas import TABLES
from tracelens.trace import Trace

_GAP_NS = 1_000_000
_OWN_ID = {
    "spans": "span_id",
    "api_calls": "api_call_id",
    "kernels": "kernel_id",
    "memcpys": "memcpy_id",
    "memsets": "memset_id",
    "synchronizations": "synchronization_id",
}
_SAME_AS = {"parent_id": "span_id", "op_span_id": "span_id"}
_EVENTS = (*_OWN_ID, "collectives", "allocations", "counters", "steps", "activities")
_COUNTED = ("correlation_id", "external_id", "sequence_number", "step")
_TIMES = ("start_ns", "time_ns")


def enlarge(trace: Trace, n_kernels: int) -> Trace:
    """Repeat the trace's events until it has at least `n_kernels` kernels."""
    turns = pl.DataFrame(
        {
            "turn": pl.int_range(
                -(-n_kernels // trace.kernels.height),
                eager=True,
            )
        }
    )
    length = _lengths(trace)
    tables = {name: trace.frame(name) for name in TABLES}
    for name in _EVENTS:
        moved = [
            pl.col(column) + pl.col("turn") * length[_SAME_AS.get(column, column)]
            for column in tables[name].columns
            if _SAME_AS.get(column, column) in length
        ]
        tables[name] = turns.join(tables[name], how="cross").with_columns(moved).drop("turn")
    return Trace(
        trace.manifest,
        {name: frame.lazy() for name, frame in tables.items()},
    )


def _lengths(trace: Trace) -> dict[str, int]:
    """Return the amount by which each column grows from one repetition to the next."""
    length = {column: trace.frame(name).height for name, column in _OWN_ID.items()}
    for column in (*_COUNTED, *_TIMES):
        columns_of_events = [
            trace.frame(name)[column].drop_nulls()
            for name in _EVENTS
            if column in trace.frame(name).columns
        ]
        values = pl.concat(
            [series for series in columns_of_events if series.len()] or [pl.Series([0])]
        )
        length[column] = _whole(values.max()) + 1
        if column in _TIMES:
            length[column] += _longest(trace) + _GAP_NS - _whole(values.min())
    length["time_ns"] = length["start_ns"]
    return length


def _longest(trace: Trace) -> int:
    frames = [trace.frame(name) for name in _EVENTS if "duration_ns" in trace.frame(name).columns]
    return max(_whole(frame["duration_ns"].max()) for frame in frames if frame.height)


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    given = parser.parse_args()
    enlarge(Trace.open(given.trace), given.kernels).write(given.out, force=True)


if __name__ == "__main__":
    main()
