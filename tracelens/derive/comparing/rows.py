"""Compare two runs row by row, and judge the differences.

A row may exist in one run only.
"""

from collections.abc import Callable, Sequence

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.ratios import speedup, which_side
from tracelens.derive.columns.side_by_side import side_by_side
from tracelens.derive.comparing.comparability import not_judged
from tracelens.derive.comparing.per_step import fill_steps, in_steps, of_runs, sum_steps
from tracelens.derive.comparing.significance import Rules, judge
from tracelens.trace import Trace

CALLS_SHOWN = (
    "change",
    "base_n_calls",
    "other_n_calls",
    "base_ns",
    "other_ns",
    "speedup",
    "speedup_per_call",
    "outcome",
    "speedup_low",
    "speedup_high",
    "reason",
)
"""Columns of `Comparison.calls` to show first, after the columns of the key."""


class Comparison(Struct, frozen=True):
    """Compares two runs row by row."""

    key: tuple[str, ...]  # columns that identify a row
    # Returns a run's rows: the key, value; for `calls` also step and n (number of calls). `sums`
    # takes any columns beside the key.
    measure: Callable[[Trace], pl.DataFrame]
    tick: float = 0.0  # resolution of the clock; values within two ticks are equal

    def sums(self, base: Trace, other: Trace) -> pl.DataFrame:
        """Return the measured columns of both runs as `side_by_side` does; nothing is judged.

        An integer that a run lacks is 0.
        """
        return side_by_side(
            self.measure(base),
            self.measure(other),
            self.key,
            absent=0,
        )

    def values(
        self,
        base: Trace,
        other: Trace,
        rules: Rules,
        whole: pl.Expr | None = None,
    ) -> pl.DataFrame:
        """Judge the values of two runs, one row per key of either run.

        The columns are those of `judge`.
        """
        base_values, other_values = (
            of_runs(side, self.measure) for side in _runs(base, other, rules)
        )
        refusal = not_judged(base, other, rules)
        return judge(
            base_values, other_values, self.key, rules, whole=whole, tick=self.tick, refusal=refusal
        )

    def calls(self, base: Trace, other: Trace, rules: Rules) -> pl.DataFrame:
        """Compare numbers and times of calls, one row per key of either run, longest first.

        Columns: those of `judge`, change, speedups, and for each run the number of calls, their
        time, and the mean time of a call. The number and the time are per step if all runs mark
        steps, else totals of the capture. A speedup of totals is None if the runs make different
        numbers of calls.
        """
        key = list(self.key)
        base_runs, other_runs = _runs(base, other, rules)
        every_run = [*base_runs, *other_runs]
        by_step = all(in_steps(trace).height for trace in every_run)
        steps = [in_steps(trace) if by_step else in_steps(trace).clear() for trace in every_run]
        sums = [
            sum_steps(self.measure(trace), steps_of_run, key)
            for trace, steps_of_run in zip(every_run, steps, strict=True)
        ]
        # Rows are judged by the number of their key, which is one column of integers.
        keys = pl.concat(frame.select(key).unique() for frame in sums).unique().sort(key)
        keys = keys.with_row_index("row")
        values = [
            fill_steps(
                frame.join(keys, on=key, nulls_equal=True),
                steps_of_run,
                ("rank", "row"),
            ).with_columns(run=pl.lit(number, pl.Int64))
            for number, (frame, steps_of_run) in enumerate(zip(sums, steps, strict=True))
        ]
        base_values = pl.concat(values[: len(base_runs)])
        other_values = pl.concat(values[len(base_runs) :])
        refusal = not_judged(base, other, rules)
        judged = judge(
            base_values,
            other_values,
            ["row"],
            rules,
            tick=self.tick,
            refusal=refusal,
        )
        of_base = _call_sums("base", base_values, None if by_step else len(base_runs))
        of_other = _call_sums("other", other_values, None if by_step else len(other_runs))
        with_sums = judged.join(of_base, on="row", how="left").join(of_other, on="row", how="left")
        with_keys = with_sums.join(keys, on="row").drop("row")
        rows = _with_speedups(
            with_keys.cast({pl.Categorical: pl.String}),
            by_step=by_step,
        )
        longer_ns = pl.max_horizontal("base_ns", "other_ns")
        descending = [True] + [False] * len(key)
        return rows.sort(longer_ns, *key, descending=descending)


def _with_speedups(rows: pl.DataFrame, *, by_step: bool) -> pl.DataFrame:
    """Add change, speedup, speedup_per_call, speedup_low and speedup_high.

    `change` is "removed" if only base has the row, "added" if only other has it, else "both".
    """
    has_equal_calls = by_step or pl.col("base_n_calls") == pl.col("other_n_calls")
    speedup_of_totals = speedup(pl.col("base_ns"), pl.col("other_ns"))
    base_value = pl.col("base_value")
    return rows.with_columns(
        change=which_side("base_value", "other_value", ("removed", "added", "both")),
        speedup=pl.when(has_equal_calls).then(speedup_of_totals),
        speedup_per_call=speedup(pl.col("base_call_ns"), pl.col("other_call_ns")),
        speedup_low=speedup(base_value, base_value + pl.col("high")),
        speedup_high=speedup(base_value, base_value + pl.col("low")),
    )


def _call_sums(side: str, values: pl.DataFrame, n_runs: int | None) -> pl.DataFrame:
    """Return row, SIDE_n_calls, SIDE_ns and SIDE_call_ns, one row per value of `row`.

    SIDE_n_calls and SIDE_ns are medians over the steps. If `n_runs` is given, they are means over
    the runs. SIDE_call_ns is the mean time of a call.
    """
    n_calls = pl.col("n")
    value = pl.col("value")
    calls = n_calls.median() if n_runs is None else n_calls.sum() / n_runs
    time = value.median() if n_runs is None else value.sum() / n_runs
    time_per_call = value.sum() / n_calls.sum()
    return values.group_by("row").agg(
        calls.alias(f"{side}_n_calls"),
        time.alias(f"{side}_ns"),
        time_per_call.alias(f"{side}_call_ns"),
    )


def _runs(base: Trace, other: Trace, rules: Rules) -> tuple[Sequence[Trace], Sequence[Trace]]:
    """Return two lists: base with its repeated runs, and other with its repeated runs."""
    return (base, *rules.base_runs), (other, *rules.other_runs)


def outcomes_in_words(frame: pl.DataFrame, what: str) -> str:
    """Return a sentence that counts the rows judged faster, slower and unclear.

    The sentence also counts the rows that only one run has.
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
