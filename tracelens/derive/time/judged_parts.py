"""The parts of the program's time, what the profiler adds to it, and the shares that follow."""

import polars as pl

from tracelens.derive.columns.ratios import over
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import PARTS, PROGRAM
from tracelens.trace import Trace

PROFILER_KIND = "profiler"
"""Idle time that the profiler takes for itself, apart from the causes; it is part of `host`."""
SLOWED = ("launch", "host")
"""The parts that a profiler slows, as it runs inside ops, API calls and Python calls."""
_USED = 0.1
"""A device that works less than this share of the time of the rank's busiest one is left out."""
_KEY = ["rank", "device_id"]
_SHARES = ("compute", "exposed_communication", "exposed_copy", "idle")


def parts_of(
    frame: pl.DataFrame, idle: pl.DataFrame, by: tuple[str, ...] = ("rank",)
) -> pl.DataFrame:
    """Sum the program's time by part: one row per rank (or combination of `by`), sorted.

    `frame` has the columns of TIME_BREAKDOWN but for profiler_ns and the shares, `idle` is as in a
    Breakdown. Returns ns of each of PARTS, of the devices that the rank really uses unless `by`
    names devices; profiler_ns, the part of host_ns that the profiler takes for itself; and
    n_windows, the number of steps that were added up, on each device; and n_devices.
    """
    in_program = pl.col("phase") == PROGRAM
    waiting = pl.min_horizontal(
        pl.col("collective_wait_ns").fill_null(0), "exposed_communication_ns"
    )
    busy = (
        frame.filter(in_program)
        .group_by(_KEY)
        .agg(
            pl.col("compute_ns").sum(),
            communication_ns=(pl.col("exposed_communication_ns") - waiting).sum(),
            waiting_ns=waiting.sum(),
            copy_ns=pl.col("exposed_copy_ns").sum(),
            n_windows=pl.len().cast(pl.Int64),
        )
    )
    kinds = (*CAUSES, PROFILER_KIND)
    sums = [
        pl.col("idle_ns").filter(pl.col("cause") == kind).sum().alias(f"{kind}_ns")
        for kind in kinds
    ]
    idle = idle.filter(in_program).group_by(_KEY).agg(sums)
    parts = [f"{name}_ns" for name in (*PARTS, PROFILER_KIND)]
    times = busy.join(idle, on=_KEY, how="left", nulls_equal=True).with_columns(
        pl.col(parts).fill_null(0)
    )
    times = times.with_columns(host_ns=pl.col("host_ns") + pl.col("profiler_ns"))
    works = pl.sum_horizontal("compute_ns", "communication_ns", "copy_ns")
    used = times if "device_id" in by else times.filter(works >= _USED * works.max().over("rank"))
    return used.group_by(by).agg(pl.col(*parts, "n_windows").sum(), n_devices=pl.len()).sort(by)


def kept_shares(trace: Trace, parts: pl.DataFrame) -> dict[int, float]:
    """Return by rank the share of launching and of the host's other work that is the program's own.

    Where the time of a step without the profiler is known, the rest of the difference to the
    recorded steps was added by the profiler, beside the work that it recorded of itself. `parts`
    come from `parts_of`, one row per rank.
    """
    found = {}
    for row in parts.iter_rows(named=True):
        unprofiled = trace.manifest.unprofiled_step_ns(row["rank"])
        recorded = sum(row[f"{part}_ns"] for part in PARTS) - row["profiler_ns"]
        slowed = sum(row[f"{part}_ns"] for part in SLOWED) - row["profiler_ns"]
        if unprofiled is not None and slowed:
            added = max(recorded - unprofiled * row["n_windows"], 0)
            found[row["rank"]] = max(1 - added / slowed, 0.0)
    return found


def with_shares(trace: Trace, frame: pl.DataFrame, idle: pl.DataFrame) -> pl.DataFrame:
    """Return the frame of a breakdown with profiler_ns, and shares of the time without it.

    `frame` has profiler_ns as far as the profiler recorded it.
    """
    marked = frame.drop_nulls("step")["rank"].unique()
    parts = parts_of(frame, idle).filter(pl.col("rank").is_in(marked.implode()))
    kept = {"rank": pl.Int32, "kept": pl.Float64}
    rows = [*kept_shares(trace, parts).items()]
    frame = frame.join(
        pl.DataFrame(rows, schema=kept, orient="row"),
        on="rank",
        how="left",
        maintain_order="left",
    )
    slowed = pl.sum_horizontal(f"idle_{part}_ns" for part in SLOWED) - pl.col("profiler_ns")
    added = (slowed * (1 - pl.col("kept").fill_null(1.0))).round().cast(pl.Int64)
    frame = frame.with_columns(profiler_ns=pl.col("profiler_ns") + added)
    plain = pl.col("window_ns") - pl.col("profiler_ns")
    measures = {name: pl.col(f"{name}_ns") for name in _SHARES}
    measures["idle"] -= pl.col("profiler_ns")
    return frame.with_columns(
        over(measure, plain).alias(f"{name}_frac") for name, measure in measures.items()
    ).drop("kept")
