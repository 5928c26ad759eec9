"""Select and pair stacks, to be read frame by frame."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import polars as pl

from tracelens.derive.layers.sequence_alignment import align
from tracelens.derive.stacks.frame_names import UNKNOWN_FUNCTION
from tracelens.trace import Trace


def first_hits(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return the first stack of each symbol, in order of rank and hit.

    A stack has the columns of the table `stacks`, and `frames`, the innermost frame first.
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
    """Return pairs of stacks to compare: for each symbol of both traces, the first stack in each.

    Without such a symbol, the first stacks of the traces make one pair.
    """
    base_stacks = first_hits(base)
    other_stacks = first_hits(other)
    shared = [symbol for symbol in base_stacks if symbol in other_stacks]
    if shared:
        return [(base_stacks[symbol], other_stacks[symbol]) for symbol in shared]
    return [*zip(base_stacks.values(), other_stacks.values(), strict=False)][:1]


def n_shared_outer(base: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of outermost functions that are equal in both stacks.

    Stacks are listed from the outermost function.
    """
    pairs = enumerate(zip(base, other, strict=False))
    return next(
        (level for level, (mine, theirs) in pairs if mine != theirs),
        min(len(base), len(other)),
    )


def side_by_side(
    base: pl.DataFrame, other: pl.DataFrame
) -> list[tuple[int | None, int | None, bool]]:
    """Align two stacks: return rows of (position in base, position in other, whether equal).

    Between equal frames, the other frames are paired in order. A frame without a partner is paired
    with None.
    """
    numbers = {
        name: position for position, name in enumerate({*base["function"], *other["function"]})
    }
    mine, theirs = (tuple(numbers[name] for name in frames["function"]) for frames in (base, other))
    rows: list[tuple[int | None, int | None, bool]] = []
    a = b = 0
    for position, other_position in enumerate([*align(mine, theirs), other.height]):
        if other_position is not None:
            rows += [
                (i, j, False) for i, j in zip_longest(range(a, position), range(b, other_position))
            ]
            rows.append(
                (
                    position,
                    other_position,
                    position < base.height and base["function"][position] != UNKNOWN_FUNCTION,
                )
            )
            a = position + 1
            b = other_position + 1
    return rows[:-1]
