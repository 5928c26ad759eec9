"""Follow allocated memory over time, its peak, and the blocks that were alive then."""

from collections.abc import Iterator

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Lines
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.events.call_tree import nearest_row
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.time.memory import DEVICE, allocator_events, matched
from tracelens.errors import MissingTableError
from tracelens.schemas.host import PHASES
from tracelens.schemas.results.common import RANK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

I64, STR = pl.Int64, pl.String

BEFORE, KEPT = "before the capture", "not freed"
MEMORY_TIMELINE = Table(
    "memory_timeline",
    "The memory of one allocator, a device's or the host's. A row is the moment at which it held"
    " most (peak), blocks that were alive at that moment (alive), or another moment (time).",
    (
        RANK,
        Column("device_id", pl.Int32, "Device; null for host memory.", nullable=True),
        Column(
            "what",
            STR,
            "Kind of row.",
            values=("peak", "alive", "time"),
        ),
        Column("step", I64, "Current step; null outside of steps, and for blocks.", nullable=True),
        Column(
            "offset_ns",
            I64,
            "Time after the rank's first recorded event of an allocator.",
            nullable=True,
        ),
        Column(
            "allocated_bytes",
            I64,
            "Bytes allocated; for a moment, the most until the next one.",
            nullable=True,
        ),
        Column(
            "reserved_bytes",
            I64,
            "Bytes that the allocator holds from the device; for a moment, the most until"
            " the next one.",
            nullable=True,
        ),
        Column("op", STR, "Innermost op around the allocation that made the peak.", nullable=True),
        Column(
            "below",
            STR,
            "Innermost op around the allocation that does more than allocate.",
            nullable=True,
        ),
        Column("layer", STR, "Innermost module around that allocation.", nullable=True),
        Column(
            "allocated_by",
            STR,
            "Phase of the step that allocated the blocks, by the ops and annotations around;"
            f" unknown without any. `{BEFORE}`: bytes of the total that no recorded allocation"
            " explains; unknown if an allocation has no address.",
            nullable=True,
            values=(*PHASES, BEFORE),
        ),
        Column(
            "freed_by",
            STR,
            f"Phase of the step that frees the blocks; `{KEPT}` if the capture ends first.",
            nullable=True,
            values=(*PHASES, KEPT),
        ),
        Column(
            "n_blocks",
            I64,
            "Number of blocks; null if their allocation was not captured.",
            nullable=True,
        ),
        Column(
            "size_bytes",
            I64,
            "Bytes of the blocks, or of the allocation that made the peak.",
            nullable=True,
        ),
        Column("share_frac", pl.Float64, "size_bytes over the peak.", nullable=True),
    ),
)

_MOMENTS, _LEAST_MOMENTS = 2000, 50
"""Number of moments to show: in total for all devices, and the minimum for each device."""
_ONLY_ALLOCATES = r"^aten::(?:new_)?(?:empty|zeros|ones|full)(?:_like|_strided|_permuted)?$"
_MOST_PEAKS = 4


def memory_timeline(trace: Trace) -> pl.DataFrame:
    """Return each device's peak, the blocks alive at the peak by phase, and memory over time.

    Device None is the host. Raises MissingTableError if no allocations were recorded. Raises
    MissingTableError if no allocation has the total of allocated bytes.
    """
    trace.require("memory_timeline", "allocations")
    events = _events(trace)
    if not events["allocated_bytes"].count():
        raise MissingTableError(
            "memory_timeline needs the allocator's totals, which this capture does not hold;"
            " profile with profile_memory=True and torch 1.13 or later (tracelens collect torch"
            " --memory)"
        )
    start = pl.col("time_ns").min().over("rank")
    events = events.with_columns(offset_ns=pl.col("time_ns") - start)
    parts = events.partition_by(DEVICE, maintain_order=True)
    n_moments = max(_LEAST_MOMENTS, _MOMENTS // len(parts))
    timelines = [_of_device(part, n_moments) for part in parts if part["allocated_bytes"].count()]
    rows = pl.concat(timelines, how="diagonal").with_columns(
        device_order=pl.col("device_id").fill_null(-1)
    )
    numbers = {"peak": 0, "alive": 1, "time": 2}
    order = pl.col("what").replace_strict(numbers, return_dtype=pl.Int64)
    rows = rows.sort(order, "rank", "device_order", maintain_order=True)
    return MEMORY_TIMELINE.conform(rows)


def _events(trace: Trace) -> pl.DataFrame:
    """Return the allocator's events with op, layer and phase.

    Each allocation is matched with its release.
    """
    events = matched(allocator_events(trace, "address", "span_id"))
    spans = trace.select(
        "spans", "rank", "span_id", "parent_id", "kind", "name", "module_path", "phase"
    )
    parts = []
    for tree, tree_events in with_trees(spans, events):
        is_op = tree["kind"] == "op"
        does_more = is_op & ~matching(tree["name"], _ONLY_ALLOCATES)[0]
        parent, span_rows = tree["parent_id"], tree_events["span_id"]
        op = nearest_row(parent, is_op, span_rows)
        parts.append(
            tree_events.with_columns(
                tree["name"].gather(op).alias("op"),
                tree["name"]
                .gather(nearest_row(parent, does_more, parent.gather(op)))
                .alias("below"),
                tree["module_path"].gather(span_rows).alias("layer"),
                tree["phase"].gather(span_rows).cast(pl.String).fill_null("unknown").alias("phase"),
            )
        )
    return pl.concat(parts, how="vertical_relaxed").sort("position")


def _of_device(events: pl.DataFrame, n_moments: int) -> pl.DataFrame:
    peak = events.row(
        int(events["allocated_bytes"].arg_max() or 0),
        named=True,
    )
    most = {
        "allocated_bytes": peak["allocated_bytes"],
        "reserved_bytes": events["reserved_bytes"].max(),
    }
    about = ("rank", "device_id", "step", "offset_ns", "op", "below", "layer", "size_bytes")
    schema = {name: events.schema[name] for name in (*about, *most)}
    first = pl.DataFrame(
        {name: [(peak | most)[name]] for name in schema},
        schema=schema,
    )
    alive = _alive(events, peak).with_columns(
        pl.lit(peak[name], events.schema[name]).alias(name) for name in DEVICE
    )
    share = pl.when(peak["allocated_bytes"] > 0).then(
        pl.col("size_bytes") / peak["allocated_bytes"]
    )
    top = [
        first.with_columns(what=pl.lit("peak")),
        alive.with_columns(what=pl.lit("alive")),
    ]
    moments = _moments(events, n_moments).with_columns(what=pl.lit("time"))
    return pl.concat(
        [
            pl.concat(top, how="diagonal").with_columns(share_frac=share),
            moments,
        ],
        how="diagonal",
    )


def _alive(events: pl.DataFrame, peak: dict[str, int]) -> pl.DataFrame:
    """Sum the blocks that were alive at the peak, the largest sums first.

    Columns: allocated_by, freed_by, n_blocks and size_bytes.
    """
    recorded = _recorded_blocks(events, peak["position"])
    older = _older_blocks(events, peak["position"])
    explained_bytes = int(recorded["size_bytes"].sum()) + int(older["size_bytes"].sum())
    rest_bytes = int(peak["allocated_bytes"]) - explained_bytes
    # If an event lacks its address, the remaining bytes may have been allocated during the capture.
    until_peak = events.filter(pl.col("position") <= peak["position"])
    if until_peak["address"].null_count():
        allocated_by, freed_by = "unknown", "unknown"
    else:
        allocated_by, freed_by = BEFORE, KEPT
    sums = [recorded, older]
    if rest_bytes > 0:
        rest = {"allocated_by": allocated_by, "freed_by": freed_by, "size_bytes": rest_bytes}
        sums.append(pl.DataFrame([rest]))
    return pl.concat(sums, how="diagonal_relaxed").sort(
        "size_bytes",
        "allocated_by",
        "freed_by",
        descending=[True, False, False],
    )


def _recorded_blocks(events: pl.DataFrame, peak_at: int) -> pl.DataFrame:
    """Sum the blocks alive at the peak by the phases that allocated and freed them.

    Blocks without a recorded allocation are left out.
    """
    # If an address is allocated again, or freed with another size, its block was freed earlier
    # and the capture missed that.
    freed_at = pl.col("partner").fill_null(pl.col("following"))
    blocks = events.filter(
        pl.col("address").is_not_null(),
        pl.col("size_bytes") > 0,
        pl.col("position") <= peak_at,
        freed_at.is_null() | (freed_at > peak_at),
    )
    frees = events.select(partner="position", freed_by="phase")
    by_phases = blocks.join(frees, on="partner", how="left").group_by(
        allocated_by="phase",
        freed_by=pl.col("freed_by").fill_null(KEPT),
    )
    return by_phases.agg(
        pl.len().cast(pl.Int64).alias("n_blocks"),
        pl.col("size_bytes").sum(),
    )


def _older_blocks(events: pl.DataFrame, peak_at: int) -> pl.DataFrame:
    """Sum the blocks from before the capture, by the phase that frees them after the peak."""
    frees = events.filter(
        pl.col("address").is_not_null(),
        pl.col("size_bytes") < 0,
        pl.col("position") > peak_at,
        pl.col("previous").is_null(),
    )
    return frees.group_by(allocated_by=pl.lit(BEFORE), freed_by="phase").agg(
        pl.len().cast(pl.Int64).alias("n_blocks"),
        -pl.col("size_bytes").sum(),
    )


def _moments(events: pl.DataFrame, n_moments: int) -> pl.DataFrame:
    """Return the largest values in each of `n_moments` equal parts of the time.

    With fewer events, return each event's values.
    """
    columns = (*DEVICE, "step", "offset_ns", "allocated_bytes", "reserved_bytes")
    if events.height <= n_moments:
        return events.select(columns)
    first, last = events["offset_ns"][0], events["offset_ns"][-1]
    part = (pl.col("offset_ns") - first) * n_moments // (last - first + 1)
    return (
        events.group_by(part=part, maintain_order=True)
        .agg(
            pl.col(*DEVICE, "step", "offset_ns").first(),
            pl.col("allocated_bytes", "reserved_bytes").max(),
        )
        .select(columns)
    )


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Describe the peaks, the blocks alive then, and events that do not fit together."""
    peaks = frame.filter(pl.col("what") == "peak").sort(
        "allocated_bytes", descending=True, maintain_order=True
    )
    sentences = [
        sentence
        for row in peaks.head(_MOST_PEAKS).iter_rows(named=True)
        for sentence in _describe_peak(row, frame)
    ]
    if peaks.height > _MOST_PEAKS:
        sentences.append(
            f"{peaks.height - _MOST_PEAKS:,} more ranks and devices have smaller peaks."
        )
    return sentences + list(_misfits(matched(allocator_events(trace, "address", "span_id"))))


def _describe_peak(row: dict[str, object], frame: pl.DataFrame) -> Iterator[str]:
    """Describe one device's peak, and the largest part of it."""
    device = "the host" if row["device_id"] is None else f"device {row['device_id']}"
    step = "outside of steps" if row["step"] is None else f"in step {row['step']}"
    around = [
        f"{preposition} {row[column]}"
        for preposition, column in (("by", "op"), ("below", "below"), ("of", "layer"))
        if row[column] is not None
    ]
    reserved = (
        "" if row["reserved_bytes"] is None else f" (reserved: {row['reserved_bytes']:,} B at most)"
    )
    most = f"at most {row['allocated_bytes']:,} B were allocated{reserved}"
    yield f"Rank {row['rank']}, {device}: {most}, {' '.join([step, *around])}."
    is_device = pl.col("device_id").eq_missing(pl.lit(row["device_id"], pl.Int32))
    alive = frame.filter(is_device, rank=row["rank"], what="alive")
    largest = alive.drop_nulls("share_frac").head(3)
    parts = [
        f"{share:.1%} {allocated_by if allocated_by == BEFORE else _in_phase(allocated_by)}"
        f" ({freed_by if freed_by == KEPT else f'freed {_in_phase(freed_by)}'})"
        for allocated_by, freed_by, share in largest.select(
            "allocated_by", "freed_by", "share_frac"
        ).iter_rows()
    ]
    if parts:
        yield f"Where that was allocated: {', '.join(parts)}."


def _in_phase(phase: str) -> str:
    return "in an unknown phase" if phase == "unknown" else f"in {phase}"


def _misfits(events: pl.DataFrame) -> Iterator[str]:
    lone = events.filter(pl.col("partner").is_null())
    frees = lone.filter(pl.col("size_bytes") < 0)
    is_older = pl.col("address").is_not_null() & pl.col("previous").is_null()
    older, strays = frees.filter(is_older), frees.filter(~is_older)
    twice = lone.filter((pl.col("size_bytes") > 0) & pl.col("following").is_not_null())
    if older.height:
        yield (
            "Frees of blocks from before the capture, or recorded before their allocation:"
            f" {older.height:,}."
        )
    if strays.height:
        yield (
            "Frees that fit no allocation (another size, no address, or freed twice):"
            f" {strays.height:,}; no block is guessed for them."
        )
    if twice.height:
        yield (
            "Allocations without a free of their size, at an address that was used again: "
            f"{twice.height:,}; they count until then."
        )
    if not events["span_id"].count():
        yield "No op is known around the allocations: collect the trace again, with its ops."


def _charts(frame: pl.DataFrame) -> list[Chart]:
    largest = (
        frame.filter(pl.col("what") == "peak")
        .sort("allocated_bytes", descending=True, maintain_order=True)
        .head(1)
    )
    moments = frame.filter(pl.col("what") == "time").join(
        largest.select("rank", "device_id"),
        on=["rank", "device_id"],
        nulls_equal=True,
        maintain_order="left",
    )
    title = "Memory over time"
    if frame.select("rank", "device_id").n_unique() > 1:
        rank, device = largest.select("rank", "device_id").row(0)
        title += (
            f", rank {rank}, {'host' if device is None else f'device {device}'}, which had the"
            " largest peak"
        )
    return [
        Lines(
            title,
            moments,
            "offset_ns",
            {"allocated_bytes": "allocated", "reserved_bytes": "reserved"},
        )
    ]


ANALYSIS = Analysis(
    "When was most memory allocated, and for what?",
    MEMORY_TIMELINE,
    memory_timeline,
    notes=notes,
    shown=(
        "rank",
        "device_id",
        "what",
        "step",
        "allocated_by",
        "freed_by",
        "n_blocks",
        "size_bytes",
        "share_frac",
        "allocated_bytes",
        "reserved_bytes",
        "op",
        "below",
        "layer",
        "offset_ns",
    ),
    charts=_charts,
)
