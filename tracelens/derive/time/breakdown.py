"""Splitting each device's time into computing, communicating, copying and idle by cause, step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import polars as pl

from tracelens.derive.time.completing import activities_of, steps_of
from tracelens.derive.time.idle import DeviceIdle, by_value, idle_time
from tracelens.derive.time.process_time import break_down_processes, process_ranks
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import TIME_BREAKDOWN
from tracelens.trace import Trace

_KEY = ["rank", "device_id", "step"]
_COMPUTE, _COMMUNICATION, _COPY = range(3)
_UNIONS = {
    "compute_ns": (_COMPUTE,),
    "communication_ns": (_COMMUNICATION,),
    "copy_ns": (_COPY,),
    "kernels_ns": (_COMPUTE, _COMMUNICATION),
    "all_ns": (_COMPUTE, _COMMUNICATION, _COPY),
}


@dataclass(frozen=True, slots=True)
class Breakdown:
    """`frame` has the columns of TIME_BREAKDOWN; `devices` the idle time of each device.

    `idle` adds it up: idle_ns by rank, device_id, step, cause and within.
    """

    frame: pl.DataFrame
    devices: list[DeviceIdle]
    idle: pl.DataFrame


_made: WeakKeyDictionary[Trace, Breakdown] = WeakKeyDictionary()


def break_down(trace: Trace) -> Breakdown:
    """A row a rank, device and step, and one (step null) from a device's first to its last work.

    Lengths are of interval unions, so overlapping work counts once; exposed time is what no other work hides. Work
    counts in the step in whose time it runs. The definitions of compute and idle are those of HTA's temporal breakdown.
    Ranks without device work are broken down by `break_down_processes`. Several analyses ask for it, so it is kept with
    the trace.
    """
    if trace not in _made:
        made = [_break_down(trace)] if trace.has("kernels") else []
        if process_ranks(trace):
            frame, processes = break_down_processes(trace)
            made.append(Breakdown(frame, processes, pl.concat([_idle_sums(one) for one in processes])))
        frame = pl.concat([one.frame for one in made]).sort("rank", maintain_order=True)
        devices = [device for one in made for device in one.devices]
        _made[trace] = Breakdown(frame, devices, pl.concat([one.idle for one in made]))
    return _made[trace]


def _break_down(trace: Trace) -> Breakdown:
    work = _device_work(trace)
    steps = steps_of(trace).select("rank", "step", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    windows = pl.concat([steps, _recorded(trace, steps["rank"].unique())])
    with ThreadPoolExecutor(1) as pool:
        measured = pool.submit(_of_devices, work, steps)
        devices = idle_time(trace, work, windows)
        rows = measured.result()
    sums = pl.concat([_idle_sums(one) for one in devices])
    ns = pl.col("idle_ns").sum()
    in_steps = sums.drop_nulls("step").group_by(*_KEY, "cause").agg(ns)
    whole = sums.filter("within").group_by(*_KEY[:2], "cause").agg(ns)
    idle = pl.concat([in_steps, whole.with_columns(step=pl.lit(None, pl.Int64)).select(in_steps.columns)])
    by_cause = idle.pivot("cause", index=_KEY, values="idle_ns")
    by_cause = by_cause.rename({name: f"idle_{name}_ns" for name in by_cause.columns if name not in _KEY})
    names = [f"idle_{cause}_ns" for cause in CAUSES]
    frame = pl.concat(rows).join(by_cause, on=_KEY, how="left", nulls_equal=True)
    frame = frame.with_columns(
        (pl.col(name) if name in frame.columns else pl.lit(None, pl.Int64)).fill_null(0).alias(name) for name in names
    )
    frame = frame.join(_collective_wait(trace), on=_KEY, how="left").with_columns(
        exposed_communication_ns=pl.col("kernels_ns") - pl.col("compute_ns"),
        exposed_copy_ns=pl.col("all_ns") - pl.col("kernels_ns"),
        idle_ns=pl.col("window_ns") - pl.col("all_ns"),
    )
    window = pl.when(pl.col("window_ns") > 0).then(pl.col("window_ns"))
    shares = ["compute", "exposed_communication", "exposed_copy", "idle"]
    frame = frame.with_columns((pl.col(f"{name}_ns") / window).alias(f"{name}_frac") for name in shares)
    return Breakdown(TIME_BREAKDOWN.conform(frame.sort("rank", "device_id", "step", nulls_last=False)), devices, sums)


def _idle_sums(device: DeviceIdle) -> pl.DataFrame:
    """The lengths of a device's idle pieces by step, cause and whether they lie within its work."""
    length = pl.col("end_ns") - pl.col("start_ns")
    numbers = device.pieces.select("step", "within", pl.col("cause").to_physical(), ns=length)
    found = numbers.group_by("step", "cause", "within").agg(pl.col("ns").sum().alias("idle_ns"))
    return found.with_columns(
        pl.Series("cause", CAUSES).gather(found["cause"]),
        rank=pl.lit(device.rank, pl.Int32),
        device_id=pl.lit(device.device_id, pl.Int32),
    )


def _recorded(trace: Trace, marked: pl.Series) -> pl.DataFrame:
    """Of each rank that marks no steps the time of which its host is known, as one window without a step."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    known = activities_of(trace).filter(~pl.col("rank").is_in(marked.implode())).group_by("rank")
    found = known.agg(start_ns=pl.col("start_ns").min(), end_ns=end.max())
    return found.select("rank", pl.lit(None, pl.Int64).alias("step"), "start_ns", "end_ns")


def _device_work(trace: Trace) -> pl.DataFrame:
    """All device work by start: rank, device_id, start_ns, duration_ns, process_id, api_call_id, work.

    `work` is compute, communication or copy.
    """
    columns = ["rank", "device_id", "start_ns", "duration_ns", "api_call_id"]
    kind = pl.when("is_communication").then(_COMMUNICATION).otherwise(_COMPUTE)
    kernels = trace.select("kernels", *columns, "is_communication").select(*columns, work=kind.cast(pl.Int8))
    copies = pl.concat([trace.select(name, *columns) for name in ("memcpys", "memsets")])
    work = pl.concat([kernels, copies.with_columns(work=pl.lit(_COPY, pl.Int8))])
    return work.select(pl.all().gather(_order(work["start_ns"], work["duration_ns"])))


def _order(starts: pl.Series, durations: pl.Series) -> pl.Series:
    """The rows by start, then duration: in half the time of a sort by both, as few start together."""
    order = starts.arg_sort()
    sorted_ = starts.gather(order)
    together = ((sorted_ == sorted_.shift(1)) | (sorted_ == sorted_.shift(-1))).fill_null(value=False).arg_true()
    rows = order.gather(together)
    tied = pl.DataFrame({"row": rows, "start": starts.gather(rows), "duration": durations.gather(rows)})
    return order.scatter(together, tied.sort("start", "duration", "row")["row"])


def _of_devices(work: pl.DataFrame, steps: pl.DataFrame) -> list[pl.DataFrame]:
    """The measures of every device's work."""
    return [
        _of_device(of_device, steps.filter(pl.col("rank") == rank))
        for rank, of_rank in by_value(work, "rank")
        for _, of_device in by_value(of_rank, "device_id")
    ]


def _of_device(work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The measures of one device's work, by start: a row a step, and one for all of it."""
    ends = work["start_ns"] + work["duration_ns"]
    whole = pl.DataFrame([(None, work["start_ns"][0], ends.max())], schema=["step", "start_ns", "end_ns"], orient="row")
    windows = pl.concat([whole.cast({"step": pl.Int64}), steps.select("step", "start_ns", "end_ns")])
    there = work["work"].unique().to_list()
    wanted = {name: tuple(kind for kind in kinds if kind in there) for name, kinds in _UNIONS.items()}
    covered = {kinds: _covered(work, ends, kinds, windows) for kinds in set(wanted.values())}
    sums = {name: covered[kinds] for name, kinds in wanted.items()}
    return windows.with_columns(
        pl.lit(work["rank"][0], pl.Int32).alias("rank"),
        pl.lit(work["device_id"][0], pl.Int32).alias("device_id"),
        window_ns=pl.col("end_ns") - pl.col("start_ns"),
        last_collective_ns=_last_collective(work, windows),
        **sums,
    ).drop("start_ns", "end_ns")


def _covered(work: pl.DataFrame, ends: pl.Series, kinds: tuple[int, ...], windows: pl.DataFrame) -> pl.Series:
    """How much of each window the union of the work of some kinds covers."""
    starts = work["start_ns"]
    if len(kinds) < work["work"].n_unique():
        rows = work["work"].is_in(kinds)
        starts, ends = starts.filter(rows), ends.filter(rows)
    reached = ends.cum_max()
    begins = (starts > reached.shift(1)).fill_null(value=True).arg_true()
    lows = starts.gather(begins)
    highs = reached.gather((begins.shift(-1).cast(pl.Int64) - 1).fill_null(len(starts) - 1))
    before = (highs - lows).cum_sum().shift(1, fill_value=0)

    def until(moments: pl.Series) -> pl.Series:
        at = lows.search_sorted(moments, side="right").cast(pl.Int64) - 1
        at = at.set(at < 0, None)
        piece = pl.DataFrame(
            {"at": moments, "low": lows.gather(at), "high": highs.gather(at), "sum": before.gather(at)}
        )
        return piece.select((pl.col("sum") + pl.min_horizontal("at", "high") - pl.col("low")).fill_null(0)).to_series()

    return until(windows["end_ns"]) - until(windows["start_ns"])


def _last_collective(work: pl.DataFrame, windows: pl.DataFrame) -> pl.Series:
    """The duration of the last communication kernel that starts in each window; null where none does."""
    own = work.filter(pl.col("work") == _COMMUNICATION)
    after = own["start_ns"].search_sorted(windows["end_ns"], side="left").cast(pl.Int64)
    first = own["start_ns"].search_sorted(windows["start_ns"], side="left").cast(pl.Int64)
    return own["duration_ns"].gather((after - 1).set(after <= first, None))


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
