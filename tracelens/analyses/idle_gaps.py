"""Sum the idle time of each device by cause and by the code that caused it."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.api_names import WAITS_FOR_DEVICE
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS
from tracelens.derive.time.frame_lines import DEFINED
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_table import require_time
from tracelens.derive.time.time_parts import SLOWED, TimeModel
from tracelens.schemas.results.time import IDLE_GAPS, PARTS
from tracelens.trace import Trace

_FIRST_RANKS = 4
_MATTERS = 0.01
"""A kind of API calls is mentioned if it takes more than this share of the steps' host time."""
_DEVICE = ("rank", "device_id")
_CALLS = {
    "sync": "that wait for the device",
    "memory": "that allocate or release",
    "other": "of other kinds",
}


def idle_gaps(trace: Trace) -> pl.DataFrame:
    """Sum the program's idle time: one row per rank, device, cause and code that caused it.

    `share_frac` is a share of the program's time, without the time that the profiler is known to
    add. Rows are sorted by rank and device, then by time, longest first. Raises MissingTableError
    without kernels and ops.
    """
    require_time(trace, "idle_gaps")
    model = time_model(trace)
    program = _program_times(model)
    gaps = model.idle.join(program, on=_DEVICE, how="left", maintain_order="left", nulls_equal=True)
    is_slowed = pl.col("cause").is_in(SLOWED)
    kept_ns = pl.col("idle_ns") * pl.col("kept")
    program_ns = pl.when(is_slowed).then(kept_ns).otherwise("idle_ns")
    is_of_program = pl.col("what").ne_missing(pl.lit(PROFILER))
    share_frac = pl.when(is_of_program).then(program_ns / pl.col("judged_ns"))
    return IDLE_GAPS.conform(gaps.with_columns(share_frac=share_frac))


def _program_times(model: TimeModel) -> pl.DataFrame:
    """Return each device's time without the profiler's cost.

    - `judged_ns`: the device's time, less the time that the profiler is known to add
    - `kept`: the factor that removes the profiler's cost from idle time caused by the host
    """
    kept = pl.DataFrame(
        [*model.kept_shares().items()],
        schema={"rank": pl.Int32, "kept": pl.Float64},
        orient="row",
    )
    times = model.by(*_DEVICE).join(kept, on="rank", how="left")
    profiler_ns = pl.col("profiler_ns")
    slowed_ns = pl.sum_horizontal(f"{part}_ns" for part in SLOWED) - profiler_ns
    all_ns = pl.sum_horizontal(f"{part}_ns" for part in PARTS) - profiler_ns
    added_ns = slowed_ns * (1 - pl.col("kept"))
    known = times.with_columns(pl.col("kept").fill_null(1.0))
    return known.select(*_DEVICE, "kept", judged_ns=all_ns - added_ns)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the idle time before work with an unknown launch, and API calls that take much time."""
    sentences = []
    unknown = int(frame.filter(pl.col("cause") == "unknown")["idle_ns"].sum())
    if unknown:
        sentences.append(
            f"For {duration(unknown)} of idle time it is not known who launched the next work:"
            " its call came before the capture, or API calls were not recorded."
        )
    if frame["what"].str.contains(DEFINED, literal=True).any():
        # A live capture samples lines, and samples miss short calls.
        remedy = "" if _is_live(trace) else " tracelens run records lines."
        sentences.append(
            "A line after 'defined at' is where a function begins, or a generator goes on. Which of"
            f" its lines ran was not recorded.{remedy}"
        )
    return sentences + _of_shares(trace) + _calls_that_matter(trace)


def _is_live(trace: Trace) -> bool:
    settings = [source.get("settings") for source in trace.manifest.sources]
    return any(isinstance(setting, dict) and setting.get("live") for setting in settings)


def _of_shares(trace: Trace) -> list[str]:
    """Say how much of the host's time the profiler added, on the first ranks."""
    kept = time_model(trace).kept_shares()
    several = len(trace.manifest.ranks) > 1
    return [
        (f"Rank {rank}: idle" if several else "Idle")
        + " times are as recorded, and shares are without what the profiler adds: it adds"
        f" {1 - share:.0%} of the time of launches and of the host's other work."
        for rank, share in sorted(kept.items())[:_FIRST_RANKS]
        if share < 1
    ]


def _calls_that_matter(trace: Trace) -> list[str]:
    """Describe each kind of API calls that takes much of the steps' host time."""
    ns = pl.col("duration_ns")
    calls = (
        trace.select("api_calls", "api", "kind", "step", "duration_ns").lazy().drop_nulls("step")
    )
    sums = (
        calls.group_by("api", "kind")
        .agg(
            n=pl.len(),
            total=ns.sum(),
            longest=ns.max(),
        )
        .collect()
    )
    sums = sums.cast({pl.Categorical: pl.String})
    # StreamWaitEvent makes a stream wait, not the host. Some copies make the host wait.
    other = pl.when(pl.col("kind") == "sync").then(pl.lit("other")).otherwise("kind")
    waits = pl.col("api").str.contains(WAITS_FOR_DEVICE)
    kind = pl.when(waits).then(pl.lit("sync")).otherwise(other)
    by_kind = sums.group_by(kind.alias("kind")).agg(
        pl.col("n", "total").sum(),
        pl.col("longest").max(),
    )
    times = {kind: row for kind, *row in by_kind.iter_rows()}
    host = int(time_model(trace).steps["host_ns"].sum())
    return [
        f"API calls {what}: {times[kind][0]:,} in all steps, {duration(times[kind][1])}, the"
        f" longest {duration(times[kind][2])}."
        for kind, what in _CALLS.items()
        if kind in times and times[kind][1] > _MATTERS * host
    ]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    is_process = frame["device_id"].null_count() == frame.height
    words = PROCESS_WORDS if is_process else PART_WORDS
    frame = frame.with_columns(pl.col("cause").replace(words))
    names = named(frame, "cause", "what")
    return [Bars("Idle time by cause and place", frame, names, "idle_ns", "cause")]


ANALYSIS = Analysis(
    "Why was the device, or the process, idle?",
    IDLE_GAPS,
    idle_gaps,
    notes=notes,
    shown=("rank", "device_id", "cause", "what", "idle_ns", "share_frac", "n_gaps", "longest_ns"),
    charts=_charts,
    parallel=Parallel.OF_TIME,
)
