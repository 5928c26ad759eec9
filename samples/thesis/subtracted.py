"""Compute what each layer adds to the layers before it: eager, compiled, or as chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from samples.kit.significance import Range, more
from samples.thesis.figures import Run
from samples.thesis.there import NAMES

FIRE = (3, 4, 6, 7, 9, 10, 11, 12)
"""SqueezeNet's Fire modules, counted from 0."""
IMPROVED = (0, 3, 4, 5, 7, 8, 10, 12)
"""Layers in which the thesis's custom configuration was better than the compiled one, counted
from 0."""
RESIDUALS = range(1, 18)
"""MobileNetV2's inverted residuals, counted from 0."""
LARGE = {3: "5×5", 6: "3×3", 8: "3×3"}
"""AlexNet's layers four, seven and nine, counted from 1: convolutions slower when compiled.

That is what the thesis found.
"""
INCEPTION = range(8, 13)
"""GoogLeNet's layers nine to thirteen, counted from 1: the blocks inception4a to inception4e."""
WAYS = ("eager", "compiled", "custom")
CHOICE, BESIDE = 0, 1
"""Numbers of the two turns.

The first one chose the layers; the later one timed all three configurations beside each other.
"""


class Model(NamedTuple):
    """A model's layers in order: what each adds by subtraction, in both sessions."""

    layers: Sequence[str]
    chosen: Mapping[str, Sequence[Range]]
    beside: Mapping[str, Sequence[Range]]
    whole: Mapping[str, Range]
    compiled: Sequence[str]
    frame: pl.DataFrame

    @property
    def first_was_slow(self) -> bool:
        """True if the eager model took at least half as long again in the first session."""
        first = sum(added.middle for added in self.chosen["eager"])
        later = sum(added.middle for added in self.beside["eager"])
        return first > 1.5 * later

    def stretch(self, way: str, first: int, last: int, turn: int) -> Range:
        """Sum the time that the layers from `first` to `last` add."""
        rows = self.frame.filter(configuration=way, turn=turn).sort("round", "execution")
        until_ns = rows.filter(layer_order=last)["until_ns"]
        before_ns = rows.filter(layer_order=first - 1)["until_ns"]
        return Range.of((until_ns - before_ns) / 1000)


def models_of(run: Run) -> dict[str, Model]:
    """Return the models with subtracted layers and a choice that was tried."""
    models = {}
    for name in NAMES:
        frame = run.subtraction.get(name)
        if frame is None or "custom" not in frame["configuration"]:
            continue
        in_order = frame.filter(configuration="eager").sort("layer_order")
        models[name] = Model(
            layers=in_order["layer"].unique(maintain_order=True).to_list(),
            chosen={way: spans(frame, way, CHOICE) for way in WAYS},
            beside={way: spans(frame, way, BESIDE) for way in WAYS},
            whole={way: Range.of(_last(frame, way)) for way in WAYS},
            compiled=run.results["parts"][f"subtraction_{name}"]["custom"],
            frame=frame,
        )
    return models


def spans(frame: pl.DataFrame, configuration: str, turn: int) -> list[Range]:
    """Return what each layer adds to the layers before it, over the executions.

    The first layer adds all of its time.
    """
    rows = frame.filter(configuration=configuration, turn=turn)
    rows = rows.sort("round", "execution", "layer_order")
    before = pl.col("until_ns").shift(1, fill_value=0).over("round", "execution")
    added = rows.with_columns(us=(pl.col("until_ns") - before) / 1000)
    by_layer = added.partition_by("layer_order", maintain_order=True)
    return [Range.of(layer["us"]) for layer in by_layer]


def _last(frame: pl.DataFrame, configuration: str) -> pl.Series:
    """Return the time of the whole model in each execution, in µs."""
    rows = frame.filter(configuration=configuration, turn=BESIDE)
    is_last = pl.col("layer_order") == pl.col("layer_order").max()
    return rows.filter(is_last)["until_ns"] / 1000


def outcomes(
    model: Model, which: Sequence[int], ways: tuple[str, str] = ("eager", "compiled")
) -> list[bool | None]:
    """Return whether each of these layers is faster in the second configuration.

    It is None if the two sessions disagree or cannot tell.
    """
    # The custom configuration has only one session. The choosing session is left out if the eager
    # model was slow in it, as DenseNet was.
    turns = [model.beside]
    if "custom" not in ways and not model.first_was_slow:
        turns.append(model.chosen)
    first, second = ways
    agreed: list[bool | None] = []
    for layer in which:
        answers = {more(times[first][layer], times[second][layer]) for times in turns}
        agreed.append(answers.pop() if len(answers) == 1 else None)
    return agreed


def best(model: Model) -> float:
    """Sum, over the layers, the lesser of the eager and the compiled median, in µs."""
    pairs = zip(
        model.beside["eager"],
        model.beside["compiled"],
        strict=True,
    )
    # The sum is compared with the custom configuration.
    return sum(min(eager.middle, compiled.middle) for eager, compiled in pairs)
