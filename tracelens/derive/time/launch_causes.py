"""Find why the host took long to launch work: it loaded a kernel, or worked in an op."""

from collections.abc import Mapping

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.time.busy_ops import LOADING_NS, busy_ops
from tracelens.derive.time.device_work import Device, DeviceWork, call_rows
from tracelens.derive.time.host_tracks import HOST
from tracelens.derive.time.idle import LAUNCH, in_time_order
from tracelens.schemas.host import CAUSES
from tracelens.trace import Trace

_LOADING = CAUSES.index("loading")
_MUCH_LONGER = 3
"""A first launch loads the kernel if it takes this many times as long as any later launch."""
_IDS = {"process_id": pl.Int64, "thread_id": pl.Int64}


def causes_of_launching(
    trace: Trace,
    devices: Mapping[Device, DeviceWork],
    launching: pl.Series,
) -> pl.Series:
    """Return the cause of the host's launching time before each kernel, copy and fill, as a code.

    `launching` has these times in ns. The cause is `loading` (of a kernel on its first use), `host`
    (an op that works for long without launching), or `launch`.
    """
    gaps = _launching_gaps(devices, launching)
    ns = pl.col("ns")
    is_long = ns >= LOADING_NS
    long_gaps = gaps.filter(is_long)
    busy = _in_busy_ops(trace, devices, long_gaps)
    launches = _kernel_launches(trace, devices, long_gaps)
    first_launches = launches.unique(
        ["rank", "name"],
        keep="first",
        maintain_order=True,
    )
    named_gaps = gaps.join(launches, on=["rank", "call"])
    repeat_gaps = named_gaps.join(
        first_launches,
        on=["rank", "call"],
        how="anti",
    )
    by_name = repeat_gaps.group_by("device", "name")
    longest_repeat = by_name.agg(repeat_ns=ns.max())
    first_gaps = named_gaps.join(
        first_launches,
        on=["rank", "call"],
        how="semi",
    )
    compared = first_gaps.join(
        longest_repeat,
        on=["device", "name"],
        how="left",
    )
    # Libraries and kernels are loaded on first use, inside an op or a launch, and no profiler
    # records it. It shows as a launching time far longer than before any later use.
    repeat_ns = pl.col("repeat_ns").fill_null(0)
    is_much_longer = ns >= _MUCH_LONGER * repeat_ns
    loads = compared.filter(is_long & is_much_longer)
    causes = pl.repeat(
        LAUNCH,
        len(launching),
        dtype=pl.UInt8,
        eager=True,
    )
    with_busy = causes.scatter(busy, HOST)
    return with_busy.scatter(loads["gap"], _LOADING)


def _in_busy_ops(
    trace: Trace,
    devices: Mapping[Device, DeviceWork],
    long_gaps: pl.DataFrame,
) -> pl.Series:
    """Return the `gap` of each long gap that the launching thread spent mostly in long ops."""
    busy = busy_ops(trace, long_gaps["rank"].unique())
    if busy.is_empty():
        return pl.Series(dtype=pl.Int64)
    parts = []
    first = 0
    for (rank, _), device in devices.items():
        work = pl.concat(in_time_order(device))
        of_rank = long_gaps.filter(pl.col("rank") == rank)
        parts.append(_on_threads(work, device, of_rank, first))
        first += work.height
    duration_ns = pl.col("until") - pl.col("start_ns")
    spans = pl.concat(parts).with_columns(duration_ns=duration_ns)
    in_ops_ns = covered_ns(spans, busy, ["rank", *_IDS])
    is_busy = 2 * in_ops_ns >= spans["ns"]
    return spans.filter(is_busy)["gap"]


def _on_threads(
    work: pl.DataFrame,
    device: DeviceWork,
    long_gaps: pl.DataFrame,
    first: int,
) -> pl.DataFrame:
    """Return a device's long idle times with start and end, and the ids of the launching thread.

    `first` is added to each `gap`, because `long_gaps` numbers the gaps of all devices.
    """
    end = pl.col("end_ns").cum_max().shift(1, fill_value=device.from_ns)
    every_gap = work.select(
        pl.col("gap") + first,
        start_ns=end,
        until="start_ns",
    )
    gaps = every_gap.join(long_gaps, on="gap")
    host = device.host
    thread = host.calls["thread"].gather(gaps["call"])
    ids = pl.DataFrame(host.threads, schema=_IDS, orient="row")
    return pl.concat([gaps, ids[thread]], how="horizontal")


def _launching_gaps(devices: Mapping[Device, DeviceWork], launching: pl.Series) -> pl.DataFrame:
    """List the idle times before device work in which the host was launching.

    - `rank`, `device`, `gap`: numbers; the gap is the idle time before one kernel, copy or fill
    - `ns`: the launching time
    - `call`: row of the call that launched the work
    """
    schema = {"rank": pl.Int32, "device": pl.Int64, "n_calls": pl.Int64, "n_work": pl.Int64}
    sizes = []
    for number, ((rank, _), device) in enumerate(devices.items()):
        n_calls = device.host.calls.height
        sizes.append((rank, number, n_calls, len(device.calls)))
    of_devices = pl.DataFrame(sizes, schema=schema, orient="row")
    numbered = of_devices.with_columns(work=pl.int_ranges("n_work"))
    work = numbered.explode("work")
    calls_of_work = pl.concat([device.calls for device in devices.values()])
    gaps = work.select(
        "rank",
        "device",
        "n_calls",
        gap=pl.int_range(pl.len()),
        ns=launching,
        call=calls_of_work,
    )
    last_call = pl.col("n_calls") - 1
    has_call = pl.col("call").is_between(0, last_call)
    return gaps.filter((pl.col("ns") > 0) & has_call)


def _kernel_launches(
    trace: Trace,
    devices: Mapping[Device, DeviceWork],
    long_gaps: pl.DataFrame,
) -> pl.DataFrame:
    """List all launches of the kernels that the calls of `long_gaps` launched.

    Columns: rank, name and call, sorted by rank and start. Launches of CUDA graphs are left out.
    """
    recorded = trace.select("kernels", "rank", "name", "start_ns", "api_call_id")
    ranks = long_gaps["rank"].unique()
    is_of_ranks = pl.col("rank").is_in(ranks.implode())
    of_ranks = recorded.filter(is_of_ranks).sort("rank", "start_ns")
    # A graph's first launch is long for another reason, as its kernels were loaded before.
    is_graph = pl.col("kind") == "graph_launch"
    graphs = trace.select(
        "api_calls",
        "rank",
        "api_call_id",
        where=is_graph,
    )
    kernels = of_ranks.join(
        graphs,
        on=["rank", "api_call_id"],
        how="anti",
        maintain_order="left",
    )
    hosts = {rank: device.host for (rank, _), device in devices.items()}
    ids = kernels.select("rank", "api_call_id")
    name_code = pl.col("name").to_physical()
    launches = kernels.select("rank", name_code, call=call_rows(hosts, ids))
    names_after_gaps = launches.join(long_gaps, on=["rank", "call"], how="semi")
    return launches.join(
        names_after_gaps,
        on=["rank", "name"],
        how="semi",
        maintain_order="left",
    )
