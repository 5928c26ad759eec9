"""Tell steps of several kinds from steps that only vary."""

from collections.abc import Sequence
from statistics import mean, median, median_low

from tracelens.derive.time.late_ranks import find_period

LONG = 1.5
"""The least length of a long step, in usual ones."""
UNEVEN = 1.05
"""The least mean step with which long steps count, in usual ones."""
_MUCH = 0.25
"""The mean step is far from the median one if they differ by more than this share."""


def long_steps(lengths: Sequence[int]) -> list[int]:
    """Return the places of the steps that are much longer than the usual ones.

    The result is empty where they hardly change the mean step.
    """
    usual = median_low(lengths)  # of two kinds that take turns, the shorter one
    if mean(lengths) <= UNEVEN * usual:
        return []
    return [place for place, length in enumerate(lengths) if length > LONG * usual]


def are_of_several_kinds(lengths: Sequence[int]) -> bool:
    """Return whether the mean step says more of steps of these lengths than the median one.

    It does where the two are far apart, as with a loader that gives some batches at once and has
    others waited for. It does where long steps come at equal distances, as the program's own do:
    one that is long by accident says nothing of other runs.
    """
    if abs(median(lengths) - mean(lengths)) > _MUCH * mean(lengths):
        return True
    return find_period(long_steps(lengths), [*range(len(lengths))]) is not None
