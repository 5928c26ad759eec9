"""Use the clocks of a job's ranks: convert times to the job's clock, and say how sure they are."""

from collections.abc import Collection, Sequence

import polars as pl

from tracelens.derive.columns.time_text import duration


def on_job_clock(
    frame: pl.DataFrame,
    clocks: pl.DataFrame,
    columns: Sequence[str] = ("start_ns", "end_ns"),
) -> pl.DataFrame:
    """Convert columns of times from each rank's clock to the job's clock.

    Times on an unknown clock stay as they are.
    """
    fitted = pl.col("offset_ns", "drift_ppm").fill_null(0)
    lines = clocks.select("rank", "origin_ns", fitted)
    has_offset = (lines["offset_ns"] != 0).any()
    has_drift = (lines["drift_ppm"] != 0).any()
    if not has_offset and not has_drift:
        return frame
    joined = frame.join(lines, on="rank", how="left", maintain_order="left")
    drift = pl.col("drift_ppm") * 1e-6
    converted = []
    for column in columns:
        time = pl.col(column) - pl.col("offset_ns")
        drifted = (time - pl.col("origin_ns")) * drift
        converted.append(time - drifted.round().cast(pl.Int64))
    return joined.with_columns(converted).select(frame.columns)


def with_uncertainty(calls: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """Add uncertainty_ns: the possible error in comparing the clocks of rank and awaited_rank.

    It is 0 if they have one clock, and None if one of their clocks is unknown.
    """
    certainty = clocks.select("rank", "clock", "uncertainty_ns")
    certainty_of_awaited = clocks.select(
        awaited_rank="rank",
        awaited_clock="clock",
        awaited_uncertainty_ns="uncertainty_ns",
    )
    of_rank = calls.join(certainty, on="rank", how="left", maintain_order="left")
    both = of_rank.join(
        certainty_of_awaited,
        on="awaited_rank",
        how="left",
        maintain_order="left",
    )
    is_one_clock = pl.col("clock") == pl.col("awaited_clock")
    sum_of_both = pl.col("uncertainty_ns") + pl.col("awaited_uncertainty_ns")
    uncertainty_ns = pl.when(is_one_clock).then(0).otherwise(sum_of_both)
    compared = both.with_columns(uncertainty_ns=uncertainty_ns)
    return compared.drop("clock", "awaited_clock", "awaited_uncertainty_ns")


def doubt_of(calls: pl.DataFrame, awaited: Collection[int] | None = None) -> str | None:
    """Return a sentence on why the clocks do not show the awaited rank; None if they do.

    If `awaited` is given, only waits for these ranks are examined.
    """
    wait_ns = pl.col("last_start_ns") - pl.col("start_ns")
    is_for_rank = (
        pl.lit(value=True) if awaited is None else pl.col("awaited_rank").is_in([*awaited])
    )
    waits = calls.filter(wait_ns > 0, is_for_rank).select("uncertainty_ns", wait_ns=wait_ns)
    # The rank is certain if most waiting time is in waits longer than the clocks' uncertainty.
    sure = waits.filter(pl.col("wait_ns") > pl.col("uncertainty_ns"))
    if 2 * int(sure["wait_ns"].sum()) >= int(waits["wait_ns"].sum()):
        return None
    mean_wait_ns = waits.select(pl.col("wait_ns").mean()).item()
    begin = f"ranks begin collectives {duration(mean_wait_ns)} apart in the mean, and"
    median_ns = waits.select(pl.col("uncertainty_ns").median()).item()
    known = "how the hosts' clocks differ is not known"
    if median_ns is not None:
        known = f"how the hosts' clocks differ is known to {duration(median_ns)}"
    return f"{begin} {known}: which one is waited for cannot be told"
