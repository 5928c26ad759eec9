"""The ranks of a file: one, or one for each process that runs kernels on devices of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import polars as pl

from tracelens.errors import UsageError
from tracelens.schemas import TABLES
from tracelens.trace.capture import Diagnostics

RANK_BY = ("auto", "process", "file")
"""Choices of what is a rank: auto takes processes where those with kernels sit on different devices, else the file."""
CHOSEN: ContextVar[str] = ContextVar("rank_by", default="auto")

_EVERY = -2


@contextmanager
def ranked_by(choice: str) -> Iterator[None]:
    """Read files meanwhile with one of RANK_BY. Raises UsageError for any other word."""
    if choice not in RANK_BY:
        raise UsageError(f"--rank-by {choice}: what a rank is can be {', '.join(RANK_BY)}")
    token = CHOSEN.set(choice)
    try:
        yield
    finally:
        CHOSEN.reset(token)


def by_process(raw: dict[str, pl.DataFrame], diagnostics: Diagnostics) -> list[dict[str, pl.DataFrame]]:
    """The raw tables of each rank, ordered by GPU; each row is one rank's, but for devices of no process.

    Rows of processes without kernels (launchers, loaders), and of none, are the first rank's, and counted.
    """
    owners = _owners(raw)
    processes = owners["process_id"].unique(maintain_order=True)
    apart = owners["gpu_id"].n_unique() == owners.height
    if len(processes) < 2 or CHOSEN.get() == "file" or (CHOSEN.get() == "auto" and not apart):
        return [raw]
    ranks = [_rank_of(name, frame, processes, owners) for name, frame in raw.items()]
    others = sum(int((rank == -1).sum()) for name, rank in zip(raw, ranks, strict=True) if name in TABLES)
    text = "rows of processes that run no kernel, or of none; they stand with the first rank"
    diagnostics.add("info", "rows_without_rank", text, others)
    return [
        {
            name: frame.filter(rank.is_in([at, _EVERY, *([-1] if at == 0 else [])]))
            for (name, frame), rank in zip(raw.items(), ranks, strict=True)
        }
        for at in range(len(processes))
    ]


def _rank_of(name: str, frame: pl.DataFrame, processes: pl.Series, owners: pl.DataFrame) -> pl.Series:
    """The rank of each row by its process, of a sample by its GPU: -1 for none, _EVERY for a device of no process."""
    numbers = pl.Series(range(len(processes)), dtype=pl.Int64)
    if name == "counters":
        of_gpu = owners.unique("gpu_id", keep="first")
        whose = frame["device_id"].cast(pl.Int64).replace_strict(of_gpu["gpu_id"], of_gpu["process_id"], default=None)
    else:
        whose = frame["process_id"].cast(pl.Int64)
    rank = whose.replace_strict(processes, numbers, default=-1, return_dtype=pl.Int64)
    return rank.set(whose.is_null(), _EVERY) if name == "devices" else rank


def _owners(raw: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The processes that run kernels, and where: process_id, device_id and gpu_id (nsys.s number), by GPU."""
    keys = ["process_id", "device_id"]
    used = raw["kernels"].select(pl.col(keys).cast(pl.Int64)).unique().filter(pl.col("process_id") != 0)
    numbers = raw["devices"].select(pl.col(*keys, "gpu_id").cast(pl.Int64)).drop_nulls().unique(keys, keep="first")
    known = used.join(numbers, on=keys, how="left").with_columns(gpu_id=pl.coalesce("gpu_id", "device_id"))
    return known.sort("gpu_id", "process_id")
