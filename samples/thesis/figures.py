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
    """Everything that the page needs of one run."""

    # results.json
    results: Mapping[str, Any]
    # Medians of an earlier session
    earlier: Mapping[str, Mapping[str, float]]
    # By name of capture
    captures: Mapping[str, tl.Trace]
    # By model
    subtraction: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    # From processes that were timed before they profiled anything
    baselines: Sequence[Mapping[str, Any]] = ()

    def models(self) -> dict[str, Mapping[str, Any]]:
        """Return the results of each model that was timed."""
        parts = self.results["parts"].items()
        return {name: part for name, part in parts if part.get("e2e")}

    def pair(self, model: str) -> tuple[tl.Trace, tl.Trace]:
        """Return the eager and the compiled capture of a model."""
        return self.captures[f"{model}_eager"], self.captures[f"{model}_compiled"]


def read(folder: Path) -> Run:
    """Read the run in a folder; earlier.json and baselines.jsonl may be missing."""
    results = folder / "results.json"
    earlier = folder / "earlier.json"
    baselines = folder / "baselines.jsonl"
    captures = sorted(folder.glob("*.tracelens"))
    subtractions = folder.glob(f"*{_SUBTRACTION}.parquet")
    lines = baselines.read_text().splitlines() if baselines.is_file() else []
    return Run(
        results=json.loads(results.read_text()),
        earlier=json.loads(earlier.read_text())["e2e_ms"] if earlier.is_file() else {},
        captures={path.stem: tl.open(path) for path in captures},
        subtraction={
            path.stem.removesuffix(_SUBTRACTION): pl.read_parquet(path) for path in subtractions
        },
        baselines=[json.loads(line) for line in lines],
    )


def speedup(part: Mapping[str, Any], other: str, base: str = "eager") -> Range | None:
    """Return how many times as fast one configuration of a model is as another.

    Returns None if either was not timed.
    """
    base_row, other_row = part["e2e"].get(base), part["e2e"].get(other)
    if not base_row or not other_row:
        return None
    return time(base_row).over(time(other_row))


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
    median_ns = steps.select(pl.col("duration_ns").median())
    return float(median_ns.item()) / 1e6


def kernel_speedup(run: Run, model: str) -> float:
    """Return eager over compiled kernel time."""
    eager, compiled = run.pair(model)
    return kernel_ms(eager) / kernel_ms(compiled)
