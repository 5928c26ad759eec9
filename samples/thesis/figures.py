"""Read a run of the thesis's measurements: times with quartiles, speedups, and kernel times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import tracelens as tl
from samples.kit.significance import Range

_SUBTRACTION = "_subtraction"


@dataclass(frozen=True)
class Run:
    """Everything that the page needs of one run.

    `results` is results.json, `earlier` has medians of an earlier session, `captures` and
    `subtraction` are by name of capture and model. `baselines` are from processes that were timed
    before they profiled anything.
    """

    results: Mapping[str, Any]
    earlier: Mapping[str, Mapping[str, float]]
    captures: Mapping[str, tl.Trace]
    subtraction: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    baselines: Sequence[Mapping[str, Any]] = ()

    def models(self) -> dict[str, Mapping[str, Any]]:
        """Return the results of each model that was timed."""
        return {name: part for name, part in self.results["parts"].items() if part.get("e2e")}

    def pair(self, model: str) -> tuple[tl.Trace, tl.Trace]:
        """Return the eager and the compiled capture of a model."""
        return self.captures[f"{model}_eager"], self.captures[f"{model}_compiled"]


def read(folder: Path) -> Run:
    """Read the run in a folder; earlier.json and baselines.jsonl may be missing."""
    earlier, baselines = folder / "earlier.json", folder / "baselines.jsonl"
    return Run(
        json.loads((folder / "results.json").read_text()),
        json.loads(earlier.read_text())["e2e_ms"] if earlier.is_file() else {},
        {path.stem: tl.open(path) for path in sorted(folder.glob("*.tracelens"))},
        {
            path.stem.removesuffix(_SUBTRACTION): pl.read_parquet(path)
            for path in folder.glob(f"*{_SUBTRACTION}.parquet")
        },
        [json.loads(line) for line in baselines.read_text().splitlines()]
        if baselines.is_file()
        else [],
    )


def speedup(part: Mapping[str, Any], other: str, base: str = "eager") -> Range | None:
    """Return how many times as fast one configuration of a model is as another.

    Returns None if either was not timed.
    """
    one, two = part["e2e"].get(base), part["e2e"].get(other)
    if not one or not two:
        return None
    return time(one).over(time(two))


def time(row: Mapping[str, float]) -> Range:
    """Return milliseconds with their quartiles."""
    return Range(row["p25_ms"], row["median_ms"], row["p75_ms"])


def earlier_speedup(run: Run, model: str) -> float | None:
    """Return the speedup of the default mode in the earlier session."""
    times = run.earlier.get(model)
    return times["eager"] / times["default"] if times else None


def kernel_ms(trace: tl.Trace) -> float:
    """Return the kernel time of a step in ms: the median over the steps."""
    steps = (
        trace.kernels.filter(pl.col("step").is_not_null())
        .group_by("step")
        .agg(pl.col("duration_ns").sum())
    )
    return float(steps.select(pl.col("duration_ns").median()).item()) / 1e6


def kernel_speedup(run: Run, model: str) -> float:
    """Return eager over compiled kernel time."""
    eager, compiled = run.pair(model)
    return kernel_ms(eager) / kernel_ms(compiled)
