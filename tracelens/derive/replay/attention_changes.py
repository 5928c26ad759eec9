"""Replace attention that runs as several kernels by one fused kernel."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.replay.moment_graph import KERNEL, LAUNCH, QUEUE, Flags, Ints, picked
from tracelens.derive.replay.replay import Replay
from tracelens.derive.replay.subject import Change, Subject, require
from tracelens.errors import UsageError

_BETWEEN = {"elementwise", "layout", "memory", "indexing", "rng", "softmax"}
"""Primitives of the kernels around a softmax that scale, mask or drop scores."""
_LOG_SOFTMAX = r"(?i)log_?softmax|softmax_warp_(?:for|back)ward<.*, \d+, true"
"""Names of the logarithmic softmaxes that losses use.

In the warp kernels' names, `true` after the number says that they compute logarithms.
"""
_NONE_IS_WRITTEN_OUT = "sdpa: no product, softmax and product follow each other in these steps"


class Attention(Struct, frozen=True):
    """Holds one attention: a softmax between two matrix products.

    Row numbers are those of the device work.
    """

    first: int  # row of the first product
    last: int  # row of the last product
    gone: list[int]  # rows that a fused kernel makes unnecessary
    is_backward: bool


def sdpa(subject: Subject, _: str | None) -> Change:
    """Replace the kernels of each attention by one fused kernel, which a single op launches.

    The two matrix products keep their time. Kernels between the products are removed, and so are
    layout copies just before the first product and just after the last product.
    """
    replay = subject.replay
    table = subject.replay.table
    attentions = list_attention(replay)
    if not attentions:
        is_fused = (replay.excerpt.work["primitive"] == "attention").any()
        fused = "; its attention is fused already" if is_fused else ""
        raise UsageError(f"{_NONE_IS_WRITTEN_OUT}{fused}")
    gone = np.zeros(replay.excerpt.work.height, bool)
    doubled = np.zeros(replay.excerpt.work.height, bool)
    on_host = np.zeros(len(table.kinds), bool)
    for attention in attentions:
        gone[attention.gone] = True
        doubled[attention.last] = attention.is_backward
        on_host |= _issued(subject, attention)
    is_gone = np.isin(table.kinds, (KERNEL, LAUNCH, QUEUE)) & picked(gone, table.items)
    require(is_gone, _NONE_IS_WRITTEN_OUT)
    # A fused backward kernel computes the scores again, which takes as long as the last product.
    is_doubled = (table.kinds == KERNEL) & picked(doubled, table.items)

    def change(weights: Ints) -> Ints:
        changed = np.where(is_gone | on_host, 0, weights)
        return np.where(is_doubled, 2 * changed, changed)

    return change


def list_attention(replay: Replay) -> list[Attention]:
    """Return each softmax between two matrix products, with these products.

    Between the products, there may only be kernels that scale, mask, drop or move scores.
    """
    work = replay.work
    names = replay.excerpt.work["name"].fill_null("")
    is_moved = (pl.col("kind") == "fill") | pl.col("name").str.starts_with("d2d")
    primitive = (
        pl.when(is_moved).then(pl.lit("memory")).otherwise(pl.col("primitive").fill_null(""))
    )
    primitives = replay.excerpt.work.select(primitive).to_series().to_list()
    is_log = names.str.contains(_LOG_SOFTMAX).to_list()
    is_backward = names.str.contains("(?i)backward").to_list()
    attentions = []
    for queue in sorted(set(work.queues.tolist())):
        rows = np.flatnonzero(work.queues == queue)[np.argsort(work.starts[work.queues == queue])]
        kinds = [primitives[row] for row in rows]
        for position in [n for n, kind in enumerate(kinds) if kind == "softmax"]:
            first = _reach(kinds, position, -1)
            last = _reach(kinds, position, 1)
            if first is None or last is None or is_log[rows[position]]:
                continue
            if replay.work_steps[rows[first]] != replay.work_steps[rows[last]]:
                continue
            gone = [*range(first + 1, last)]
            gone += _copies(kinds, first, -1) + _copies(kinds, last, 1)
            attentions.append(
                Attention(
                    int(rows[first]),
                    int(rows[last]),
                    [int(rows[n]) for n in sorted(gone)],
                    is_backward[rows[position]],
                )
            )
    return attentions


def _reach(kinds: list[str], position: int, direction: int) -> int | None:
    """Return the position of the nearest matrix product in a direction (1 or -1).

    Return None if another kind of work comes first.
    """
    position += direction
    while 0 <= position < len(kinds) and kinds[position] in _BETWEEN - {"softmax"}:
        position += direction
    return position if 0 <= position < len(kinds) and kinds[position] == "gemm" else None


def _copies(kinds: list[str], position: int, direction: int) -> list[int]:
    """Return the positions of layout copies next to a product, after it (1) or before it (-1)."""
    copies = []
    while 0 <= position + direction < len(kinds) and kinds[position + direction] == "layout":
        position += direction
        copies.append(position)
    return copies


def _issued(subject: Subject, attention: Attention) -> Flags:
    """Flag the edges of the host's time from the first launch of an attention to the last.

    The first launch is not flagged, because it now launches the fused kernel. No edge is flagged if
    any launch of the attention lies before the excerpt.
    """
    replay = subject.replay
    table = subject.replay.table
    calls = replay.work.calls[[*attention.gone, attention.first, attention.last]]
    first = replay.work.calls[attention.first]
    if (calls < 0).any():
        return np.zeros(len(table.kinds), bool)
    begins = replay.excerpt.calls["start"].to_numpy()
    ends = replay.excerpt.calls["end"].to_numpy()
    sources = table.recorded[table.graph.sources]
    targets = table.recorded[table.targets]
    inside = (sources >= begins[calls].min()) & (targets <= ends[calls].max())
    of_launch = (sources >= begins[first]) & (targets <= ends[first])
    issued: Flags = inside & ~of_launch & subject.is_host
    return issued
