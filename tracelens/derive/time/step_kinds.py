"""Distinguish steps of several kinds from steps that only vary in length."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from statistics import mean, median, median_low

LONG = 1.5
"""A step is long if it takes at least this multiple of the usual step."""
UNEVEN = 1.05
"""Long steps matter if the mean step is at least this multiple of the usual step."""
_MUCH = 0.25
"""The mean step is far from the median step if they differ by more than this share."""
_ORDINALS = ("", "", "other ", "third ", "fourth ", "fifth ", "sixth ", "seventh ", "eighth ")
_MORE_ORDINALS = ("ninth ", "tenth ", "eleventh ", "twelfth ")
_LISTED = 3


def long_steps(lengths: Sequence[int]) -> list[int]:
    """Return the indices of the steps that are much longer than the usual one.

    The result is empty if long steps hardly change the mean step.
    """
    usual = median_low(lengths)  # if two kinds of steps take turns, this is the shorter one
    if mean(lengths) <= UNEVEN * usual:
        return []
    return [index for index, length in enumerate(lengths) if length > LONG * usual]


def are_of_several_kinds(lengths: Sequence[int]) -> bool:
    """Return whether the mean describes steps of these lengths better than the median."""
    # For example, a loader delivers some batches at once and others late.
    if abs(median(lengths) - mean(lengths)) > _MUCH * mean(lengths):
        return True
    # The program itself makes every n-th step long. A step that is long by accident says nothing
    # about other runs.
    return (
        find_period(
            long_steps(lengths),
            [*range(len(lengths))],
        )
        is not None
    )


def describe_steps(affected: Collection[int] | None, steps: Iterable[int]) -> str:
    """Say which steps are affected by something, for example "in step 12 only".

    `steps` are all steps. If `affected` is None, all steps are affected.
    """
    everything = sorted({*steps})
    if affected is None:
        return "in every step" if len(everything) > 1 else ""
    chosen = sorted(affected)
    if len(chosen) == 1:
        return f"in step {chosen[0]} only"
    period = find_period(chosen, everything)
    if period:
        ordinals = _ORDINALS + _MORE_ORDINALS
        word = ordinals[period] if period < len(ordinals) else f"{period}th "
        return f"in every {word}step"
    if len(chosen) <= _LISTED:
        return f"in steps {', '.join(map(str, chosen[:-1]))} and {chosen[-1]}"
    return f"in {len(chosen)} of {len(everything)} steps"


def find_period(affected: list[int], steps: list[int]) -> int | None:
    """Return n if the steps in `affected` are every n-th of all steps, else None."""
    n_steps = len(steps)
    index_of_step = {step: index for index, step in enumerate(steps)}
    chosen = [index_of_step[step] for step in affected if step in index_of_step]
    gaps = {after - before for before, after in pairwise(chosen)}
    if len(gaps) != 1:
        return None
    (period,) = gaps
    if period <= 1 or n_steps < 2 * period:
        return None
    begins = chosen[0] < period
    ends = chosen[-1] + period >= n_steps
    is_seen = len(chosen) * period > n_steps - period
    return period if begins and ends and is_seen else None
