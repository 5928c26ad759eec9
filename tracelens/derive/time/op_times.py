"""Sum the time of ops on host and device by name.

`by_columns` uses Polars, and defines the result. For many spans, `in_batches` computes the same
result in C (`struct ops` in native.h).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl

from tracelens.derive.columns.intervals import durations
from tracelens.derive.events.call_tree import nearest_row, repeats, sum_within
from tracelens.derive.events.span_trees import of_rank, span_trees
from tracelens.derive.time.self_time import attribute, attribute_calls
from tracelens.native import LIBRARY, random_key
from tracelens.native.columns import series
from tracelens.schemas import DEVICE_WORK
from tracelens.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

_MANY_SPANS = 1 << 10
"""With fewer spans, whole columns in Polars are faster."""


def op_times(trace: Trace) -> list[pl.DataFrame]:
    """Return a list with one frame for each rank that runs ops. A frame has one row per op name.

    - `rank`, `name`
    - `n_calls`, and duration_STATISTIC_ns for total, mean, median, min and max
    - `cpu_self_ns`, `cuda_self_ns`, `cuda_total_ns`
    """
    times = in_batches(trace) if trace.height("spans") >= _MANY_SPANS else None
    return by_columns(trace) if times is None else times


def by_columns(trace: Trace) -> list[pl.DataFrame]:
    """Sum the times of ops in Polars, over whole columns. This defines the result of the C code."""
    columns_of_spans = ("parent_id", "kind", "name", "duration_ns", "self_ns")
    spans = trace.select("spans", "rank", "span_id", *columns_of_spans)
    work = pl.concat(trace.select(table, "rank", "span_id", "duration_ns") for table in DEVICE_WORK)
    calls = trace.select("api_calls", "rank", *_CALLS)
    by_rank = []
    for tree in span_trees(spans):
        names = by_name(tree, of_rank(work, tree), of_rank(calls, tree))
        if names.height:
            by_rank.append(names)
    return by_rank


def by_name(
    tree: pl.DataFrame,
    work: pl.DataFrame,
    calls: pl.DataFrame,
) -> pl.DataFrame:
    """Sum the time of each op of one rank: one row per name, names as categorical codes."""
    kind = pl.col("kind")
    marked = tree.with_columns(
        is_op=kind == "op",
        is_python=kind.is_in(["python", "module"]),
    )
    is_op = marked["is_op"]
    op_of_span = nearest_row(marked["parent_id"], is_op)
    spans = _span_times(marked, op_of_span, work, calls)
    own_sums = pl.col("cpu_self_ns", "cuda_total_ns").sum()
    times = spans.filter(is_op).group_by("name").agg(*durations(), own_sums)
    of_python = _python_times(marked, op_of_span, spans["cpu_self_ns"])
    of_device = _launched_times(marked, op_of_span, work)
    with_python = times.join(of_python, on="name", how="left")
    ops = with_python.join(of_device, on="name", how="left")
    # CPU self of an op includes the Python calls directly within it.
    python_ns = pl.col("python_ns").fill_null(0)
    complete = ops.with_columns(
        pl.col("cpu_self_ns") + python_ns,
        pl.col("cuda_self_ns").fill_null(0),
    )
    rank = pl.lit(tree["rank"][0], pl.Int32)
    return complete.drop("python_ns").select(rank.alias("rank"), pl.all())


def _span_times(
    tree: pl.DataFrame,
    op_of_span: pl.Series,
    work: pl.DataFrame,
    calls: pl.DataFrame,
) -> pl.DataFrame:
    """Return each span's name, its duration_ns, its cpu_self_ns, and its cuda_total_ns."""
    in_calls_ns = attribute_calls(calls, tree.height)
    launched_ns = attribute(work["span_id"], work["duration_ns"], tree.height)
    within_ns = sum_within(tree["parent_id"], launched_ns)
    op_around = op_of_span.gather(tree["parent_id"])
    is_op_with_work = tree["is_op"] & (within_ns > 0)
    # Work of an op inside an op of the same name would be counted twice.
    is_repeated = repeats(op_around, tree["name"], is_op_with_work)
    return tree.select(
        "name",
        "duration_ns",
        cpu_self_ns=(pl.col("self_ns") - in_calls_ns).clip(0),
        cuda_total_ns=pl.when(is_repeated).then(0).otherwise(within_ns),
    )


def _python_times(
    tree: pl.DataFrame,
    op_of_span: pl.Series,
    self_ns: pl.Series,
) -> pl.DataFrame:
    """Sum Python calls' own time by the op directly around them: name, python_ns."""
    is_in_op = tree["is_python"] & op_of_span.is_not_null()
    owners = _owners(tree, is_in_op)
    times = pl.DataFrame({"name": owners, "python_ns": self_ns.filter(is_in_op)})
    return times.group_by("name").sum()


def _launched_times(
    tree: pl.DataFrame,
    op_of_span: pl.Series,
    work: pl.DataFrame,
) -> pl.DataFrame:
    """Sum device work by the innermost op around its launch: name, cuda_self_ns."""
    ops = op_of_span.gather(work["span_id"])
    times = work.select(
        cuda_self_ns="duration_ns",
        name=tree["name"].gather(ops),
    )
    return times.group_by("name").sum()


def _owners(tree: pl.DataFrame, chosen: pl.Series) -> pl.Series:
    """Return the name of the op directly around each chosen Python call.

    The name is None if another kind of span, such as an annotation, lies in between.
    """
    if not chosen.any():
        return tree["name"].clear()
    every_owner = nearest_row(tree["parent_id"], ~tree["is_python"])
    owner = every_owner.filter(chosen)
    is_other = ~tree["is_op"].gather(owner)
    return tree["name"].gather(owner.set(is_other, None))


# The same in C.

_IS_OP, _OWNED = 1, 2
_FLAGS = {"op": _IS_OP | _OWNED, "python": _OWNED, "module": _OWNED}
_PLACING = ("span_id", "parent_id", "kind", "name")
_CALLS = ("process_id", "thread_id", "span_id", "start_ns", "duration_ns")
_SUMS = ("n_calls", "cuda_self_ns", "cpu_self_ns", "cuda_total_ns")
_MEASURES = {
    "duration_total_ns": pl.Int64,
    "duration_mean_ns": pl.Float64,
    "duration_median_ns": pl.Float64,
    "duration_min_ns": pl.Int64,
    "duration_max_ns": pl.Int64,
}
_PLACE_BITS = 32


class _Ops:
    """Sums the times of one rank's ops in C, while the rank's tables are read."""

    def __init__(self, n_spans: int) -> None:
        assert LIBRARY is not None
        self.library, self.ops = LIBRARY, LIBRARY.ops_new(n_spans, *random_key())
        self.words: dict[str, int] = {}

    def place(self, spans: pa.RecordBatch) -> bool:
        """Find the ops in which each span is nested, and return whether this worked."""
        names = spans.column("name")
        kinds = spans.column("kind")
        try:
            texts = names.dictionary.to_pylist()
            words = kinds.dictionary.to_pylist()
        except UnicodeDecodeError:  # the strings of a damaged file
            return False
        codes = array(
            "I",
            [self.words.setdefault(name, len(self.words)) for name in texts],
        )
        flags = array(
            "I",
            [_FLAGS.get(word, 0) for word in words],
        )
        places = _values(names.indices), _values(kinds.indices)
        return bool(
            self.library.ops_place(
                self.ops,
                *_rows(spans.column("parent_id")),
                _values(spans.column("span_id")),
                *places,
                codes,
                flags,
            )
        )

    def charge_calls(self, calls: pa.RecordBatch) -> bool:
        """Subtract the time of calls from the spans around them, and return whether this worked."""
        columns = (
            _values(calls.column(name))
            for name in ("start_ns", "duration_ns", "process_id", "thread_id")
        )
        span_rows = _rows(calls.column("span_id"))
        return bool(self.library.ops_charge_calls(self.ops, *span_rows, *columns))

    def launch(self, work: pa.RecordBatch) -> bool:
        """Add device work to the ops around its launch, and return whether this worked."""
        span_rows = _rows(work.column("span_id"))
        durations = _values(work.column("duration_ns"))
        return bool(self.library.ops_launch(self.ops, *span_rows, durations))

    def time(self, spans: pa.RecordBatch) -> bool:
        """Add each span's own time to the ops around it, and return whether this worked."""
        return bool(
            self.library.ops_time(
                self.ops,
                _values(spans.column("self_ns")),
            )
        )

    def expect(self) -> bool:
        """Sum the times by op name, and make room for the durations of each name's ops.

        Call it after all times were added. Return whether this worked.
        """
        n_codes = len(self.words)
        totals = bytearray(8 * len(_SUMS) * n_codes)
        if not self.library.ops_totals(self.ops, totals, bytearray(4 * n_codes)):
            return False
        words = series(totals, pl.Int64())
        self.sums = pl.DataFrame(
            {name: words.gather_every(len(_SUMS), position) for position, name in enumerate(_SUMS)}
        )
        counts = self.sums["n_calls"].to_list()
        self.ends = array("q", accumulate(counts, initial=0))
        self.durations = bytearray(8 * self.ends.pop())
        return True

    def order(self, spans: pa.RecordBatch) -> bool:
        """Group the durations of ops by op name, and return whether this worked."""
        span_durations = _values(spans.column("duration_ns"))
        return bool(self.library.ops_order(self.ops, span_durations, self.ends, self.durations))

    def measures(self) -> Iterator[pl.Series]:
        """Yield, for each op name, the durations of all its ops. Call it after `order`."""
        durations = series(self.durations, pl.Int64())
        begin = 0
        for end in self.ends:
            if end > begin:
                yield durations.slice(begin, end - begin)
            begin = end


def in_batches(trace: Trace) -> list[pl.DataFrame] | None:
    """Sum the times of ops in C, batch by batch.

    Return None if C cannot do this, for example because the native library is absent.
    """
    if LIBRARY is None:
        return None
    ranks = {rank: _Ops(n) for rank, n in trace.heights("spans").items()}
    with ThreadPoolExecutor(1) as pool:
        timed = [
            pool.submit(
                all,
                _each(trace, ranks, _Ops.charge_calls, "api_calls", *_CALLS),
            )
        ]
        times = _each(
            trace, ranks, _Ops.time, "spans", "self_ns"
        )  # the pool's thread sums each rank as soon as the rank's spans have chains
        for is_placed in _each(trace, ranks, _Ops.place, "spans", *_PLACING):
            if not is_placed:
                return None
            timed.append(pool.submit(next, times, False))
        if not all(future.result() for future in timed):
            return None
        launched = (
            _each(trace, ranks, _Ops.launch, name, "span_id", "duration_ns") for name in DEVICE_WORK
        )
        if not all(map(all, launched)) or not all(ops.expect() for ops in ranks.values()):
            return None
        if not all(_each(trace, ranks, _Ops.order, "spans", "duration_ns")):
            return None
    return [names for rank, ops in ranks.items() if (names := _names(rank, ops)).height]


def _names(rank: int, ops: _Ops) -> pl.DataFrame:
    """Return one rank's frame for `op_times`, after all its tables are read."""
    with ThreadPoolExecutor(2) as pool:
        of_each = pool.map(
            lambda ns: (
                ns.sum(),
                ns.mean(),
                ns.median(),
                ns.min(),
                ns.max(),
            ),
            ops.measures(),
        )
        measures = pl.DataFrame(list(of_each), _MEASURES, orient="row")
    words = pl.DataFrame(
        {"name": [*ops.words]},
        {"name": pl.String},
    )
    names = words.hstack(ops.sums)
    # All other names belong to spans that are not ops. Python functions may have 60,000 names.
    names = names.filter(pl.col("n_calls") > 0)
    return names.hstack(measures).with_columns(rank=pl.lit(rank, pl.Int32))


def _each(
    trace: Trace,
    ranks: dict[int, _Ops],
    take: Callable[[_Ops, pa.RecordBatch], bool],
    name: str,
    *columns: str,
) -> Iterator[bool]:
    """Call `take` with each batch of the table `name` and the `_Ops` of the batch's rank.

    Yield one flag per rank, which is False if a batch cannot be read or `take` returns False.
    """
    for rank, batches in trace.batches(name, *columns, use_threads=False):
        ops = ranks.get(rank)
        yield ops is None or all(_can_be_read(batch) and take(ops, batch) for batch in batches)


def _can_be_read(batch: pa.RecordBatch) -> bool:
    """Return whether the C code can read the columns. Only span_id and parent_id may hold None."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which few need

    return all(
        (_is_coded(column.type) if name in {"kind", "name"} else column.type == pa.int64())
        and (name in {"span_id", "parent_id"} or not column.null_count)
        for name, column in zip(
            batch.schema.names,
            batch.columns,
            strict=True,
        )
    )


def _is_coded(kind: pa.DataType) -> bool:
    """Return whether a column holds strings as a dictionary with 32-bit indices."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.03 s, which few need

    is_dictionary = pa.types.is_dictionary(kind) and kind.index_type.bit_width == _PLACE_BITS
    return is_dictionary and kind.value_type in {pa.string(), pa.large_string()}


def _rows(column: pa.Array) -> tuple[pa.Buffer, pa.Buffer | None, int]:
    """Return the values, the validity bits and the offset of a column of row numbers.

    The validity bits are None if every value is valid.
    """
    return _values(column), column.buffers()[0] if column.null_count else None, column.offset


def _values(array: pa.Array) -> memoryview:
    """Return the memory of an Arrow array of numbers, without a copy.

    For None, the memory has an arbitrary value.
    """
    _, buffer = array.buffers()
    if buffer is None:
        return memoryview(b"")
    size = array.type.bit_width // 8
    first_byte = array.offset * size
    n_bytes = len(array) * size
    return memoryview(buffer)[first_byte : first_byte + n_bytes]
