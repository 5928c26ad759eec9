"""Select and pair stacks, to be read frame by frame."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import polars as pl

from tracelens.derive.layers.sequence_alignment import align
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION
from tracelens.trace import Trace


def first_hits(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return each symbol's first stack, in the order in which they were taken.

    A stack has the columns of the table `stacks`, and `frames` from the innermost.
    """
    first = trace.stacks.sort("rank", "hit", "stack_id").unique(
        "symbol", keep="first", maintain_order=True
    )
    return {
        stack["symbol"]: (
            stack
            | {
                "frames": (
                    trace.frames.filter(rank=stack["rank"], stack_id=stack["stack_id"]).sort(
                        "level"
                    )
                )
            }
        )
        for stack in first.iter_rows(named=True)
    }


def pair_stacks(base: Trace, other: Trace) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return pairs of stacks to compare.

    They are the first stack of every symbol that both traces have, else the first stacks of both.
    """
    ones = first_hits(base)
    twos = first_hits(other)
    shared = [symbol for symbol in ones if symbol in twos]
    if shared:
        return [(ones[symbol], twos[symbol]) for symbol in shared]
    return (
        [
            (
                next(iter(ones.values())),
                next(iter(twos.values())),
            )
        ]
        if ones and twos
        else []
    )


def n_shared_outer(base: Sequence[str], other: Sequence[str]) -> int:
    """Count the outermost functions that two stacks have in common; these come first in both."""
    pairs = enumerate(zip(base, other, strict=False))
    return next(
        (level for level, (mine, theirs) in pairs if mine != theirs),
        min(len(base), len(other)),
    )


def side_by_side(
    base: pl.DataFrame, other: pl.DataFrame
) -> list[tuple[int | None, int | None, bool]]:
    """Return rows of two stacks' frames to be read side by side.

    Also return, for each row, whether it is the same function in both. If the stacks differ, a row
    has the next frame of each; None if one has no more.
    """
    numbers = {
        name: position for position, name in enumerate({*base["function"], *other["function"]})
    }
    mine, theirs = (tuple(numbers[name] for name in frames["function"]) for frames in (base, other))
    rows: list[tuple[int | None, int | None, bool]] = []
    a = b = 0
    for position, place in enumerate([*align(mine, theirs), other.height]):
        if place is not None:
            rows += [(i, j, False) for i, j in zip_longest(range(a, position), range(b, place))]
            rows.append(
                (
                    position,
                    place,
                    position < base.height and base["function"][position] != UNKNOWN_FUNCTION,
                )
            )
            a = position + 1
            b = place + 1
    return rows[:-1]
