"""Rows that two runs share, and those that one has alone: calls and time of each, judged."""

from collections.abc import Callable, Sequence

import polars as pl

from tracelens.derive.columns.ratios import speedup, which_side
from tracelens.derive.comparing.comparability import not_judged
from tracelens.derive.comparing.per_step import each_step, in_steps, of_runs
from tracelens.derive.comparing.significance import Rules, judge
from tracelens.trace import Trace


def compare_rows(  # noqa: PLR0913, PLR0917 - two runs, what their rows are, and how these are judged
    base: Trace,
    other: Trace,
    key: Sequence[str],
    work: Callable[[Trace], pl.DataFrame],
    rules: Rules,
    tick: float = 0.0,
) -> pl.DataFrame:
    """Return one row per key that either run has, with what `judge` says.

    Columns are key, change, calls and times of both, and speedups. `work` gives rank, the key,
    step, value and n of a run. Where all runs mark steps, calls, times and the judgement are of a
    step; else calls and times are of the whole capture, a call is judged, and there is a speedup of
    totals only where both made as many.
    """
    key = list(key)
    runs = (base, *rules.base_runs), (other, *rules.other_runs)
    marked = [in_steps(trace) for side in runs for trace in side]
    by_step = all(steps.height for steps in marked)

    def values(trace: Trace) -> pl.DataFrame:
        steps = in_steps(trace)
        return each_step(work(trace), steps if by_step else steps.clear(), key)

    sides = [of_runs(side, values) for side in runs]
    rows = judge(sides[0], sides[1], key, rules, tick=tick, refusal=not_judged(base, other, rules))
    for which, side, traces in zip(("base", "other"), sides, runs, strict=True):
        sums = side.group_by(key).agg(
            (pl.col("n").median() if by_step else pl.col("n").sum() / len(traces)).alias(
                f"{which}_n_calls"
            ),
            (pl.col("value").median() if by_step else pl.col("value").sum() / len(traces)).alias(
                f"{which}_ns"
            ),
            (pl.col("value").sum() / pl.col("n").sum()).alias(f"{which}_call_ns"),
        )
        rows = rows.join(sums, on=key, how="left", nulls_equal=True)
    rows = rows.cast({pl.Categorical: pl.String})
    counted = by_step or pl.col("base_n_calls") == pl.col("other_n_calls")
    value = pl.col("base_value")
    return rows.with_columns(
        change=which_side("base_value", "other_value", ("removed", "added", "both")),
        speedup=pl.when(counted).then(speedup(pl.col("base_ns"), pl.col("other_ns"))),
        speedup_per_call=speedup(pl.col("base_call_ns"), pl.col("other_call_ns")),
        speedup_low=speedup(value, value + pl.col("high")),
        speedup_high=speedup(value, value + pl.col("low")),
    ).sort(pl.max_horizontal("base_ns", "other_ns"), *key, descending=[True, *[False] * len(key)])


def outcomes_in_words(frame: pl.DataFrame, what: str) -> str:
    """Return one sentence on how many rows are judged faster, slower and neither.

    It also counts what only one run has.
    """
    counts = {
        word: int((frame["outcome"] == word).sum()) for word in ("faster", "slower", "unclear")
    }
    counted = ", ".join(f"{n:,} {word}" for word, n in counts.items())
    why = frame.filter(outcome="unclear")["reason"].value_counts(sort=True)
    reason = f" ({why['reason'][0]})" if why.height == 1 else ""
    alone = (
        {word: int((frame["change"] == word).sum()) for word in ("added", "removed")}
        if "change" in frame
        else {}
    )
    more = "".join(f", {n:,} {word}" for word, n in alone.items() if n)
    return f"Of {frame.height:,} {what}: {counted}{reason}{more}."
