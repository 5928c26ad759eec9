"""Measure how long work waits between the call that starts it and its start on the device."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars, named
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import is_each_once, rows_of
from tracelens.derive.columns.ratios import over
from tracelens.schemas.results.calls import LAUNCH_DELAY
from tracelens.trace import Trace

_KEY = ["rank", "api", "work"]
_AHEAD = 1.0
"""With at least this many launches in the queue on average, the host counts as ahead."""
_MOST_RANKS = 1
_WORK = pl.Enum(["kernel", "memcpy", "memset"])


def launch_delay(trace: Trace) -> pl.DataFrame:
    """Measure launch delays: one row per rank, API function and kind of work.

    A delay is the time from the end of the launching call to the start of the work on the device.
    It is below 0 if the work starts earlier. Raises MissingTableError without kernels or API calls.
    """
    trace.require("launch_delay", "kernels", "api_calls")
    work = _launched_work(trace)
    delay = pl.col("delay")
    of_work = (
        work.lazy()
        .group_by(_KEY)
        .agg(
            pl.len().cast(pl.Int64).alias("n_calls"),
            delay.median().alias("delay_median_ns"),
            delay.mean().alias("delay_mean_ns"),
            delay.max().alias("delay_max_ns"),
            pl.col("duration_ns").sum().alias("duration_total_ns"),
        )
    )
    n = pl.col("n")
    short_frac = n.filter("is_short").sum() / n.sum()
    of_calls = (
        _per_call(work)
        .lazy()
        .group_by(_KEY)
        .agg(
            pl.col("api_ns").sum().alias("api_total_ns"),
            pl.col("api_ns").median().alias("api_median_ns"),
            short_frac.alias("short_frac"),
        )
    )
    joined = of_work.join(of_calls, on=_KEY).collect()
    order = ["rank", "api_total_ns", *_KEY[1:]]
    return LAUNCH_DELAY.conform(joined.sort(order, descending=[False, True, False, False]))


def _launched_work(trace: Trace) -> pl.DataFrame:
    """Return the kernels, copies and fills with a recorded call, one row each.

    Added columns:

    - delay: from the call's end to the work's start
    - api, api_ns: name and duration of the call
    - call: the call's row in api_calls
    """
    columns = ["rank", "api_call_id", "start_ns", "duration_ns"]
    work = pl.concat(
        trace.select(f"{name}s", *columns).with_columns(work=pl.lit(name, _WORK))
        for name in _WORK.categories
    )
    calls = trace.select("api_calls", "rank", "api_call_id", "api", "start_ns", "duration_ns")
    call = rows_of(calls["rank"], calls["api_call_id"], work.select("rank", "api_call_id"))
    api_ns = calls["duration_ns"].gather(call)
    returned = calls["start_ns"].gather(call) + api_ns
    with_calls = work.with_columns(
        delay=pl.col("start_ns") - returned,
        api=calls["api"].gather(call),
        api_ns=api_ns,
        call=call,
    )
    return with_calls.drop_nulls("call")


def _per_call(matched: pl.DataFrame) -> pl.DataFrame:
    """Return one row per call and kind of work.

    `n` is the number of kernels, copies or fills that the call started. `is_short` means that they
    took less time than the call.
    """
    # A graph launch starts many kernels. The call's time is compared with the sum of their times.
    is_short = pl.col("duration_ns").sum() < pl.col("api_ns").first()
    single = (
        pl.lit(1, pl.UInt32).alias("n"),
        (pl.col("duration_ns") < pl.col("api_ns")).alias("is_short"),
    )
    if is_each_once(matched["call"]):
        return matched.select(*_KEY, "api_ns", *single)
    counts = matched.group_by(*_KEY, "call").agg(
        pl.col("api_ns").first(),
        n=pl.len(),
        is_short=is_short,
    )
    return counts.drop("call")


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the share of short work, the length of launch queues, and what was left out."""
    sentences = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        short = part.select(
            (pl.col("short_frac") * pl.col("n_calls")).sum() / pl.sum("n_calls")
        ).item()
        sentences.append(
            f"Rank {rank}: {short:.0%} of kernels and copies took less time than the call that"
            " started them: launched one by one, such work cannot keep the device busy."
        )
    sentences += _queues(trace)
    unlinked = trace.select("kernels", "api_call_id")["api_call_id"].null_count()
    if unlinked:
        sentences.append(
            f"{unlinked:,} kernels have no launching call in the trace and are left out."
        )
    return sentences


def _queues(trace: Trace) -> list[str]:
    """Say how many launches wait for the device on average, on the first ranks."""
    kernels = trace.select("kernels", "rank", "api_call_id", "start_ns").drop_nulls("api_call_id")
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", "duration_ns")
    calls = calls.select("rank", "api_call_id", returned_ns=END)
    first = kernels.lazy().group_by("rank", "api_call_id").agg(pl.col("start_ns").min()).collect()
    waits = first.join(calls, on=["rank", "api_call_id"])
    wait = (pl.col("start_ns") - pl.col("returned_ns")).clip(lower_bound=0)
    # By Little's law, the mean number is the sum of the waits over the time observed.
    observed_ns = pl.col("start_ns").max() - pl.col("returned_ns").min()
    waiting = (
        waits.group_by("rank").agg(waiting=over(wait.sum(), observed_ns)).drop_nulls().sort("rank")
    )
    return [
        f"Rank {rank}: {n:,.1f} launches wait on average, counted from the return of the call: "
        + ("the host is ahead of the device." if n >= _AHEAD else "the device waits for launches.")
        for rank, n in waiting.head(_MOST_RANKS).iter_rows()
    ]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {
        "api_median_ns": "median call",
        "delay_median_ns": "median wait from the call's end to the work's start",
    }
    return [
        SplitBars(
            "Calls, and waits after them",
            frame,
            named(frame, "api", "work"),
            parts,
            stacked=False,
        )
    ]


ANALYSIS = Analysis(
    "How long after its launch does work begin on the device?",
    LAUNCH_DELAY,
    launch_delay,
    notes=notes,
    shown=("rank", "api", "work", "n_calls", "api_median_ns", "delay_median_ns", "short_frac"),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
