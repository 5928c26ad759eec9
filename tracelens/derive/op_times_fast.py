"""`op_times` in C, group of rows by group: of millions of spans only what must be is held, 12 bytes each.

Memory that was never touched before costs more than reading and adding up. See `struct ops` in native.h.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa

from tracelens.derive import charging
from tracelens.derive.op_times import WORK
from tracelens.derive.span_trees import rows_of_rank
from tracelens.native import LIBRARY
from tracelens.native.columns import memory, series, values
from tracelens.trace import Trace

_IS_OP, _OWNED = 1, 2
_FLAGS = {"op": _IS_OP | _OWNED, "python": _OWNED, "module": _OWNED}
_PLACING = ("span_id", "parent_id", "kind", "name")
_CALLS = ("process_id", "thread_id", "span_id", "start_ns", "duration_ns")
_SUMS = (
    "n_calls", "duration_total_ns", "duration_min_ns", "duration_max_ns", "low", "high", "cuda_self_ns", "cpu_self_ns",
    "cuda_total_ns",
)  # fmt: skip
_COLUMNS = (
    "name", "n_calls", "duration_total_ns", "duration_mean_ns", "duration_median_ns", "duration_min_ns",
    "duration_max_ns", "cuda_self_ns", "cpu_self_ns", "cuda_total_ns", "rank",
)  # fmt: skip
_PLACE_BITS = 32


class _Ops:
    """One rank's ops while its tables are read."""

    def __init__(self, n_spans: int) -> None:
        assert LIBRARY is not None
        self.n_spans = n_spans
        self.ops = LIBRARY.Ops(n_spans)
        self.words: dict[str, int] = {}
        self.ends = array("q")

    def place(self, spans: pa.RecordBatch) -> bool:
        """Find the chain of each span; whether that could be."""
        names, kinds = spans.column("name"), spans.column("kind")
        try:
            texts, words = names.dictionary.to_pylist(), kinds.dictionary.to_pylist()
        except UnicodeDecodeError:  # of a damaged file
            return False
        codes = array("I", [self.words.setdefault(name, len(self.words)) for name in texts])
        flags = array("I", [_FLAGS.get(word, 0) for word in words])
        places = values(names.indices), values(kinds.indices)
        return self.ops.place(*_rows(spans.column("parent_id")), values(spans.column("span_id")), *places, codes, flags)

    def charge_calls(self, calls: pa.RecordBatch) -> bool:
        """Take calls off the spans that they are made in; whether that could be."""
        columns = (values(calls.column(name)) for name in ("start_ns", "duration_ns", "process_id", "thread_id"))
        return self.ops.charge_calls(*_rows(calls.column("span_id")), *columns)

    def launch(self, work: pa.RecordBatch) -> bool:
        """Charge device work to chains."""
        return self.ops.launch(*_rows(work.column("span_id")), values(work.column("duration_ns")))

    def time(self, spans: pa.RecordBatch) -> bool:
        """Charge to chains what spans take themselves; whether they are placed."""
        return self.ops.time(values(spans.column("self_ns")))

    def expect(self) -> None:
        """Make room for durations, by code, now that ops are counted and calls are taken off: where these were."""
        counts = array("q", bytes(8 * len(self.words)))
        self.ops.counts(counts)
        at = 0
        for count in counts:
            self.ends.append(at)  # where the next of each code goes
            at += count

    def order(self, spans: pa.RecordBatch) -> bool:
        """Put the durations of ops by code; whether that could be."""
        return self.ops.order(values(spans.column("duration_ns")), self.ends)

    def sums(self, rank: int) -> pl.DataFrame:
        """What `op_times` gives of the rank."""
        words = series(self.ops.sums(self.ends), pl.Int64())
        found = pl.DataFrame({name: words.gather_every(len(_SUMS), at) for at, name in enumerate(_SUMS)})
        n, total = pl.col("n_calls"), pl.col("duration_total_ns")
        return (
            found.with_columns(
                pl.Series("name", list(self.words), pl.String),
                duration_mean_ns=total / n,
                duration_median_ns=(pl.col("low") + pl.col("high")) / 2,
                rank=pl.lit(rank, pl.Int32),
            )
            .filter(n > 0)  # the other names are of spans that are no ops
            .select(_COLUMNS)
        )


def op_times(trace: Trace) -> list[pl.DataFrame] | None:
    """What `op_times.op_times` gives; None where the library is not there, or where ids are not rows."""
    if LIBRARY is None:
        return None
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
        if not all(_each(trace, ranks, _Ops.order, "spans", "duration_ns")) or not launched.result():
            return None
        found = list(pool.map(lambda rank: ranks[rank].sums(rank), ranks))
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
        in_calls = charging.charge_calls(rows_of_rank(calls, rank, ops.n_spans), ops.n_spans)
        ops.ops.set_in_calls(memory(in_calls, pl.Int64()))
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


def _rows(column: pa.Array) -> tuple[pa.Buffer, pa.Buffer | None, int]:
    """A column of row numbers, the bits that say which are not null, and how many bits come before."""
    return values(column), column.buffers()[0] if column.null_count else None, column.offset
