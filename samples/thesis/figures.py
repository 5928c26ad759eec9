"""Numbers of a run that the sections share: times with quartiles, speedups with their range, kernel times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import polars as pl
from there import NAMES

import tracelens as tl

EVEN = 0.1
"""A speedup within so much of 1 is about even."""


_SUBTRACTION = "_subtraction"


class Speedup(NamedTuple):
    """The quotient of two medians, and the least and the most that their quartiles allow."""

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Run:
    """results.json, the medians of an earlier session, the captures by name, the layer subtractions by model."""

    results: Mapping[str, Any]
    earlier: Mapping[str, Mapping[str, float]]
    captures: Mapping[str, tl.Trace]
    subtraction: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def models(self) -> dict[str, Mapping[str, Any]]:
        """What was found of each model that was timed."""
        return {name: part for name, part in self.results["parts"].items() if part.get("e2e")}

    def pair(self, model: str) -> tuple[tl.Trace, tl.Trace]:
        """The eager and the compiled capture of a model."""
        return self.captures[f"{model}_eager"], self.captures[f"{model}_compiled"]


def read(folder: Path) -> Run:
    """The run in a folder; earlier.json may be missing."""
    earlier = folder / "earlier.json"
    return Run(
        json.loads((folder / "results.json").read_text()),
        json.loads(earlier.read_text())["e2e_ms"] if earlier.is_file() else {},
        {path.stem: tl.open(path) for path in sorted(folder.glob("*.tracelens"))},
        {
            path.stem.removesuffix(_SUBTRACTION): pl.read_parquet(path)
            for path in folder.glob(f"*{_SUBTRACTION}.parquet")
        },
    )


def speedup(part: Mapping[str, Any], other: str, base: str = "eager") -> Speedup | None:
    """How many times as fast one configuration of a model is as another; null where either was not timed."""
    one, two = part["e2e"].get(base), part["e2e"].get(other)
    if not one or not two:
        return None
    return Speedup(
        one["p25_ms"] / two["p75_ms"],
        one["median_ms"] / two["median_ms"],
        one["p75_ms"] / two["p25_ms"],
    )


def earlier_speedup(run: Run, model: str) -> float | None:
    """The speedup of the default mode in the earlier session."""
    times = run.earlier.get(model)
    return times["eager"] / times["default"] if times else None


def kernel_ms(trace: tl.Trace) -> float:
    """GPU time of the kernels of a step, milliseconds: the median over the steps."""
    steps = (
        trace.kernels.filter(pl.col("step").is_not_null())
        .group_by("step")
        .agg(pl.col("duration_ns").sum())
    )
    return float(steps.select(pl.col("duration_ns").median()).item()) / 1e6


def kernel_speedup(run: Run, model: str) -> float:
    """Eager over compiled, by GPU time of kernels."""
    eager, compiled = run.pair(model)
    return kernel_ms(eager) / kernel_ms(compiled)


def is_faster(found: Speedup | None) -> bool | None:
    """Whether the quartiles put it above 1, or below; null where they do neither."""
    if found is None:
        return None
    return True if found.low > 1 else False if found.high < 1 else None


def is_even(ratio: float) -> bool:
    """Whether a speedup is about 1."""
    return abs(ratio - 1) <= EVEN


def agree(answers: Iterable[bool | None]) -> bool | None:
    """What all of them say; null where they differ, or one cannot tell, or there is none."""
    found = set(answers)
    return found.pop() if len(found) == 1 else None


def spread(values: Iterable[float], unit: str = "", digits: int = 2) -> str:
    """`1.20 to 2.05`, or the one value."""
    texts = [f"{value:.{digits}f}" for value in sorted(values)]
    ends = texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"
    return f"{ends}{unit}"


def model_axis(models: Iterable[str]) -> alt.Y:
    """The models one below the other, in the order of the thesis."""
    shown = set(models)
    return alt.Y("model:N", title=None, sort=[name for key, name in NAMES.items() if key in shown])


def even_line() -> alt.Chart:
    """A dashed line where nothing is gained or lost."""
    return (
        alt.Chart(alt.InlineData(values=[{"even": 1}]))
        .mark_rule(strokeDash=[4, 4])
        .encode(x="even:Q")
    )
