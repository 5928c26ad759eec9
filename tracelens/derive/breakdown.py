"""Splitting each device's time into computing, communicating, copying and idle, by step."""

from __future__ import annotations

import polars as pl

from tracelens.derive.ancestry import is_worth_a_kernel, prepare
from tracelens.derive.intervals import END, added_ns, on_one_line
from tracelens.derive.lookup import rows_of
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step"]
_MEASURES = ["compute_ns", "communication_ns", "copy_ns", "kernels_ns", "all_ns", "starved_ns"]
_COMPUTE, _COMMUNICATION, _COPY = range(3)


def break_down(trace: Trace, *, in_steps: bool = False) -> pl.DataFrame:
    """A row a rank, device and step, and one (step null) for the whole trace: the columns of TIME_BREAKDOWN.

    With `in_steps` the whole is left out of ranks that mark steps.

    Lengths are of interval unions, so overlapping work counts once; exposed time is what no other work hides. The
    definitions of compute and idle are those of HTA's temporal breakdown.
    """
    prepare(trace.height("kernels"))
    work = _device_work(trace)
    marked = work.filter(pl.col("step").is_not_null())
    unmarked = work.filter(~pl.col("rank").is_in(marked["rank"].unique().implode())) if in_steps else work
    whole = _lengths(unmarked, _KEY[:2]).with_columns(step=pl.lit(None, pl.Int64))
    frame = pl.concat([_lengths(marked, _KEY), whole], how="diagonal")
    frame = frame.join(_collective_wait(trace), on=_KEY, how="left").with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    share = ["compute", "exposed_communication", "exposed_copy", "idle"]
    window = pl.when(pl.col("window_ns") > 0).then(pl.col("window_ns"))
    frame = frame.with_columns((pl.col(f"{name}_ns") / window).alias(f"{name}_frac") for name in share)
    return TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False))


def _device_work(trace: Trace) -> pl.DataFrame:
    """All device work in order of start: the key, start_ns, duration_ns, work, and when its call returned.

    `work` is compute, communication or copy.
    """
    columns = [*_KEY, "start_ns", "duration_ns", "api_call_id"]
    kind = pl.when("is_communication").then(_COMMUNICATION).otherwise(_COMPUTE)
    work = pl.concat(
        [
            trace.select("kernels", *columns, "is_communication").select(*columns, work=kind.cast(pl.Int8)),
            *(
                trace.select(name, *columns).with_columns(work=pl.lit(_COPY, pl.Int8))
                for name in ("memcpys", "memsets")
            ),
        ]
    )
    returned = _returned(trace, work.select("rank", "api_call_id"))
    work = work.drop("api_call_id").with_columns(returned=returned)
    return work.select(pl.all().gather(_order(work["start_ns"], work["duration_ns"])))


def _order(starts: pl.Series, durations: pl.Series) -> pl.Series:
    """The rows by start, then duration: in half the time of a sort by both, as few start together."""
    order = starts.arg_sort()
    sorted_ = starts.gather(order)
    together = ((sorted_ == sorted_.shift(1)) | (sorted_ == sorted_.shift(-1))).fill_null(value=False).arg_true()
    rows = order.gather(together)
    tied = pl.DataFrame({"row": rows, "start": starts.gather(rows), "duration": durations.gather(rows)})
    return order.scatter(together, tied.sort("start", "duration", "row")["row"])


def _returned(trace: Trace, wanted: pl.DataFrame) -> pl.Series:
    """When each call, named by its rank and id, returned; null for one that is not there."""
    ends = _ends_by_id(trace, wanted["rank"])
    if ends is not None:
        at = wanted["api_call_id"]
        return ends.gather(at.set(~at.is_between(0, len(ends) - 1), None))
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", "duration_ns")
    call = rows_of(calls["rank"], calls["api_call_id"], wanted)
    return calls["start_ns"].gather(call) + calls["duration_ns"].gather(call)


def _ends_by_id(trace: Trace, ranks: pl.Series) -> pl.Series | None:
    """The ends of calls where their ids are rows, as in a trace of one rank as it was collected; else None."""
    ends: list[pl.Series] = []
    n_rows = 0
    if ranks.min() != ranks.max():
        return None
    for part in trace.groups("api_calls", "rank", "api_call_id", "start_ns", "duration_ns"):
        numbers = pl.int_range(n_rows, n_rows + part.height, dtype=pl.Int64, eager=True)
        if not (part["rank"] == ranks.first()).all() or not (part["api_call_id"] == numbers).all():
            return None
        ends.append(part.select(END).to_series())
        n_rows += part.height
    return pl.concat(ends) if ends else None


def _lengths(work: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The measures of each group of device work, which is in order of start."""
    line = on_one_line(work, by)
    if line is None:
        return pl.concat([_lengths(part, by) for part in work.partition_by(by, maintain_order=True)])
    kind = pl.col("work")
    returned = pl.col("returned") + line.groups["shift"].gather(line.rows["group"])
    rows = line.rows.with_columns(returned)
    sums = None
    if is_worth_a_kernel(rows["group"]):
        from tracelens.derive import ancestry_fast  # noqa: PLC0415 - needs NumPy, which comes with numba

        found = ancestry_fast.lengths(rows, line.groups.height)
        sums = None if found is None else ancestry_fast.frame(found, _MEASURES).with_columns(line.groups["group"])
    sums = _sums(rows) if sums is None else sums
    collectives = line.rows.filter(kind == _COMMUNICATION).group_by("group", maintain_order=True)
    return (
        line.groups.select("group", *by, window_ns=pl.col("high") - pl.col("low"))
        .join(sums, on="group")
        .join(collectives.agg(last_collective_ns=pl.col("duration_ns").last()), on="group", how="left")
        .drop("group")
    )


def _sums(rows: pl.DataFrame) -> pl.DataFrame:
    """The measures of each group of rows of a `Line`, by whole columns."""
    kind, start, group, returned = pl.col("work"), pl.col("start_ns"), pl.col("group"), pl.col("returned")
    free_since = END.cum_max().shift(1)
    # Idle time before work whose call had not returned when the device fell idle, up to the call's return. Work whose
    # call is not known says nothing of the host.
    waited = pl.when(returned < start).then(returned).otherwise(start) - free_since
    counts = (start > free_since) & (group == group.shift(1)) & returned.is_not_null()
    measures = (
        added_ns(kind == _COMPUTE),
        added_ns(kind == _COMMUNICATION),
        added_ns(kind == _COPY),
        added_ns(kind != _COPY),
        added_ns(),
        pl.when(counts).then(waited.clip(0)).otherwise(0),
    )
    named = (measure.alias(name) for measure, name in zip(measures, _MEASURES, strict=True))
    return rows.select("group", *named).group_by("group").agg(pl.all().sum())


def _collective_wait(trace: Trace) -> pl.DataFrame:
    """Each rank's time in collectives beyond the fastest rank's in the same one, matched by order within a step.

    Steps in which the ranks' collectives do not match (in number or order of kernels by name) are left out.
    """
    place = ["device_id", "step", "place", "name"]
    # Only the device a rank computes on communicates, and ranks number theirs differently on different hosts.
    kernels = trace.select("kernels", *_KEY, "start_ns", "duration_ns", "is_communication")
    rows = kernels.select(pl.col("is_communication") & pl.col("step").is_not_null()).to_series().arg_true()
    names = trace.select("kernels", "name")["name"].gather(rows) if rows.len() else pl.Series(dtype=pl.String)
    kernels = (
        kernels[rows]
        .with_columns(name=names)
        .sort("start_ns", "duration_ns", "name")
        .with_columns(place=pl.int_range(pl.len()).over(_KEY))
    )
    n_ranks = kernels["rank"].n_unique()
    fastest = kernels.group_by(place[1:]).agg(fastest=pl.col("duration_ns").min(), n_ranks=pl.col("rank").n_unique())
    matched = kernels.join(fastest, on=place[1:])
    agreed = (pl.col("n_ranks") == n_ranks).all().over("step")
    waits = matched.filter(agreed & (n_ranks > 1)).group_by(_KEY)
    return waits.agg(collective_wait_ns=(pl.col("duration_ns") - pl.col("fastest")).sum())
