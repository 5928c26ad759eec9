"""Check that two sections that show the same number agree on it."""

from statistics import fmean

import polars as pl

from tracelens.analyses import (
    critical_path,
    idle_gaps,
    job,
    time_breakdown,
    unprofiled_step,
    verdict,
    waiting,
    worst_ranks,
)
from tracelens.answers import make_answer
from tracelens.derive.columns.time_text import duration
from tracelens.derive.replay.advised import list_changes
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.trace import Trace

POINT = 0.0101
"""Shares rounded to whole percents differ by at most a point."""
_NOT_JUDGED = ("too little to judge", "inconclusive")


def check_agreement(trace: Trace) -> None:
    """Compare the sections of one trace.

    If the trace is not judged, its sections show no shares to compare.
    """
    rows = verdict(trace)
    if rows["bound"].is_in([*_NOT_JUDGED]).any():
        return
    windows = judged_windows(trace)
    _check_shares(trace, rows, windows)
    _check_steps(trace, rows, windows)
    if len(trace.manifest.ranks) > 1:
        check_job(trace, rows)


def judged_windows(trace: Trace) -> pl.DataFrame:
    """Return the judged rows of time_breakdown: the program's steps, or without steps its phase."""
    table = time_breakdown(trace)
    return table.filter(pl.col("phase") == "program")


def _parts(windows: pl.DataFrame) -> dict[str, int]:
    """Sum the windows' parts that time_breakdown shows, without what the profiler added."""
    idle = {cause: int(windows[f"idle_{cause}_ns"].sum()) for cause in IDLE_PARTS}
    idle["host"] -= int(windows["profiler_ns"].sum())
    names = {"compute": "compute_ns", "copy": "exposed_copy_ns"}
    return idle | {part: int(windows[column].sum()) for part, column in names.items()}


def _check_shares(trace: Trace, rows: pl.DataFrame, windows: pl.DataFrame) -> None:
    """Check that verdict, time_breakdown, idle_gaps and the answer's bar have the same shares."""
    gaps = idle_gaps(trace)
    for row in rows.iter_rows(named=True):
        of_rank = windows.filter(rank=row["rank"])
        whole = int((of_rank["window_ns"] - of_rank["profiler_ns"]).sum())
        parts = _parts(of_rank)
        for part, share in ((row["bound"], row["bound_frac"]), (row["second"], row["second_frac"])):
            if part in parts:
                assert abs(parts[part] / whole - share) < POINT, (part, parts, row)
            if part in IDLE_PARTS:
                gap_shares = gaps.filter(rank=row["rank"], cause=part)["share_frac"].fill_null(0)
                n_devices = of_rank["device_id"].n_unique()
                assert gap_shares.sum() / n_devices < share + POINT, (part, gap_shares, row)
    (bar, *_) = make_answer(trace).bars
    if rows.height == 1:
        shown = max(part.share for part in bar.parts)
        assert abs(shown - rows["bound_frac"][0]) < POINT, (bar, rows)


def _check_steps(trace: Trace, rows: pl.DataFrame, windows: pl.DataFrame) -> None:
    """Check that percentages, changes and the sentence are about the same step, the median one."""
    answer = make_answer(trace)
    steps = windows.drop_nulls("step")
    medians = dict(
        steps.group_by("rank", "step")
        .agg(pl.col("window_ns").first())
        .group_by("rank")
        .agg(pl.col("window_ns").median())
        .iter_rows()
    )
    for row in rows.iter_rows(named=True):
        if row["step_ns"] is not None:
            assert abs(row["step_ns"] - medians[row["rank"]]) <= 1, row
    for row in unprofiled_step(trace).iter_rows(named=True):
        of_rank = rows.filter(rank=row["rank"])
        times = of_rank["step_ns"][0], fmean(steps.filter(rank=row["rank"])["window_ns"].to_list())
        assert any(abs(row["recorded_ns"] - ns) <= 1 for ns in times), (row, times)
        path_ns = critical_path(trace).filter(rank=row["rank"])["duration_ns"].sum()
        recorded = trace.steps.filter(rank=row["rank"])["duration_ns"].to_list()
        assert any(abs(path_ns - ns) <= 1 for ns in recorded), (path_ns, recorded)
    for change in list_changes(trace):
        if change.share is not None and change.saving_ns is not None:
            assert abs(change.saving_ns - change.share * change.step_ns) <= change.step_ns / 1000
        if len(rows) == 1 and change.is_per_step:
            assert f"of a step of {duration(change.step_ns)}" in answer.sentence, answer


def check_job(trace: Trace, rows: pl.DataFrame) -> None:
    """Check that all sections on several ranks blame the same ranks for the same cause.

    The sections are `job`, `worst_ranks`, `waiting` and `verdict`.
    """
    culprits, worst, waits = job(trace), worst_ranks(trace), waiting(trace)
    lost = dict(waits.select("rank", "exposed_ns").iter_rows())
    n_steps = judged_windows(trace).group_by("rank").agg(n=pl.col("step").n_unique())
    counts = dict(n_steps.iter_rows())
    for row in worst.iter_rows(named=True):
        n_rank = counts[row["rank"]]
        assert row["waiting_ns"] * n_rank <= lost[row["rank"]] + n_rank, row
        share = waits.filter(rank=row["rank"])["exposed_frac"][0]
        of_rank = judged_windows(trace).filter(rank=row["rank"])
        judged_ns = (of_rank["window_ns"] - of_rank["profiler_ns"]).sum()
        assert abs(row["waiting_ns"] * n_rank / judged_ns - share) < POINT, (row, share)
    left = int(worst["delays_ns"].sum()) - int(worst["waiting_ns"].sum())
    assert abs(left) <= worst.height, worst
    first = culprits.row(0, named=True)
    if first["rank"] is not None:
        assert worst["rank"][0] == first["rank"]
        assert worst["cause"][0] == first["cause"]
        waiting_ranks = rows.filter(pl.col("bound") == "waiting")
        for evidence in waiting_ranks["evidence"]:
            assert f"for rank {first['rank']} " in evidence
    if first["cost_frac"] is not None:
        most = max(row["waiting_ns"] / row["step_ns"] for row in worst.iter_rows(named=True))
        assert first["cost_frac"] < most + POINT, (first, worst)
