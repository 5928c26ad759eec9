"""Find what a step would gain if each op, layer or cause took a tenth less time."""

from __future__ import annotations

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, Parallel, named
from tracelens.derive.columns.time_text import duration
from tracelens.derive.replay.faster_change import can_be_faster
from tracelens.derive.replay.moment_graph import COLLECTIVE, COPY, KERNEL, Flags
from tracelens.derive.replay.replay import Replay, replay_error_frac, replays
from tracelens.derive.replay.savings import savings
from tracelens.derive.replay.subject import Subject
from tracelens.derive.replay.unprofiled import LARGEST_ERROR, UnprofiledStep, unprofiled_steps
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.replay import SENSITIVITY
from tracelens.trace import Trace

SHARE = 0.1
"""The share by which the time of each op, layer and cause is shortened in turn."""
_MOST = 12
"""Number of ops, and number of layers, that are tried. They are the ones with most time."""


def sensitivity(trace: Trace) -> pl.DataFrame:
    """Return the time that a step saves if an op, layer or cause takes 10 % less time.

    On each rank, the ops, layers and causes with the most time have one row each. A replay of steps
    around the median step gives the saved time. The replay computes the length of a step from the
    dependencies of calls and work, without the profiler's cost. `faster OP by 10%` of whatif gives
    the same. Raises MissingTableError without kernels and ops.
    """
    require_time(trace, "sensitivity")
    steps = unprofiled_steps(trace)
    parts = [
        sensitivity_of(trace, replay, steps.get(rank))
        for rank, replay in replays(trace).items()
        if replay_error_frac(replay) <= LARGEST_ERROR
    ]
    rows = pl.concat(
        [
            SENSITIVITY.empty(),
            *(SENSITIVITY.conform(part) for part in parts),
        ]
    )
    return rows.sort(
        "rank",
        "saved_ns",
        "total_ns",
        "kind",
        "what",
        descending=[False, True, True, False, False],
    )


def notes(_trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Name the row with the largest gain."""
    if not frame.height:
        return ["No step could be replayed, so it is not known what would shorten one."]
    # In a job, the time of a collective is mostly that of waiting for a late rank.
    own = frame.filter(pl.col("what") != "collectives") if frame["rank"].n_unique() > 1 else frame
    if not own["saved_ns"].sum():
        return ["No step gets shorter by 10 % less time for any one of these."]
    best = own.sort("saved_ns", descending=True, maintain_order=True).row(0, named=True)
    saved = f"{duration(best['saved_ns'])}"
    what = best["what"]
    words = PART_WORDS.get(what, what) if best["kind"] == "cause" else what
    return [f"What helps most: 10 % less time in {words} shortens a step by {saved}."]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    title = "What 10 % less time would save"
    return [
        Bars(
            title,
            frame,
            named(frame, "kind", "what"),
            "saved_ns",
            "kind",
        )
    ]


def sensitivity_of(trace: Trace, replay: Replay, step: UnprofiledStep | None) -> pl.DataFrame:
    """List the ops, layers and causes with most time.

    `saved_ns` is the time that a step saves if the op, layer or cause takes a tenth less.
    """
    subject = Subject(trace, replay)
    can_be = can_be_faster(subject)
    groups = [
        *_largest(subject, "op", subject.labels.ops, can_be),
        *_largest(subject, "layer", _outer(subject.labels.layers), can_be),
        *_causes(subject),
    ]
    gains = savings(
        trace,
        replay,
        step,
        [chosen for *_, chosen in groups],
        SHARE,
    )
    rows = [
        (replay.excerpt.rank, subject_kind, name, total, saved)
        for (subject_kind, name, _), (total, saved) in zip(groups, gains, strict=True)
    ]
    schema = {
        "rank": pl.Int32,
        "kind": pl.String,
        "what": pl.String,
        "total_ns": pl.Int64,
        "saved_ns": pl.Int64,
    }
    return pl.DataFrame(rows, schema, orient="row")


def _outer(layers: list[str | None]) -> list[str | None]:
    """Shorten module paths to their first three parts."""
    return [None if path is None else ".".join(path.split(".")[:3]) for path in layers]


def _largest(
    subject: Subject, kind: str, names: list[str | None], can_be_faster: Flags
) -> list[tuple[str, str, Flags]]:
    """Return the names with the most time, each as `kind`, the name, and flags.

    `names` has one name, or None, per edge of the replay's graph. The weight of an edge is a time.
    The flags say which edges have the returned name and can be faster.
    """
    frame = pl.DataFrame(
        {
            "name": pl.Series(names, dtype=pl.String),
            "ns": subject.replay.table.graph.weights,
        }
    ).with_columns(name=pl.when(pl.Series(can_be_faster)).then("name"))
    sums = frame.drop_nulls().group_by("name").agg(pl.col("ns").sum())
    largest = sums.sort("ns", "name", descending=[True, False]).head(_MOST)["name"].to_list()
    texts = frame["name"]
    return [
        (
            kind,
            name,
            (texts == name).fill_null(value=False).to_numpy(),
        )
        for name in largest
    ]


def _causes(subject: Subject) -> list[tuple[str, str, Flags]]:
    """List causes of host time and kinds of device work, each in the form that `_largest` returns.

    All have the kind "cause". Flags are True for edges whose time has this cause or kind of work.
    """
    table = subject.replay.table
    causes = sorted({cause for cause in subject.labels.causes if cause})
    of_device = ((KERNEL, "kernels"), (COPY, "copies"), (COLLECTIVE, "collectives"))
    works = any((table.kinds == kind).any() for kind, _ in of_device)
    words = {} if works else {"launch": "ops"}  # without a device, ops do the work themselves
    subjects = [("cause", words.get(cause, cause), subject.of_cause(cause)) for cause in causes]
    for kind, word in of_device:
        chosen = table.kinds == kind
        if chosen.any():
            subjects.append(("cause", word, chosen))
    return subjects


ANALYSIS = Analysis(
    "What would shorten a step?",
    SENSITIVITY,
    sensitivity,
    notes=notes,
    shown=("rank", "kind", "what", "total_ns", "saved_ns"),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
