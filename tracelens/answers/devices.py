"""Describe how a program uses its devices, and how many of their SMs."""

from statistics import mean

import polars as pl
from msgspec import Struct

from tracelens.answers.words import place_text
from tracelens.derive.columns.intervals import END, union
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.program_phases import in_program
from tracelens.derive.time.time_parts import RankTime, TimeModel
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.trace import Trace

_USED = 0.1
_MORE = 0.2
"""One device works more than the others if its share is larger by this much."""
_AT_ONCE = 0.1
"""Devices work one after the other if less than this share of their work runs at the same time."""
_MOSTLY = 0.7
_FEW = 0.5
"""Kernels use few SMs if more than this share of the SMs has no block, averaged over time."""


class SmUse(Struct, frozen=True):
    """The use of a device's SMs, averaged over the time in which kernels compute."""

    # The mean number of SMs that have a block of a kernel
    n_used: float
    # The device's number of SMs
    sm_count: int

    @property
    def is_few(self) -> bool:
        """True if more than half of the SMs have nothing to do, on average."""
        return self.n_used < _FEW * self.sm_count

    @property
    def sentence(self) -> str:
        """The number of SMs that have work, in words."""
        used = max(round(self.n_used), 1)
        return f"its kernels have blocks for {used} of {self.sm_count} SMs, averaged over time"


def few_sms(trace: Trace, rank: RankTime) -> SmUse | None:
    """Return the use of the GPU's SMs if most computing uses few of them, else None."""
    use = None if rank.is_process else sm_use(trace, rank.rank)
    return use if use is not None and use.is_few else None


def sm_use(trace: Trace, rank: int) -> SmUse | None:
    """Measure how many SMs a rank's program uses on average.

    Return None if no kernel computes, if a grid or a device's number of SMs is unknown, or if the
    rank's devices differ in size.
    """
    grid = ("grid_x", "grid_y", "grid_z")
    columns = ("device_id", "start_ns", "duration_ns", "is_communication", *grid)
    recorded = trace.select("kernels", "rank", "step", *columns, rank=rank)
    computing = recorded.filter(in_program(trace) & ~pl.col("is_communication"))
    sm_count = _common_sm_count(trace, rank, computing["device_id"].unique())
    if computing.is_empty() or sm_count is None:
        return None
    n_blocks = pl.col("grid_x").cast(pl.Int64) * pl.col("grid_y") * pl.col("grid_z")
    kernels = computing.with_columns(
        n_blocks=n_blocks,
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
    )
    busy = union(kernels.select("device_id", "start_ns", "end_ns"), by="device_id")
    busy_ns = int((busy["end_ns"] - busy["start_ns"]).sum())
    if not busy_ns or kernels["n_blocks"].null_count():
        return None
    # A block runs on one SM, so a kernel uses no more SMs than it has blocks.
    used_sms = pl.min_horizontal("n_blocks", sm_count)
    used_ns = int(kernels.select((used_sms * pl.col("duration_ns")).sum()).item())
    return SmUse(min(used_ns / busy_ns, sm_count), sm_count)


def _common_sm_count(trace: Trace, rank: int, devices: pl.Series) -> int | None:
    """Return the devices' number of SMs; None if it is not known, or not the same for all."""
    is_used = pl.col("device_id").is_in(devices.implode())
    rows = trace.devices.filter(is_used, rank=rank)
    counts = rows["sm_count"].unique().to_list()
    return counts[0] if len(counts) == 1 else None


def sentence_of_gpus(model: TimeModel, rank: RankTime, whole: str) -> str | None:
    """Say that devices work unequally, or one after the other; None if they do neither.

    The sentence gives percentages of a time that `whole` names, such as "the step".
    """
    shares = _computing(model, rank.rank)
    if len(shares) < 2:
        return None
    busiest = max(shares, key=lambda device: shares[device])
    most = shares[busiest]
    others = [share for device, share in shares.items() if device != busiest]
    if most - mean(others) >= _MORE:
        rest = "the other GPU" if len(others) == 1 else f"the other {len(others)} GPUs"
        return f"GPU {busiest} computes {most:.0%} of {whole}, {rest} {mean(others):.0%}".replace(
            "%", " %"
        )
    if not _is_in_turns(model, rank.rank, sum(shares.values())):
        return None
    idle = f"{1 - mean(shares.values()):.0%}".replace("%", " %")
    return f"{len(shares)} GPUs work in turns, and each computes nothing for {idle} of {whole}"


def wait_of_idlest(model: TimeModel, rank: RankTime) -> str | None:
    """Say why the device that computes least is idle, by its main cause.

    Return None if all devices work about equally.
    """
    # In the mean of devices, a busy one could hide one that waits for input.
    shares = _computing(model, rank.rank)
    if len(shares) < 2:
        return None
    idlest = min(shares, key=lambda device: shares[device])
    if mean(shares.values()) - shares[idlest] < _MORE / 2:
        return None
    times = model.by("rank", "device_id").row(
        by_predicate=(pl.col("rank") == rank.rank) & (pl.col("device_id") == idlest),
        named=True,
    )
    cause = max(IDLE_PARTS, key=lambda part: int(times[f"{part}_ns"]))
    share = f"{times[f'{cause}_ns'] / times['window_ns']:.0%}".replace("%", " %")
    places = model.idle.filter(rank=rank.rank, device_id=idlest, cause=cause).drop_nulls("what")
    where = place_text(str(places["what"][0])) if places.height else None
    return f"GPU {idlest} is idle: {PART_WORDS[cause]} {share}{f', {where}' if where else ''}"


def _computing(model: TimeModel, rank: int) -> dict[int, float]:
    """Return the share of time in which each device of a rank computes.

    Devices that compute much less than the busiest device are left out.
    """
    times = model.by("rank", "device_id").filter(rank=rank)
    rows = times.select(
        "device_id",
        pl.col("compute_ns") / pl.col("window_ns"),
    ).rows()
    most = max(share for _, share in rows)
    return {device: share for device, share in rows if share >= _USED * most}


def _is_in_turns(model: TimeModel, rank: int, shares: float) -> bool:
    """Return whether a rank's devices compute one after the other, for most of the time.

    `shares` is the sum of the devices' shares of the time.
    """
    recorded = model.trace.select(
        "kernels", "rank", "device_id", "step", "start_ns", "duration_ns", rank=rank
    )
    in_order = recorded.filter(in_program(model.trace)).sort("start_ns")
    kernels = in_order.select("device_id", "start_ns", end_ns=END)
    alone = sum(_length(part) for part in kernels.partition_by("device_id"))
    together = _length(kernels)
    return shares >= _MOSTLY and alone - together < _AT_ONCE * together


def _length(work: pl.DataFrame) -> int:
    """Return the nanoseconds that work covers.

    `work` is sorted by start.
    """
    covered = union(work.select("start_ns", "end_ns"))
    return int((covered["end_ns"] - covered["start_ns"]).sum())
