"""`op_times` in machine code, group of rows by group: of millions of spans only what must be is held, 12 bytes each.

Memory that was never touched before costs more than reading and adding up. See PLACED in `ancestry_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tracelens.derive import charging
from tracelens.derive.ancestry_fast import CALLS, LAUNCHED, ORDERED, PLACED, TIMES, TOTALS, frame, run
from tracelens.derive.op_times import WORK
from tracelens.derive.span_trees import rows_of_rank
from tracelens.fast.memory import Words, zeros
from tracelens.trace import Trace

# As in ancestry_kernel.
CODE, UP, N_OPS, OWN_NS, DEVICE_NS, N_WORDS = range(6)
N_NODES, HEAD = 0, 1
IS_OP, OWNED = 1, 2
_N_SLOTS = 1 << 18  # of nodes' hashes; half as many nodes, chains of names, are more than any program has
_N_LANES = 1 << 10
_FLAGS = {"op": IS_OP | OWNED, "python": OWNED, "module": OWNED}
_PLACING = ("span_id", "parent_id", "kind", "name")
_CALLS = ("process_id", "thread_id", "span_id", "start_ns", "duration_ns")
_MEASURES = {
    "n_calls": pl.Int64,
    "duration_total_ns": pl.Int64,
    "duration_mean_ns": pl.Float64,
    "duration_median_ns": pl.Float64,
    "duration_min_ns": pl.Int64,
    "duration_max_ns": pl.Int64,
}
_PLACE_BITS = 32
_SUMS = ["cuda_self_ns", "cpu_self_ns", "cuda_total_ns"]


class _Ops:
    """One rank's ops while its tables are read."""

    def __init__(self, n_spans: int) -> None:
        self.first = self.timed = self.ordered = 0
        self.in_calls = zeros(n_spans, np.int64)
        self.nodes = np.zeros((_N_SLOTS // 2 + 1, N_WORDS), np.int64)
        self.slots = np.zeros(HEAD + _N_SLOTS, np.int64)
        self.slots[N_NODES] = 1
        self.places = zeros(n_spans, np.uint32)
        self.lanes = np.zeros(3 + 3 * _N_LANES, np.int64)
        self.lanes[1] = np.iinfo(np.int64).min
        self.words: dict[str, int] = {}
        self.ends, self.durations = self.lanes[:0], self.lanes[:0]
        self._shared: dict[str, Any] = {"nodes": self.nodes, "places": self.places, "n_places": n_spans}

    def place(self, spans: pa.RecordBatch) -> bool:
        """Find the node of each span; whether that could be."""
        try:
            (codes, names), (kinds, sorts) = (_dictionary(spans.column(name)) for name in ("name", "kind"))
        except UnicodeDecodeError:  # of a damaged file
            return False
        arrays = {
            **_rows(spans.column("parent_id")), "lanes": _words(spans.column("span_id")), "codes": codes,
            "names": np.array([self.words.setdefault(name, len(self.words)) for name in names], np.int64),
            "n_names": len(names), "kinds": kinds, "n_sorts": len(sorts),
            "sorts": np.array([_FLAGS.get(kind, 0) for kind in sorts], np.int64),
            "table": self.slots, "n_table": _N_SLOTS, "first": self.first,
        }  # fmt: skip
        is_placed = run(PLACED, spans.num_rows, result=self.nodes, **arrays, **self._shared)
        self.first += spans.num_rows
        return is_placed

    def charge_calls(self, calls: pa.RecordBatch) -> bool:
        """Take calls off the spans that they are made in; whether that could be."""
        arrays = {
            **_rows(calls.column("span_id")), "starts": _words(calls.column("start_ns")),
            "own": _words(calls.column("duration_ns")), "codes": _words(calls.column("process_id")),
            "lanes": _words(calls.column("thread_id")), "table": self.lanes, "n_table": _N_LANES,
        }  # fmt: skip
        return run(CALLS, calls.num_rows, result=self.in_calls, n_result=len(self.in_calls), **arrays)

    def launch(self, work: pa.RecordBatch) -> bool:
        """Charge device work to nodes."""
        arrays = {**_rows(work.column("span_id")), "own": _words(work.column("duration_ns"))}
        return run(LAUNCHED, work.num_rows, result=self.nodes, **arrays, **self._shared)

    def time(self, spans: pa.RecordBatch) -> bool:
        """Charge to nodes what spans take themselves; whether that could be, and they are placed."""
        arrays = {"own": _words(spans.column("self_ns")), "starts": self.in_calls, "first": self.timed}
        self.timed += spans.num_rows
        is_placed = self.timed <= self.first
        return is_placed and run(TIMES, spans.num_rows, result=self.nodes, **arrays, **self._shared)

    def expect(self) -> None:
        """Make room for durations, by code, now that ops are counted and calls are taken off: where these were."""
        found = self.nodes[1 : self.slots[N_NODES]]
        counts = np.zeros(len(self.words), np.int64)
        np.add.at(counts, found[:, CODE], found[:, N_OPS])
        self.ends = np.cumsum(counts) - counts  # where the next of each code goes
        self.durations = self.in_calls[: int(counts.sum())]

    def order(self, spans: pa.RecordBatch) -> bool:
        """Put the durations of ops by code; whether that could be."""
        arrays = {"own": _words(spans.column("duration_ns")), "table": self.ends, "first": self.ordered}
        self.ordered += spans.num_rows
        n_ops = len(self.durations)
        return run(ORDERED, spans.num_rows, result=self.durations, n_result=n_ops, **arrays, **self._shared)

    def measures(self, pool: Executor) -> pl.DataFrame:
        """Name, and of its ops' durations the measures, by code; the pool takes half of them."""
        begins = [0, *self.ends.tolist()]
        parts = [self.durations[begins[code] : begins[code + 1]] for code in range(len(self.words))]
        half = int(np.searchsorted(self.ends, len(self.durations) // 2))
        first = pool.submit(lambda: [_measures(part) for part in parts[:half]])
        second = [_measures(part) for part in parts[half:]]
        measures = pl.DataFrame([*first.result(), *second], _MEASURES, orient="row")
        return pl.DataFrame({"name": [*self.words]}, {"name": pl.String}).hstack(measures)

    def sums(self) -> pl.DataFrame | None:
        """The sums by code; None where they cannot be had."""
        sums = np.zeros((len(self.ends), len(_SUMS)), np.int64)
        above = np.full(len(self.ends), -1, np.int64)
        if not run(TOTALS, int(self.slots[N_NODES]), result=sums, table=above, **self._shared):
            return None
        return frame(sums, _SUMS)


def op_times(trace: Trace) -> list[pl.DataFrame] | None:
    """What `op_times.op_times` gives; None where there is no kernel, or where ids are not rows."""
    ranks = {rank: _Ops(n) for rank, n in trace.heights("spans").items()}
    with ThreadPoolExecutor(1) as pool:
        timed = [pool.submit(_charge_calls, trace, ranks)]
        times = _each(trace, ranks, _Ops.time, "spans", "self_ns")  # by the pool, group by group once they are placed
        for is_placed in _each(trace, ranks, _Ops.place, "spans", *_PLACING):
            if not is_placed:
                return None
            timed.append(pool.submit(next, times, False))
        if not all(future.result() for future in timed):
            return None
        launched = pool.submit(_launch, trace, ranks)
        for ops in ranks.values():
            ops.expect()
        if not all(_each(trace, ranks, _Ops.order, "spans", "duration_ns")):
            return None
        measures = {rank: ops.measures(pool) for rank, ops in ranks.items()}
        if not launched.result():
            return None
    found = []
    for rank, names in measures.items():
        sums = ranks[rank].sums()
        if sums is None:
            return None
        # The other names are of spans that are no ops.
        found.append(names.hstack(sums).with_columns(rank=pl.lit(rank, pl.Int32)).filter(pl.col("n_calls") > 0))
    return [names for names in found if names.height]


def _each(
    trace: Trace, ranks: dict[int, _Ops], take: Callable[[_Ops, pa.RecordBatch], bool], name: str, *columns: str
) -> Iterator[bool]:
    """Have the ops of its rank take a table, group of rows by group; whether they could, for each."""
    for rank, batches in trace.batches(name, *columns):
        ops = ranks.get(rank)
        yield ops is None or all(_can_be_read(batch) and take(ops, batch) for batch in batches)


def _charge_calls(trace: Trace, ranks: dict[int, _Ops]) -> bool:
    """Take the calls off the spans of all ranks."""
    if all(_each(trace, ranks, _Ops.charge_calls, "api_calls", *_CALLS)):
        return True
    # They are out of order, or of very many threads.
    calls = trace.select("api_calls", "rank", *_CALLS)
    for rank, ops in ranks.items():
        n_spans = len(ops.in_calls)
        ops.in_calls[:] = charging.charge_calls(rows_of_rank(calls, rank, n_spans), n_spans).to_numpy()
    return True


def _launch(trace: Trace, ranks: dict[int, _Ops]) -> bool:
    """Charge device work to the ops of all ranks; whether that could be."""
    return all(all(_each(trace, ranks, _Ops.launch, name, "span_id", "duration_ns")) for name in WORK)


def _can_be_read(batch: pa.RecordBatch) -> bool:
    """Whether the columns are as a trace has them: words or dictionaries, null only where no span is named."""
    return all(
        (_is_coded(column.type) if name in {"kind", "name"} else column.type == pa.int64())
        and (name in {"span_id", "parent_id"} or not column.null_count)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    )


def _is_coded(kind: pa.DataType) -> bool:
    """Whether a column has strings as places of 32 bits in a list of them."""
    is_dictionary = pa.types.is_dictionary(kind) and kind.index_type.bit_width == _PLACE_BITS
    return is_dictionary and kind.value_type in {pa.string(), pa.large_string()}


def _measures(durations: Words) -> tuple[int, int, float | None, float | None, int | None, int | None]:
    """What `intervals.durations` gives."""
    n = len(durations)
    if not n:
        return 0, 0, None, None, None, None
    middle = [(n - 1) // 2, n // 2]
    durations.partition(middle)
    total, (low, high) = int(durations.sum()), durations[middle].tolist()
    return n, total, total / n, (low + high) / 2, int(durations.min()), int(durations.max())


def _words(column: pa.Array) -> Words:
    """A column of words as it lies in Arrow's memory."""
    return np.frombuffer(column.buffers()[1], np.int64, len(column), 8 * column.offset)


def _rows(column: pa.Array) -> dict[str, Any]:
    """A column of row numbers, and where they are not null."""
    found: dict[str, Any] = {"rows": _words(column)}
    if column.null_count:
        found |= {"valid": np.frombuffer(column.buffers()[0], np.uint8), "n_skipped": column.offset}
    return found


def _dictionary(column: pa.DictionaryArray) -> tuple[Any, list[str]]:
    """A column of strings as places in a list."""
    places = column.indices
    return np.frombuffer(places.buffers()[1], np.uint32, len(places), 4 * places.offset), column.dictionary.to_pylist()
