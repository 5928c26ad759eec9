"""Make a job of many ranks from one captured rank: a trace, or sources to collect it from.

    python -m benchmarks.enlarge_ranks OUT --ranks 1024 RANK.json.gz [--sources]

Ranks begin their collectives a few microseconds apart. All wait in them for one rank, the fifth
from the end, which begins each LATE_NS later.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
from pathlib import Path

import polars as pl
from msgspec.structs import replace

import tracelens as tl
from tracelens.schemas import TABLES
from tracelens.trace import Trace
from tracelens.trace.directory import PART

LATE_NS = 300_000
_TRANSFER_NS = 100_000
_JITTER_NS = 5_000


def slow_rank(n_ranks: int) -> int:
    """Return the rank that all others wait for."""
    return n_ranks - 5


def write_trace(out: Path, captured: Trace, n_ranks: int) -> None:
    """Write the trace of the job, one Parquet file per table and rank.

    Tables that are the same for each rank are copied as files.
    """
    frames = {name: captured.frame(name).drop("rank") for name in TABLES if captured.has(name)}
    if "collectives" in frames:
        everyone = json.dumps([*range(n_ranks)])
        frames["collectives"] = frames["collectives"].with_columns(
            group_size=pl.lit(n_ranks, pl.Int32),
            group_ranks=pl.lit(everyone),
        )
    if "ranks" in frames:
        frames["ranks"] = frames["ranks"].with_columns(world_size=pl.lit(n_ranks, pl.Int32))
    for name, frame in frames.items():
        for rank in range(n_ranks):
            file = out / name / f"rank={rank}" / PART
            file.parent.mkdir(parents=True)
            if name == "kernels":
                TABLES[name].write(_waiting(frame, rank, n_ranks), file)
            elif rank:
                shutil.copyfile(out / name / "rank=0" / PART, file)
            else:
                TABLES[name].write(frame, file)
    (source,) = captured.manifest.sources
    settings = source["settings"] | {"world_size": n_ranks}
    manifest = replace(
        captured.manifest,
        ranks=[*range(n_ranks)],
        sources=[source | {"rank": rank, "settings": settings} for rank in range(n_ranks)],
        n_rows={
            name: {str(rank): frame.height for rank in range(n_ranks)}
            for name, frame in frames.items()
        },
    )
    (out / "manifest.json").write_text(json.dumps(manifest.as_dict()))


def _waiting(kernels: pl.DataFrame, rank: int, n_ranks: int) -> pl.DataFrame:
    """Return a rank's kernels with collectives that start late and end together.

    They all end one transfer's time after the slow rank began.
    """
    late = LATE_NS if rank == slow_rank(n_ranks) else rank * 7919 % _JITTER_NS
    communicates = pl.col("is_communication").fill_null(value=False)
    return kernels.with_columns(
        start_ns=pl.col("start_ns") + pl.when(communicates).then(late).otherwise(0),
        duration_ns=pl.when(communicates)
        .then(LATE_NS + _TRANSFER_NS - late)
        .otherwise("duration_ns"),
    )


def write_sources(out: Path, captured: Path, n_ranks: int) -> None:
    """Write one file per rank, all with the same bytes.

    The files are hard links, so they take no room. Only the file's name has the rank.
    """
    out.mkdir()
    text = gzip.decompress(captured.read_bytes())
    about = re.search(rb'"distributedInfo": \{.*?\}\]', text)
    assert about is not None
    about_rank = re.sub(rb'"rank": \d+, ', b"", about[0])
    about_rank = re.sub(rb'"(world_size|pg_size)": \d+', rb'"\1": %d' % n_ranks, about_rank)
    about_rank = re.sub(
        rb'"ranks": \[[^\]]*\]',
        b'"ranks": %s' % json.dumps([*range(n_ranks)]).encode(),
        about_rank,
    )
    first = out / "rank0.pt.trace.json.gz"
    first.write_bytes(
        gzip.compress(
            text.replace(about[0], about_rank, 1),
            6,
        )
    )
    for rank in range(1, n_ranks):
        os.link(first, out / f"rank{rank}.pt.trace.json.gz")


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("captured", type=Path)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--sources", action="store_true")
    given = parser.parse_args()
    if given.sources:
        write_sources(given.out, given.captured, given.ranks)
    else:
        write_trace(
            given.out,
            tl.collect(given.captured, ranks=[0]),
            given.ranks,
        )


if __name__ == "__main__":
    main()
