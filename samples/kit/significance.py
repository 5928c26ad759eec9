"""Derive verdicts from measurements, by one rule for every page: RULE in page.py.

- Two medians differ if their quartiles do not overlap and each side has at least LEAST values. If
  the medians are equal, such quartiles have a probability of at most 6 % (Mood's median test: 3 of
  12 values beyond the cut on one side, 9 on the other; Fisher's exact test, two-sided).
- A ratio agrees with a claimed ratio if it lies within NEAR of the claim.
- A rank correlation (Spearman) is significant at the level of 5 %: `spearman_limit`. The strongest
  of several correlations is significant if its probability under chance is below 5 %: `by_chance`.
- A claim on several cases agrees if more than half of the cases agree, and at most half as many
  differ.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import comb
from typing import NamedTuple

LEAST = 12
"""Least number of values per side for quartiles to distinguish two medians."""
BY_CHANCE = 0.03
"""Largest probability that the rule calls the first of two equal medians smaller."""
NEAR = 0.1
"""Largest relative distance at which a ratio agrees with the claimed one."""
_FIVE = "1.000 0.886 0.786 0.738 0.700 0.648 0.618 0.587 0.560 0.538 0.521 0.503 0.485"
_EIGHTEEN = "0.472 0.460 0.447 0.435 0.425 0.415 0.406 0.398 0.390 0.382 0.375 0.368 0.362"
_LIMITS = map(float, f"{_FIVE} {_EIGHTEEN}".split())
SPEARMAN = dict(enumerate(_LIMITS, start=5))
"""Critical values for 5 to 30 pairs, two-sided, 5 %: Zar, Biostatistical Analysis."""


class Verdict(StrEnum):
    """The outcome of comparing a paper's statement with the captures of this repository.

    The captures have other hardware and versions than the paper.
    """

    AGREES = "agrees here"
    DIRECTION = "same direction"
    DIFFERS = "differs here"
    UNDECIDED = "undecided"
    UNTESTABLE = "not testable here"


class Range(NamedTuple):
    """A median with its quartiles, or a ratio of two medians.

    The bounds of a ratio follow from the quartiles of the two medians.
    """

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """Return the quartiles of two or more values."""
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))

    def over(self, other: Range) -> Range:
        """Return the ratio of this range to another range."""
        return Range(
            self.low / other.high,
            self.middle / other.middle,
            self.high / other.low,
        )


def more(first: Range, other: Range, n: int = LEAST) -> bool | None:
    """Return whether `first` exceeds `other`, None if it is undecided with `n` values per side."""
    if n < LEAST:
        return None
    is_more, is_less = first.low > other.high, first.high < other.low
    return is_more if is_more or is_less else None


def above(ratio: Range | None, limit: float = 1) -> bool | None:
    """Return True if a ratio's range lies above the limit, False if it lies below.

    Return None if the range includes the limit.
    """
    if ratio is None:
        return None
    is_above, is_below = ratio.low > limit, ratio.high < limit
    return is_above if is_above or is_below else None


def agrees(ratio: float, claimed: float) -> bool:
    """Return whether a ratio is within NEAR of the claimed ratio."""
    return abs(ratio / claimed - 1) <= NEAR


def judge(answer: bool | None) -> Verdict:
    """Return the verdict for one answer; None means that the measurements do not tell."""
    return Verdict.UNDECIDED if answer is None else Verdict.AGREES if answer else Verdict.DIFFERS


def judge_size(ratio: Range, claimed: float) -> Verdict:
    """Return the verdict on a claimed ratio by a measured ratio.

    - On the same side of 1: AGREES if the sizes agree, else DIRECTION.
    - On different sides of 1: DIFFERS.
    - If the measured range includes 1: DIFFERS if the claimed ratio lies outside of the range by
      more than NEAR, else UNDECIDED.
    """
    side = above(ratio)
    if side is None:
        is_within = ratio.low * (1 - NEAR) <= claimed <= ratio.high * (1 + NEAR)
        return Verdict.UNDECIDED if is_within else Verdict.DIFFERS
    if side is not (claimed > 1):
        return Verdict.DIFFERS
    return Verdict.AGREES if agrees(ratio.middle, claimed) else Verdict.DIRECTION


def judge_cases(answers: Iterable[bool | None]) -> Verdict:
    """Return the verdict on a claim about several cases; UNDECIDED if the cases are divided."""
    known = list(answers)
    like, unlike = known.count(True), known.count(False)
    for most, least, verdict in (
        (like, unlike, Verdict.AGREES),
        (unlike, like, Verdict.DIFFERS),
    ):
        if 2 * most > len(known) and 2 * least <= most:
            return verdict
    return Verdict.UNDECIDED


def judge_sizes(ratios: Sequence[Range], claimed: float) -> Verdict:
    """Return the verdict on a claimed ratio that several cases measure.

    Cases vote on whether the ratio is above or below 1, and then on its size.
    """
    sides = [above(ratio) for ratio in ratios]
    side = judge_cases(None if side is None else side is (claimed > 1) for side in sides)
    if side is not Verdict.AGREES:
        return side
    size = judge_cases(agrees(ratio.middle, claimed) for ratio in ratios)
    return side if size is Verdict.AGREES else Verdict.DIRECTION


def shared(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that all methods of measuring give, undecided if they disagree."""
    distinct = set(verdicts)
    return distinct.pop() if len(distinct) == 1 else Verdict.UNDECIDED


def ranks(values: Sequence[float]) -> list[float]:
    """Return each value's rank, from 1 on; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def spearman(first: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation, 0 if all values of a side are equal."""
    mean = (len(first) + 1) / 2
    a = [rank - mean for rank in ranks(first)]
    b = [rank - mean for rank in ranks(other)]
    products = sum(x * y for x, y in zip(a, b, strict=True))
    spread = (sum(x**2 for x in a) * sum(y**2 for y in b)) ** 0.5
    return products / spread if spread else 0.0


def spearman_limit(n: int) -> float:
    """Return the rank correlation that n values must exceed to be significant.

    Raises ValueError if the table lacks this n.
    """
    if n not in SPEARMAN:
        raise ValueError(f"no critical value of a rank correlation is known for {n} values")
    return SPEARMAN[n]


def by_chance(strongest: float, n: int, n_tried: int) -> float:
    """Return the probability of the strongest of several rank correlations under chance alone.

    The `n_tried` correlations of n values each are taken as independent.
    """
    n_bins = 10_000
    middles = [(number + 0.5) / n_bins for number in range(n_bins)]
    # Like Pearson's, the density is about (1 - r²)^((n - 4) / 2), as for a Student's t (Kendall,
    # Rank Correlation Methods).
    density = [(1 - middle**2) ** ((n - 4) / 2) for middle in middles]
    first_beyond = round(abs(strongest) * n_bins)
    alone = sum(density[first_beyond:]) / sum(density)
    return float(1 - (1 - alone) ** n_tried)


def at_least_by_chance(count: int, n: int, share: float) -> float:
    """Return the upper tail of the binomial distribution.

    This is the probability of `count` or more successes in n trials, each with probability `share`.
    """
    return sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count, n + 1))


def correlated(correlation: float, n: int) -> bool | None:
    """Return True for a significant positive correlation, False for a negative correlation.

    Return None if the correlation is not significant.
    """
    limit = spearman_limit(n)
    rises, falls = correlation > limit, correlation < -limit
    return rises if rises or falls else None
