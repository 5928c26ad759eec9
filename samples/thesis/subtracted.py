"""Layer subtraction: what each layer adds to the run of those before it, eager, compiled, and as chosen by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
import polars as pl
import subtraction_claims as claims
from figures import Run, Speedup
from page import Figure, Section, table
from there import NAMES

WAYS = ("eager", "compiled", "custom")
CHOICE, BESIDE = 0, 1
"""The turn by which the layers were chosen, and the later one in which all three were timed
beside each other."""


class Span(NamedTuple):
    """Microseconds: the median over twenty executions, and the quartiles."""

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:,.0f} ({self.low:,.0f} to {self.high:,.0f})"

    def over(self, other: Span) -> Speedup:
        """How many times as long this takes, and the least and the most that the quartiles allow."""
        return Speedup(self.low / other.high, self.middle / other.middle, self.high / other.low)


class Model(NamedTuple):
    """A model's layers in order: what each adds by subtraction, in the turn of the choice and in the later one."""

    layers: Sequence[str]
    chosen: Mapping[str, Sequence[Span]]
    beside: Mapping[str, Sequence[Span]]
    whole: Mapping[str, Span]
    compiled: Sequence[str]
    frame: pl.DataFrame

    def stretch(self, way: str, first: int, last: int, turn: int) -> Span:
        """The time that the layers from the first to the last add together."""
        rows = self.frame.filter(configuration=way, turn=turn).sort("round", "execution")
        until, before = (rows.filter(layer_order=at)["until_ns"] for at in (last, first - 1))
        return _quartiles((until - before) / 1000)


def models_of(run: Run) -> dict[str, Model]:
    """The models whose layers were subtracted, and tried as chosen."""
    found = {}
    for name in NAMES:
        frame = run.subtraction.get(name)
        if frame is None or "custom" not in frame["configuration"]:
            continue
        turns = [{way: spans(frame, way, turn) for way in WAYS} for turn in (CHOICE, BESIDE)]
        names = (
            frame.filter(pl.col("configuration") == "eager")
            .sort("layer_order")["layer"]
            .unique(maintain_order=True)
        )
        whole = {way: _quartiles(_last(frame, way)) for way in WAYS}
        compiled = run.results["parts"][f"subtraction_{name}"]["custom"]
        found[name] = Model(names.to_list(), turns[CHOICE], turns[BESIDE], whole, compiled, frame)
    return found


def spans(frame: pl.DataFrame, configuration: str, turn: int) -> list[Span]:
    """What each layer adds to the run of those before it, over the executions; the first layer's run is its time."""
    rows = frame.filter(configuration=configuration, turn=turn).sort(
        "round", "execution", "layer_order"
    )
    before = pl.col("until_ns").shift(1, fill_value=0).over("round", "execution")
    added = rows.with_columns(us=(pl.col("until_ns") - before) / 1000)
    return [
        _quartiles(part["us"]) for part in added.partition_by("layer_order", maintain_order=True)
    ]


def _last(frame: pl.DataFrame, configuration: str) -> pl.Series:
    rows = frame.filter(configuration=configuration, turn=BESIDE)
    return rows.filter(pl.col("layer_order") == rows["layer_order"].max())["until_ns"] / 1000


def _quartiles(values: pl.Series) -> Span:
    return Span(*(float(values.quantile(q, "linear") or 0) for q in (0.25, 0.5, 0.75)))


def section(run: Run) -> list[Section]:
    """The section on layer subtraction; none where it was not done."""
    models = models_of(run)
    if not models:
        return []
    rows = []
    for name, model in models.items():
        faster, slower = claims.sides(model)
        one, two = (sum(span.middle for span in model.beside[way]) for way in WAYS[:2])
        rows.append(
            [
                NAMES[name],
                len(model.layers),
                faster,
                slower,
                f"{min(one, two) / claims.best(model):.3f}",
                f"{len(model.compiled)}",
                *(str(model.whole[way]) for way in WAYS),
                str(model.whole["eager"].over(model.whole["custom"])),
                str(model.whole["compiled"].over(model.whole["custom"])),
            ]
        )
    heads = [
        "model",
        "layers",
        "faster compiled",
        "slower",
        "best of two",
        "compiled in custom",
        "eager, µs",
        "compiled, µs",
        "custom, µs",
        "custom's speedup over eager",
        "over compiled",
    ]
    blocks = [
        (
            "The thesis's method (section 4.2.3): a model is run until layer n is done, for every"
            " n; what layer n adds is its time. A layer is what its Figure 5.10 numbers, a child of"
            " the model, so a block is one layer. Each beginning of the model was run eager and"
            " compiled as one region, by the wall clock, from an idle device until it was idle"
            " again (`MODEL_subtraction.parquet`: ten rounds of two executions, medians, quartiles"
            " in brackets; 22 November 2026, DenseNet-121 in a session of its own, the others in"
            " one). Custom has the layers compiled, each a region, whose median was less so; then"
            " all three were timed in a later turn, beside each other. Faster and slower are layers"
            " whose quartiles do not overlap, in both turns. Best of two: the sum of the lesser"
            " medians, over the lesser sum, by the later turn: what choosing would gain if nothing"
            " else changed."
        ),
        table(heads, rows),
        _paid(models),
    ]
    caption = (
        "What each layer adds, microseconds with quartiles: eager, compiled as part of the whole,"
        " and in the custom configuration (the thesis's Fig. 5.10 and Appendix Fig. 4)."
    )
    figure = Figure("subtraction", _chart(models), caption)
    return [
        Section(
            "Layer subtraction, and the mixture it chooses",
            blocks,
            [figure],
            claims.findings(models),
        )
    ]


def _paid(models: Mapping[str, Model]) -> str:
    """What a compiled layer of the custom configuration costs over what the subtraction promised."""
    paid = sorted(
        (model.whole["custom"].middle - claims.best(model)) / len(model.compiled)
        for model in models.values()
    )
    return (
        "So the method promises what it does not keep: a custom configuration takes longer than"
        f" the sum of the lesser times of the same turn, by {paid[0]:.0f} to {paid[-1]:.0f} µs for"
        " each layer that is compiled. What is compiled as a whole loses its neighbours when it is"
        " compiled alone: each region is called by the host, and fuses nothing beyond itself."
        " Differences of a few microseconds are noise, can be negative, and make the best of two"
        " look better than it is."
    )


def _chart(models: Mapping[str, Model]) -> alt.ConcatChart:
    panels = []
    colour = alt.Color(
        "way:N",
        title=None,
        sort=list(WAYS),
        legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=list(WAYS), range=["#e45756", "#72b7b2", "#4c78a8"]),
    )
    offset = alt.YOffset("way:N", sort=list(WAYS))
    for name, model in models.items():
        values = [
            {"layer": layer, "way": way, "us": span.middle, "low": span.low, "high": span.high}
            for way in WAYS
            for layer, span in zip(model.layers, model.beside[way], strict=True)
        ]
        base = alt.Chart(alt.InlineData(values=values)).encode(
            y=alt.Y("layer:N", title=None, sort=list(model.layers)),
            color=colour,
            yOffset=offset,
        )
        points = base.mark_point(filled=True, size=22).encode(x=alt.X("us:Q", title="microseconds"))
        bars = base.mark_rule().encode(x="low:Q", x2="high:Q")
        panels.append(
            (bars + points).properties(
                width=330, height={"step": 20, "for": "position"}, title=NAMES[name]
            )
        )
    return alt.concat(*panels, columns=2).resolve_scale(color="shared", y="independent")
