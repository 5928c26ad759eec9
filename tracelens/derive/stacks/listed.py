"""Stacks to be read frame by frame."""

from typing import Any

import polars as pl

from tracelens.trace import Trace


def first_hits(trace: Trace) -> dict[str, dict[str, Any]]:
    """Each symbol's first stack, in the order taken: the columns of `stacks`, and `frames` from the innermost."""
    first = trace.stacks.sort("rank", "hit", "stack_id").unique("symbol", keep="first", maintain_order=True)
    return {
        stack["symbol"]: stack
        | {"frames": trace.frames.filter(rank=stack["rank"], stack_id=stack["stack_id"]).sort("level")}
        for stack in first.iter_rows(named=True)
    }


def pair_stacks(base: Trace, other: Trace) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Stacks to compare: the first hit of every symbol that both have, else the first stacks of both."""
    ones, twos = first_hits(base), first_hits(other)
    shared = [symbol for symbol in ones if symbol in twos]
    if shared:
        return [(ones[symbol], twos[symbol]) for symbol in shared]
    return [(next(iter(ones.values())), next(iter(twos.values())))] if ones and twos else []


def in_common(one: pl.DataFrame, two: pl.DataFrame) -> int:
    """The number of innermost frames that are the same functions in both."""
    pairs = zip(one["function"], two["function"], strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(one.height, two.height))
