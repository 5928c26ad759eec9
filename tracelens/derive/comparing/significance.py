"""Test which rows of a comparison differ by more than chance.

1. A row's value is the median over steps, or over runs if there are at least three.
2. The variance of the median is from its bootstrap distribution, computed without resampling
   (Maritz and Jarrett, JASA 73, 1978).
3. A difference is tested by Student's t, because few steps give a poor estimate of the variance.
4. Levels are corrected for the number of rows (Holm, 1979).
"""

from collections.abc import Sequence
from functools import cache
from math import atan, comb, inf, sin, sqrt

import polars as pl
from msgspec import Struct

from tracelens.trace import Trace

LEVEL = 0.05
"""The probability that any row is judged different although both runs are equal."""
MIN_SAMPLES = 3
"""With fewer values than this, the spread is unknown, and a row is not judged."""
MAX_SAMPLES = 30
"""A row is judged by at most this many values.

More values are averaged in groups of neighbours, because neighbouring steps are correlated.
"""
TICK_NS = 32
"""Resolution in ns of the clock of recent NVIDIA GPUs, as seen by CUPTI (H200, driver 580)."""
TICKS_EQUAL = 2
"""Durations that differ by at most this many ticks are equal, because both ends are rounded."""
_MAX_DEGREES = 20
"""The largest number of degrees of freedom that is used.

The spread of a median depends on the few values in the middle, even if there are many values.
"""
REASON_TOO_FEW = "fewer than three steps (or runs) on a side"
REASON_SPREAD = "within the spread"
REASON_SMALL = "less than the least effect"
REASON_TICKS = "within two ticks of the clock"


class Rules(Struct, frozen=True):
    """Holds the rules by which a comparison is judged."""

    min_effect: float = 0.01  # least relative difference that counts
    base_runs: Sequence[Trace] = ()  # further runs of base's program
    other_runs: Sequence[Trace] = ()  # further runs of other's program
    across_devices: bool = False  # judge runs on two kinds of GPU
    any_work: bool = False  # judge gates on runs that did different work
    any_program: bool = False  # compare two programs


DEFAULT = Rules()


def judge(  # noqa: PLR0913 - both sides, the key of a row, and the rules
    base: pl.DataFrame,
    other: pl.DataFrame,
    key: Sequence[str],
    rules: Rules = DEFAULT,
    *,
    whole: pl.Expr | None = None,
    tick: float | pl.Expr = 0.0,
    refusal: str | None = None,
) -> pl.DataFrame:
    """Judge the difference of each key's values, one row per key of either side.

    `base` and `other` have the key, `run` and `value`, one row per step. Columns of the result:

    - the key
    - base_value, other_value: medians over steps, or over runs if base has at least three
    - n_base_values, n_other_values: numbers of steps or runs
    - low, high: confidence interval of the difference, corrected for the number of rows
    - outcome: faster (less), slower or unclear; None if one side lacks the row
    - reason: why it is unclear

    The difference is other_value minus base_value. It counts if it is at least the share
    `rules.min_effect` of `whole` (by default base_value). It must also be larger than TICKS_EQUAL
    times the clock's resolution, `tick`. A `refusal` makes all rows unclear.
    """
    key = list(key)
    n_base_runs, n_other_runs = (
        side["run"].n_unique() if side.height else 0 for side in (base, other)
    )
    by_base = n_base_runs >= MIN_SAMPLES > n_other_runs and bool(rules.base_runs)
    knows_runs = by_base or min(n_base_runs, n_other_runs) >= MIN_SAMPLES
    base_samples, other_samples = (_samples(side, key, by_run=knows_runs) for side in (base, other))
    # If p-values are equal, the first one takes the strictest level.
    medians = _medians((base_samples, other_samples), key).sort(key)
    base_value = pl.col("base_value")
    difference = pl.col("other_value") - base_value
    effect = (difference.abs() / (base_value if whole is None else whole)).fill_nan(0.0)
    fewest = (
        pl.col("n_base_values") if by_base else pl.min_horizontal("n_base_values", "n_other_values")
    )
    tick = tick if isinstance(tick, pl.Expr) else pl.lit(tick)
    differences = medians.with_columns(effect=effect, difference=difference, tick=tick)
    is_in_both = pl.col("effect").is_not_null()
    compared = differences.with_columns(n=pl.when(is_in_both).then(fewest))
    with_errors = _with_errors(compared, base_samples, other_samples, key, by_base=by_base)
    return _with_outcomes(with_errors, rules, refusal).drop(
        "effect", "difference", "n", "standard_error", "p_value", "degrees_of_freedom", "tick"
    )


def _with_errors(
    rows: pl.DataFrame,
    base_samples: pl.DataFrame,
    other_samples: pl.DataFrame,
    key: list[str],
    *,
    by_base: bool,
) -> pl.DataFrame:
    """Add the standard error of each row's difference, and its degrees of freedom.

    With `by_base`, other's runs are too few to show how they vary, so base's runs show it.
    """
    base_variance = _median_variance(base_samples, rows, key)
    other_variance = (
        _variance_between_runs(base_samples, rows, key)
        if by_base
        else _median_variance(other_samples, rows, key)
    )
    tick_variance = 2 * (pl.col("tick") / 2) ** 2
    variance = base_variance + other_variance + tick_variance
    # `n` is of the side with fewer values. Each side has n - 1 degrees of freedom; Student's t is
    # computed for even numbers of them.
    n = pl.col("n").cast(pl.Int64)
    degrees = (n - 1) // 2 * 2 if by_base else 2 * (n - 1)
    return rows.with_columns(
        degrees_of_freedom=degrees.clip(2, _MAX_DEGREES),
        standard_error=variance.sqrt(),
    )


def _medians(sides: Sequence[pl.DataFrame], key: list[str]) -> pl.DataFrame:
    """Return the median and the number of each key's samples in base and in other.

    Columns: the key, base_value, n_base_values, other_value, n_other_values.
    """
    base, other = (
        side.group_by(key).agg(
            pl.col("value").median().alias(f"{which}_value"),
            pl.len().alias(f"n_{which}_values"),
        )
        for which, side in zip(("base", "other"), sides, strict=True)
    )
    return base.join(other, on=key, how="full", coalesce=True, nulls_equal=True)


def _samples(
    side: pl.DataFrame,
    key: list[str],
    *,
    by_run: bool,
) -> pl.DataFrame:
    """Return the samples of each key, one row per sample: key, value.

    Samples are medians of runs if `by_run`, otherwise steps or means of neighbouring steps.
    """
    value = pl.col("value")
    if by_run:
        return side.group_by(*key, "run").agg(value.cast(pl.Float64).median()).drop("run")
    n_groups = pl.min_horizontal(pl.len(), MAX_SAMPLES)
    group = pl.int_range(pl.len()) * n_groups // pl.len()
    numbered = side.lazy().group_by(key).agg(value.cast(pl.Float64), group=group)
    values = numbered.explode("value", "group")
    return values.group_by(*key, "group").agg(value.mean()).drop("group").collect()


def _median_variance(
    side: pl.DataFrame,
    rows: pl.DataFrame,
    key: list[str],
) -> pl.Series:
    """Return the bootstrap variance of each row's median, None below MIN_SAMPLES values."""
    known = rows.filter(pl.col("n") >= MIN_SAMPLES).select(key)
    samples = side.join(known, on=key, how="semi", nulls_equal=True).sort("value")
    ranked = samples.with_columns(
        n=pl.len().over(key).cast(pl.Int64),
        order=pl.int_range(pl.len()).over(key),
    )
    value = pl.col("value")
    weight = pl.col("weight")
    # Fractions are summed in the order of the values; otherwise the order of threads decides the
    # last digit.
    weighted = ranked.join(
        _median_weights(),
        on=["n", "order"],
        maintain_order="left",
    ).group_by(key, maintain_order=True)
    variance = ((weight * value**2).sum() - (weight * value).sum() ** 2).clip(0)
    variances = weighted.agg(variance=variance)
    joined = rows.join(variances, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined["variance"]


def _variance_between_runs(
    base: pl.DataFrame,
    rows: pl.DataFrame,
    key: list[str],
) -> pl.Series:
    """Estimate the variance of other_value, as if other's runs varied like base's runs."""
    by_key = base.sort("value").group_by(key, maintain_order=True)
    variance = by_key.agg(run_variance=pl.col("value").var())
    joined = rows.join(variance, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.select(pl.col("run_variance") / pl.col("n_other_values")).to_series()


@cache
def _median_weights() -> pl.DataFrame:
    """Return the probability that each of n sorted values is a resample's median: n, order, weight.

    A resample is n draws, with replacement, from the n values.
    """
    # Tried on equal runs of 3 to 30 normal, log-normal or exponential values, at levels of 5 % to
    # 0.01 %: the share of false positives was 0.1 to 0.9 times the level.
    rows = []
    for n in range(1, MAX_SAMPLES + 1):
        # For an even n, the median is the mean of two values, so each gets half of the probability.
        middles = {(n + 1) // 2, n // 2 + 1}
        below = [[_at_least(middle, n, order / n) for order in range(n + 1)] for middle in middles]
        for order in range(n):
            weight = sum(part[order + 1] - part[order] for part in below) / len(middles)
            # The outermost tenth is replaced by the nearest inner value, so that an outlier has no
            # effect.
            rows.append(
                (
                    n,
                    min(
                        max(order, n // 10),
                        n - 1 - n // 10,
                    ),
                    weight,
                )
            )
    frame = pl.DataFrame(
        rows,
        schema={"n": pl.Int64, "order": pl.Int64, "weight": pl.Float64},
        orient="row",
    )
    return frame.group_by("n", "order", maintain_order=True).sum()


def _at_least(k: int, n: int, probability: float) -> float:
    """Return the probability of k or more successes in n trials."""
    return sum(comb(n, j) * probability**j * (1 - probability) ** (n - j) for j in range(k, n + 1))


def _with_outcomes(rows: pl.DataFrame, rules: Rules, refusal: str | None) -> pl.DataFrame:
    """Add low, high, outcome and reason to each row.

    With a `refusal`, every row is unclear for this reason.
    """
    difference = pl.col("difference")
    is_known = pl.col("standard_error").is_not_null()
    has_effect = pl.col("effect") >= rules.min_effect
    in_ticks = difference.abs() <= TICKS_EQUAL * pl.col("tick")
    is_large = has_effect & ~in_ticks
    p_values = _p_values(rows.with_columns(is_tested=is_known & is_large))
    tested = rows.with_columns(p_value=p_values).sort("p_value", maintain_order=True)
    levels = _holm_levels(tested["p_value"], tested.filter(is_known).height)
    quantiles = _quantiles(tested, levels)
    is_significant = tested["p_value"] <= pl.Series(levels, dtype=pl.Float64)
    judged = tested.with_columns(
        half_width=quantiles * pl.col("standard_error"), is_significant=is_significant
    )
    is_judged = is_known & pl.col("is_significant") & pl.lit(refusal is None)
    outcome = (
        pl.when(difference.is_null())
        .then(None)
        .when(~is_judged)
        .then(pl.lit("unclear"))
        .when(difference < 0)
        .then(pl.lit("faster"))
        .otherwise(pl.lit("slower"))
    )
    reason = (
        pl.when(pl.lit(refusal is not None))
        .then(pl.lit(refusal, pl.String))
        .when(~is_known)
        .then(pl.lit(REASON_TOO_FEW))
        .when(is_large)
        .then(pl.lit(REASON_SPREAD))
        .when(has_effect)
        .then(pl.lit(REASON_TICKS))
        .otherwise(pl.lit(REASON_SMALL))
    )
    return judged.with_columns(
        low=difference - pl.col("half_width"),
        high=difference + pl.col("half_width"),
        outcome=outcome,
        reason=pl.when(outcome == "unclear").then(reason),
    ).drop("half_width", "is_significant")


def _p_values(rows: pl.DataFrame) -> pl.Series:
    """Return each row's p-value by Student's test, 1 if `is_tested` is not True.

    Differences too small to matter are not tested, but they count in Holm's correction.
    """
    difference = pl.when("is_tested").then(pl.col("difference").abs())
    tests = rows.select(difference, "standard_error", "degrees_of_freedom")
    p_values = [
        1.0
        if difference is None
        else _student_p_value(difference / error if error else inf, degrees)
        for difference, error, degrees in tests.iter_rows()
    ]
    return pl.Series(p_values, dtype=pl.Float64)


def _quantiles(rows: pl.DataFrame, levels: Sequence[float]) -> pl.Series:
    """Return Student's quantile at each row's level; None if the row's error is unknown."""
    columns = rows["degrees_of_freedom"], rows["standard_error"].is_not_null()
    quantiles = [
        _student_quantile(level, degrees) if is_known else None
        for level, degrees, is_known in zip(levels, *columns, strict=True)
    ]
    return pl.Series(quantiles, dtype=pl.Float64)


def _holm_levels(p_values: pl.Series, n_tests: int) -> list[float]:
    """Return the level of each of the sorted p-values by Holm's correction."""
    levels: list[float] = []
    has_failed = False
    for order, p_value in enumerate(p_values):
        levels.append(levels[-1] if has_failed else LEVEL / max(n_tests - order, 1))
        has_failed = p_value > levels[-1]
    return levels


def _student_p_value(t: float, degrees_of_freedom: int) -> float:
    """Return the two-sided p-value of `t`, for even degrees of freedom.

    The formula is 26.7.4 in Abramowitz and Stegun.
    """
    angle = atan(t / sqrt(degrees_of_freedom))
    cosine2 = 1 - sin(angle) ** 2
    term = total = 1.0
    for k in range(1, degrees_of_freedom // 2):
        term *= cosine2 * (2 * k - 1) / (2 * k)
        total += term
    return max(1 - sin(angle) * total, 0.0)


@cache
def _student_quantile(level: float, degrees_of_freedom: int) -> float:
    """Return the t with the two-sided p-value `level`."""
    low = 0.0
    high = 1.0
    while _student_p_value(high, degrees_of_freedom) > level:
        low = high
        high = 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        if _student_p_value(middle, degrees_of_freedom) > level:
            low = middle
        else:
            high = middle
    return high
