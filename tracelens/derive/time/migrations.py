"""Find moves of managed memory's pages, and kernels that wait for them.

Nsight Systems records moves, torch.profiler does not. A page moves when a kernel or the host
touches it while it lies elsewhere, or when cudaMemPrefetchAsync moves it.
"""

import polars as pl

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.columns.intervals import END
from tracelens.trace import Trace

_BARE = r"^(?:void )?([^<(]+)"
"""Pattern that extracts a kernel's name without template arguments and parameters."""
WAITS_DOMINATE = 0.5
"""A verdict names the waits for pages if they take at least this share of kernel time."""
_DEVICE = ("rank", "device_id")
_MOVED = ("rank", "device_id", "direction", "process_id", "start_ns", "duration_ns", "size_bytes")
IS_MOVE = (
    (pl.col("source_memory") == "managed")
    & (pl.col("destination_memory") == "managed")
    & pl.col("api_call_id").is_null()
)
"""Condition on memcpys: the copy moves pages of managed memory, and no call requested it."""


def migrations(trace: Trace) -> pl.DataFrame:
    """Return the moves of pages: rank, device_id, direction, process_id, times and size_bytes.

    Copies that an API call requests are left out.
    """
    return trace.select("memcpys", *_MOVED, where=IS_MOVE)


def waiting_kernels(trace: Trace, moves: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels during which pages moved to their device: one row per kernel.

    - `rank`, `device_id`, `kernel_id`, `span_id`, `name`, `step`
    - `n_moves`, `size_bytes`: number and bytes of the moves
    - `stalled_ns`: the kernel's time from the start of the first move to the end of the last move
    """
    columns = ("kernel_id", "span_id", "name", "step", "start_ns", "duration_ns")
    recorded = trace.select("kernels", *_DEVICE, *columns)
    kernels = recorded.with_columns(begun_ns="start_ns", ended_ns=END)
    to_device = pl.col("direction") != "d2h"
    arriving = moves.filter(to_device).with_columns(moved_ns=END)
    with_kernels = (
        arriving.drop("duration_ns")
        .sort("start_ns")
        .join_asof(
            kernels.sort("start_ns"),
            on="start_ns",
            by=list(_DEVICE),
            check_sortedness=False,
        )
    )
    in_kernels = with_kernels.filter(pl.col("start_ns") < pl.col("ended_ns"))
    last_moved_ns = pl.col("moved_ns").max()
    ended_ns = pl.col("ended_ns").first()
    until_ns = pl.min_horizontal(last_moved_ns, ended_ns)
    by_kernel = in_kernels.group_by(
        *_DEVICE,
        "kernel_id",
        maintain_order=True,
    )
    waits = by_kernel.agg(
        pl.col("span_id", "name", "step").first(),
        n_moves=pl.len(),
        size_bytes=pl.col("size_bytes").sum(),
        stalled_ns=until_ns - pl.col("start_ns").min(),
    )
    return waits.with_columns(pl.col("name").cast(pl.String))


def page_waits(trace: Trace) -> dict[int, float]:
    """Return, by rank, the share of kernel time in which kernels wait for pages, 0 to 1.

    Ranks without moves are left out.
    """
    return trace.derived(_page_waits)


def _page_waits(trace: Trace) -> dict[int, float]:
    moves = migrations(trace) if trace.has("memcpys") else None
    if moves is None or not moves.height or not trace.has("kernels"):
        return {}
    stalled_ns = pl.col("stalled_ns").sum()
    stalled = waiting_kernels(trace, moves).group_by("rank").agg(stalled_ns)
    kernels = trace.select("kernels", "rank", "duration_ns")
    sums = kernels.group_by("rank").agg(pl.col("duration_ns").sum())
    shares = {}
    for rank, total_ns, ns in sums.join(stalled, on="rank").iter_rows():
        if total_ns:
            shares[rank] = ns / total_ns
    return shares


def stalls_by_place(trace: Trace, kernels: pl.DataFrame) -> list[tuple[str, int]]:
    """Return the time in ns that kernels waited for pages, by launching op, the longest first.

    A kernel without an op is listed by its own name.
    """
    is_op = pl.col("kind") == "op"
    spans = trace.select(
        "spans",
        "rank",
        "span_id",
        "name",
        where=is_op,
    )
    op = pl.col("name").cast(pl.String)
    ops = spans.select("rank", "span_id", op=op)
    launched = kernels.join(ops, on=["rank", "span_id"], how="left")
    bare_name = pl.col("name").str.extract(_BARE)
    place = pl.coalesce("op", bare_name)
    stalls = launched.select("stalled_ns", place=place)
    return _sums_by_place(stalls)


def touched_by_host(trace: Trace, moves: pl.DataFrame) -> list[tuple[str, int]]:
    """Return the bytes that moved to the host, by op or annotated range, the largest first."""
    is_range = pl.col("kind").is_in(["annotation", "nvtx", "op"])
    columns = ("process_id", "name", "start_ns", "duration_ns")
    spans = trace.select("spans", *columns, where=is_range)
    name = pl.col("name").cast(pl.String)
    ranges = spans.with_columns(name, end_ns=END)
    to_host = moves.filter(pl.col("direction") == "d2h")
    placed = during(to_host, ranges, "name", pl.String)
    in_ranges = placed.drop_nulls("name")
    return _sums_by_place(in_ranges.select("size_bytes", place="name"))


def _sums_by_place(amounts: pl.DataFrame) -> list[tuple[str, int]]:
    """Sum the amounts by `place`; return each place with its sum, the largest sum first.

    `amounts` has one column of ns or bytes, and the column `place`.
    """
    amount = amounts.columns[0]
    sums = amounts.group_by("place").agg(pl.col(amount).sum())
    return sums.sort(amount, "place", descending=[True, False]).rows()
