"""Compute what copying a batch to the device costs: the paper's doubled bytes, and reasons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

import tracelens as tl
from samples.study.paper import NAMES
from tracelens.errors import MissingTableError

_NAME = re.compile(
    r"(?:copy|nsys_(?P<level>\w+?))_b(?P<batch>\d+)_f(?P<bits>\d+)(?:_(?P<rest>\w+))?$"
)


@dataclass(frozen=True)
class Copy:
    """The copies of one capture's batches, on average per step."""

    level: str
    batch: int
    dtype: str
    model_dtype: str
    memory: str
    n_copies: float
    n_bytes: float
    ms: float
    # The dtype that a later cast narrows
    cast_from: str | None
    # Milliseconds of the fastest and the slowest step
    spread: tuple[float, float]

    @property
    def bandwidth(self) -> float:
        """Gigabytes per second."""
        return self.n_bytes / self.ms / 1e6


def copies_of(captures: Mapping[str, tl.Trace]) -> list[Copy]:
    """Return the copies of the captures with names that describe copies."""
    copies = []
    for name, trace in captures.items():
        match = _NAME.match(name)
        if match is None:
            continue
        try:
            rows = tl.analyses.copy_cost(trace).filter(
                pl.col("step").is_not_null(), direction="h2d"
            )
        except MissingTableError:
            continue
        if rows.is_empty():
            continue
        n_steps = rows["step"].n_unique()
        by_step = (
            rows.group_by("step").agg(pl.col("duration_total_ns").sum())["duration_total_ns"].sort()
            / 1e6
        )
        dtype, rest = f"float{match['bits']}", match["rest"] or ""
        is_half = dtype == "float16"
        copies.append(
            Copy(
                level=match["level"] or "eager",
                batch=int(match["batch"]),
                dtype=dtype,
                model_dtype=dtype if is_half or rest == "model" else "float32",
                memory=str(rows.sort("size_bytes", descending=True)["source_memory"][0]),
                n_copies=rows["n_calls"].sum() / n_steps,
                n_bytes=rows["size_bytes"].sum() / n_steps,
                ms=rows["duration_total_ns"].sum() / n_steps / 1e6,
                cast_from=next(iter(rows["wasteful_dtype"].drop_nulls()), None),
                spread=(float(by_step[0]), float(by_step[-1])),
            )
        )
    return sorted(
        copies,
        key=lambda c: (
            list(NAMES).index(c.level),
            c.batch,
            -int(c.dtype[5:]),
            c.memory,
            c.model_dtype,
        ),
    )


def pageable_and_pinned(copies: list[Copy]) -> list[tuple[Copy, Copy]]:
    """Return the copies of float32 batches from pageable and from pinned memory."""
    kept = {(c.memory, c.batch): c for c in copies if c.level == "eager" and c.dtype == "float32"}
    return [
        (kept["pageable", batch], kept["pinned", batch])
        for memory, batch in sorted(kept)
        if memory == "pageable" and ("pinned", batch) in kept
    ]
