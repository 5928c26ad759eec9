"""Which sorts of operation take the kernel time, how few pairs carry it, and the framework's ops above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
from page import Figure, Finding, Section, table
from review import FEW_OPERATIONS, LINEAR_ALGEBRA, NO_NUMBER
from runs import GROUPS, LINEAR, NS, Run, by_key, percent

from tracelens.schemas.events import FAMILIES

COLORS = {
    LINEAR: "#4c78a8",
    "elementwise": "#f58518",
    "reduction": "#54a24b",
    "movement": "#e45756",
    "fused": "#b279a2",
    "other": "#8a919c",
}
FEW = 5
"""So many pairs of library and primitive are called few: as many sorts of operation as the
review lists."""
MOST = 0.8
"""And so much of the kernel time is called most of it."""
_LABELLED = 0.07
_CAPTIONS = {
    "levels": "ResNet-50 at five levels, and the same by torch.profiler, in training too",
    "vision": "Six vision models, eager and compiled",
    "language": "BERT and Llama",
}


def families(runs: Sequence[Run]) -> Section:
    """Which sorts of operation take the kernel time."""
    blocks = [
        (
            "Shares of kernel time, the sum of the kernels' durations over the whole capture, in"
            " percent. Linear algebra is what matrix products, convolutions and attention take; in"
            " brackets, the quartiles of its share over the marked steps, outside of which a capture"
            " may hold warm-up. Elementwise: sums, products and activations of tensors, broadcast or"
            " not. Reduction: normalisation, softmax, pooling, losses (a batch normalisation of"
            " inference too, which torch.compile takes apart into sums and products). Movement:"
            " layouts, copies and casts, indexing, memory. Fused: kernels of several sorts of which"
            " nothing tells how much is whose; where torch.compile's provenance was recorded their time"
            " is split by the bytes that each op puts out, an estimate whose range [the"
            " analysis](analyses.md#cross_layer) gives."
        )
    ]
    for group, title in GROUPS.items():
        chosen = [run for run in runs if run.group == group]
        if chosen:
            blocks += [
                f"{title[0].upper()}{title[1:]}:",
                table(_HEADINGS, [_family_row(run) for run in chosen]),
            ]
    blocks += _attention(by_key(runs))
    figures = [
        Figure(
            name,
            _bars([run for run in runs if run.group in (name, *_WITH.get(name, ()))]),
            f"{words}: kernel time "
            "by library (the word in a piece of 7 % or more) within family (the colour)",
        )
        for name, words in _CAPTIONS.items()
        if any(run.group == name for run in runs)
    ]
    return Section("Families of operations", blocks, figures, [_is_linear(runs)])


_WITH = {"levels": ("profiled",)}
_HEADINGS = [
    "capture",
    "kernels, ms",
    LINEAR,
    *(family for family in FAMILIES if family != LINEAR),
    "file",
]


def _family_row(run: Run) -> list[str]:
    shares = run.families()
    linear = percent(shares.pop(LINEAR), run.linear_by_step())
    return [
        run.name,
        f"{run.total_ns / 1e6:.3f}",
        linear,
        *map(percent, shares.values()),
        f"`{run.place}`",
    ]


def _attention(known: Mapping[str, Run]) -> list[str]:
    """A paragraph on BERT's attention, which has no kernel of its own once compiled."""
    eager, compiled = (known.get(f"cross_layer/bert_infer{ending}") for ending in ("", "_compiled"))
    if eager is None or compiled is None or compiled.share(primitive="attention"):
        return []
    kernels = compiled.trace.kernels
    in_float32 = kernels.filter(pl.col("name").str.contains("sgemm|f32f32_f32f32")).select(
        "duration_ns", "name"
    )
    took = int(in_float32["duration_ns"].sum())
    attention = eager.share(library="cudnn", primitive="attention") * eager.total_ns
    return [
        (
            f"Compiled, BERT's kernels take longer than eager: {compiled.total_ns / 1e6:.3f} against"
            f" {eager.total_ns / 1e6:.3f} ms. Eager runs attention in kernels of cuDNN"
            f" ({attention / 1e6:.3f} ms); compiled there is no such row, and {in_float32.height}"
            f" matrix products in float32 take {took / 1e6:.3f} ms (`{compiled.place}`: `aten::bmm`)."
            " Why torch.compile takes attention apart here, and not in Llama, is not established."
        )
    ]


def _bars(runs: Sequence[Run]) -> alt.TopLevelMixin:
    """One stacked bar a trace, by library within family."""
    rows = []
    order = list(FAMILIES)
    for run in runs:
        sums = run.rows.group_by("family", "library").agg(NS.sum() / run.total_ns)
        until = 0.0
        for family, library, share in sorted(
            sums.iter_rows(), key=lambda r: (order.index(r[0]), r[1])
        ):
            rows.append(
                {
                    "run": run.name,
                    "family": family,
                    "library": library,
                    "from": 100 * until,
                    "to": 100 * (until + share),
                    "middle": 100 * (until + share / 2),
                    "word": library if share >= _LABELLED else "",
                }
            )
            until += share
    shown = [family for family in FAMILIES if any(row["family"] == family for row in rows)]
    y = alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    colour = alt.Color(
        "family:N",
        title=None,
        sort=shown,
        legend=alt.Legend(orient="top", symbolType="square"),
        scale=alt.Scale(domain=shown, range=[COLORS[family] for family in shown]),
    )
    base = alt.Chart(alt.InlineData(values=rows))
    axis = alt.X("from:Q", title="share of kernel time, %", scale=alt.Scale(domain=[0, 100]))
    pieces = base.mark_bar(stroke="white", strokeWidth=1).encode(
        x=axis, x2="to:Q", y=y, color=colour
    )
    words = base.mark_text(color="white", fontSize=9).encode(x="middle:Q", y=y, text="word:N")
    return alt.layer(pieces, words).properties(width=620, height=22 * len(runs), background="white")


def _is_linear(runs: Sequence[Run]) -> Finding:
    """Whether linear algebra takes more than half of the kernel time of every capture."""
    below = [
        run for run in runs if (run.linear_by_step() or (0, run.share(family=LINEAR)))[1] < 0.5
    ]
    ordered = sorted(runs, key=lambda run: run.share(family=LINEAR))
    wide = [run.share(family=LINEAR) + run.share(family="elementwise") for run in runs]
    ends = " to ".join(percent(run.share(family=LINEAR)) for run in (ordered[0], ordered[-1]))
    known = by_key(runs)
    told = ", ".join(
        f"{percent(known[key].share(family=LINEAR))} % of {words}"
        for key, words in _TOLD.items()
        if key in known
    )
    lowest = known.get("torch/resnet50_eager", ordered[0])
    others = [(a, b, share) for a, b, share in lowest.pairs() if b not in FAMILIES[LINEAR]][:3]
    row = "; ".join(
        f"`{library}` {primitive} {percent(share)} %" for library, primitive, share in others
    )
    return Finding(
        LINEAR_ALGEBRA,
        "section III",
        NO_NUMBER,
        f"matrix products, convolutions and attention take {ends} % of kernel time: {told}; less"
        f" than half, beyond the quartiles, in {len(below)} of {len(runs)} captures. The review"
        " counts sums and products of vectors as linear algebra too (section III): with everything"
        f" elementwise it is {percent(min(wide))} to {percent(max(wide))} %",
        not below,
        f"the rest is normalisation, elementwise kernels and movement: in {lowest.name}, rows {row}"
        f" (`{lowest.place}`)",
    )


_TOLD = {
    "torch/resnet50_eager": "eager ResNet-50",
    "thesis/resnet50_compiled": "compiled ResNet-50",
    "torch/alexnet_eager": "AlexNet",
    "cross_layer/bert_infer": "BERT in inference",
    "cross_layer/llama_train": "Llama in training",
}


def few(runs: Sequence[Run]) -> Section:
    """How many pairs of library and primitive carry the time."""
    rows = []
    for run in runs:
        pairs = run.pairs()
        first = ", ".join(
            f"{library} {primitive} {percent(share)}" for library, primitive, share in pairs[:4]
        )
        rows.append([run.name, len(pairs), run.pairs_for(MOST), run.pairs_for(0.95), first])
    most = max(run.pairs_for(MOST) for run in runs)
    least = min(run.pairs_for(MOST) for run in runs)
    finding = Finding(
        FEW_OPERATIONS,
        "section III, section I",
        NO_NUMBER,
        f"{least} to {most} pairs of library and primitive make up {100 * MOST:.0f} % of kernel"
        f" time, of {min(len(run.pairs()) for run in runs)} to"
        f" {max(len(run.pairs()) for run in runs)} pairs in a capture",
        most <= FEW,
        (
            f"few is up to {FEW} here, as many sorts of operation as section III lists (vector"
            " addition, scalar multiplication, dot products, linear combinations, matrix"
            " operations); the limit was set when these numbers were known, and the review gives"
            " none"
            if most <= FEW
            else "rows of the table with most pairs"
        ),
    )
    blocks = [
        (
            "A pair is a library and what its kernels compute. Its shares are in percent of kernel"
            " time."
        ),
        table(["capture", "pairs", "for 80 %", "for 95 %", "the first four"], rows),
    ]
    return Section("Few operations", blocks, [], [finding])


def ops(known: Mapping[str, Run]) -> Section:
    """The rows of cross_layer for one model, eager and compiled."""
    blocks = [
        (
            "The rows that the analysis gives: a framework's op (of a fused kernel, each op that it"
            " was made of), the library whose kernels did the work, and what they compute."
        ),
    ]
    for key in ("torch/resnet50_eager", "thesis/resnet50_compiled"):
        if key in known:
            run = known[key]
            blocks += [
                f"{run.name} (`{run.place}`):",
                table(_ROW, [_op_row(row) for row in run.rows.to_dicts()]),
            ]
    return Section("From a framework's op to a primitive", blocks)


_ROW = [
    "op",
    "library",
    "primitive",
    "family",
    "calls",
    "kernels",
    "ms",
    "least and most, ms",
    "share, %",
    "up to here, %",
]


def _op_row(row: Mapping[str, Any]) -> list[Any]:
    low, high = row["low_ns"], row["high_ns"]
    return [
        f"`{row['op']}`" if row["op"] else None,
        row["library"],
        row["primitive"],
        row["family"],
        row["n_calls"],
        row["n_kernels"],
        f"{row['duration_total_ns'] / 1e6:.3f}",
        f"{low / 1e6:.3f} to {high / 1e6:.3f}" if low < high else None,
        percent(row["share_frac"]),
        percent(row["cumulative_frac"]),
    ]
