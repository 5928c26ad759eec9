"""Compare the time of two runs' steps, part by part, for each device."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, SplitBars
from tracelens.derive.columns.ratios import over, speedup
from tracelens.derive.columns.time_text import difference, duration
from tracelens.derive.comparing.per_step import (
    CAUSE_PARTS,
    PARTS,
    recorded_time_values,
    time_values,
)
from tracelens.derive.comparing.rows import Comparison, outcomes_in_words
from tracelens.derive.comparing.significance import DEFAULT, REASON_SPREAD, Rules
from tracelens.derive.layers.rank_pairs import pairs_ranks, says_ranks
from tracelens.derive.time.bounds import PART_WORDS
from tracelens.derive.time.model import model_for_times
from tracelens.derive.time.step_table import require_time
from tracelens.schemas.results.comparing import COMPARE_TIME
from tracelens.trace import Trace

_KEY = ("rank", "device", "part")
_TIME = Comparison(_KEY, time_values)
_RECORDED = Comparison(_KEY, recorded_time_values)


@pairs_ranks
def compare_time(base: Trace, other: Trace, *, rules: Rules = DEFAULT) -> pl.DataFrame:
    """Compare time: one row per rank, device and part of a step, the whole step first.

    The time that the profiler is known to add is subtracted. A part is judged by how much it
    changes the step. Causes of idle time are shown but not judged, because a device that waits less
    for one thing may wait more for another. Raises MissingTableError without kernels and ops.
    """
    for trace in (base, other):
        require_time(trace, "compare_time")
    step = pl.col("base_value").filter(pl.col("part") == "window").first().over("rank", "device")
    judged = _TIME.values(base, other, rules, whole=step)
    every_run = (base, other, *rules.base_runs, *rules.other_runs)
    if any(model_for_times(trace).kept_shares() for trace in every_run):
        recorded = _RECORDED.values(base, other, rules, whole=step)
        judged = _widened(recorded, judged)
    more, is_cause = pl.col("other_value") - pl.col("base_value"), pl.col("part").is_in(CAUSE_PARTS)
    without_causes = judged.with_columns(
        pl.when(~is_cause).then(name).alias(name) for name in ("outcome", "reason")
    )
    differences = without_causes.with_columns(of_step_frac=over(more, step)).rename(
        {
            "base_value": "base_ns",
            "other_value": "other_ns",
            "low": "more_low_ns",
            "high": "more_high_ns",
        }
    )
    order_of_parts = pl.col("part").replace_strict(
        {part: number for number, part in enumerate(PARTS)},
        return_dtype=pl.Int64,
    )
    with_speedups = differences.with_columns(
        speedup=speedup(pl.col("base_ns"), pl.col("other_ns")),
        more_ns=pl.col("other_ns") - pl.col("base_ns"),
    )
    return COMPARE_TIME.conform(with_speedups.sort("rank", "device", order_of_parts))


def _widened(recorded: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return `rows`, with intervals (`low` to `high`) at least as wide as those in `recorded`.

    If `recorded` has another outcome for a row, the row's outcome becomes unclear.
    """
    columns = [*_KEY, "low", "high", "outcome", "reason"]
    both = rows.join(
        recorded.select(columns),
        on=_KEY,
        how="left",
        nulls_equal=True,
        maintain_order="left",
        suffix="_recorded",
    )
    difference = pl.col("other_value") - pl.col("base_value")
    widths = (
        pl.col("high") - pl.col("low"),
        pl.col("high_recorded") - pl.col("low_recorded"),
    )
    # One ratio per run removes the profiler's time. The variation between steps does not show an
    # error of this ratio, so the intervals alone would be too narrow.
    half_width = pl.max_horizontal(widths) / 2
    is_sure = pl.col("outcome") == pl.col("outcome_recorded")
    outcome = pl.when(is_sure).then("outcome").otherwise(pl.lit("unclear"))
    outcome = pl.when(pl.col("outcome").is_not_null()).then(outcome)
    reason = pl.coalesce("reason", "reason_recorded", pl.lit(REASON_SPREAD))
    return both.with_columns(
        low=difference - half_width,
        high=difference + half_width,
        outcome=outcome,
        reason=pl.when(outcome == "unclear").then(reason),
    ).select(rows.columns)


@says_ranks
def notes(base: Trace, other: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all pair notes take these
    """Say how long median steps take and how many parts were judged."""
    sentences = []
    for row in frame.filter(part="window").drop_nulls("more_ns").iter_rows(named=True):
        low, high = row["more_low_ns"], row["more_high_ns"]
        spread = "" if low is None else f" ({difference(low)} to {difference(high)})"
        why = f": {row['reason']}" if row["reason"] else ""
        sentences.append(
            f"Rank {row['rank']}: the median step takes {duration(row['base_ns'])} in base and"
            f" {duration(row['other_ns'])} in new, {difference(row['more_ns'])}{spread};"
            f" {row['outcome']}{why}."
        )
    return [
        *sentences,
        outcomes_in_words(
            frame.filter(~pl.col("part").is_in(CAUSE_PARTS)),
            "parts of a step",
        ),
    ]


def _charts(frame: pl.DataFrame) -> list[Chart]:
    parts = {"base_ns": "base", "other_ns": "new"}
    words = {part: PART_WORDS[part.removeprefix("idle_")] for part in CAUSE_PARTS}
    words |= {f"exposed_{part}": PART_WORDS[part] for part in ("communication", "copy")}
    part_rows = frame.filter(~pl.col("part").is_in(["window", "idle"]))
    part_rows = part_rows.with_columns(pl.col("part").replace(words))
    return [SplitBars("Where a step's time went", part_rows, ["part"], parts, stacked=False)]


ANALYSIS = Analysis(
    "Where did the time of the two runs' steps go?",
    COMPARE_TIME,
    compare_time,
    notes=notes,
    shown=(
        "rank",
        "device",
        "part",
        "base_ns",
        "other_ns",
        "more_ns",
        "of_step_frac",
        "outcome",
        "more_low_ns",
        "more_high_ns",
        "reason",
    ),
    charts=_charts,
    of_one_program=True,
)
