"""What a batch costs to copy to the device: the paper's doubled bytes, and what could have doubled them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import paper
import polars as pl
from page import NAMES, Finding, Section, listed, table

import tracelens as tl
from tracelens.errors import MissingTableError

_NAME = re.compile(
    r"(?:copy|nsys_(?P<level>\w+?))_b(?P<batch>\d+)_f(?P<bits>\d+)(?:_(?P<rest>\w+))?$"
)


@dataclass(frozen=True)
class Copy:
    """The copies of one capture's batches, by step on average.

    `cast_from`: the dtype that a cast then narrows; `spread`: milliseconds of the fastest and of
    the slowest step.
    """

    level: str
    batch: int
    dtype: str
    model_dtype: str
    memory: str
    n_copies: float
    n_bytes: float
    ms: float
    cast_from: str | None
    spread: tuple[float, float]

    @property
    def bandwidth(self) -> float:
        """Gigabytes per second."""
        return self.n_bytes / self.ms / 1e6

    @property
    def words(self) -> str:
        """The configuration, for a sentence."""
        model = "" if self.model_dtype == "float32" else f" for a model in {self.model_dtype}"
        return (
            f"batch {self.batch} in {self.dtype} from {self.memory} memory{model}"
            f" ({NAMES[self.level]})"
        )


def copies_of(captures: Mapping[str, tl.Trace]) -> list[Copy]:
    """The copies of the captures that are named after what they copy."""
    found = []
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
        found.append(
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
        found,
        key=lambda c: (
            list(NAMES).index(c.level),
            c.batch,
            -int(c.dtype[5:]),
            c.memory,
            c.model_dtype,
        ),
    )


def section(captures: Mapping[str, tl.Trace]) -> Section:
    """The section of the page, from the captures `copy_…` and `nsys_LEVEL_b…`."""
    made = Section("Copies from the host")
    copies = copies_of(captures)
    if not copies:
        made.blocks.append("No copies were captured.")
        return made
    (large, large_ms), (small, small_ms) = paper.COPIES
    made.blocks.append(
        f"The paper saw {large / 1e6:.3f} MB and {large_ms} ms a batch in one implementation,"
        f" {small / 1e6:.3f} MB and {small_ms} ms in another (section 4), and does not say why."
        " Those bytes fit batches of 32 and 16 images of 3×256×256 in float32; a batch of 16 in"
        " float64 and in float32; or one that is copied twice. The first is likely: the published"
        " program for PyTorch sets its batch to 32 for this data set, the paper says 16. Here are"
        " such batches, copied today; means of the steps of the captures `copy_…` and"
        " `nsys_…_b16_…`:"
    )
    made.blocks.append(_table(copies))
    made.blocks.append("\n".join(f"- {sentence}" for sentence in sentences(copies)))
    made.findings = findings(copies)
    return made


def _table(copies: Iterable[Copy]) -> str:
    rows = [
        [
            NAMES[c.level],
            c.batch,
            c.dtype,
            c.memory,
            f"{c.n_copies:g}",
            f"{c.n_bytes:,.0f}",
            f"{c.ms:.3f}",
            f"{c.bandwidth:.1f}",
            f"{c.cast_from} to {c.model_dtype}" if c.cast_from else "none",
        ]
        for c in copies
    ]
    heads = [
        "level",
        "batch",
        "dtype on the host",
        "memory",
        "copies a step",
        "bytes a step",
        "ms",
        "GB/s",
        "cast on the device",
    ]
    return table(heads, rows)


def sentences(copies: list[Copy]) -> list[str]:
    """What the captures say about the doubled bytes, and about pinned memory."""
    said = []
    (large, _), (small, _) = paper.COPIES
    for n_bytes in (large, small):
        fits = [c.words for c in copies if round(c.n_bytes) == n_bytes]
        if fits:
            said.append(f"{n_bytes:,} bytes a step are {listed(list(dict.fromkeys(fits)))}.")
    cast = [c for c in copies if c.cast_from]
    if cast:
        said.append(
            f"Dtype: the batches in {listed(sorted({c.dtype for c in cast}))} are each followed by"
            " a cast that throws half of what was copied away. That doubles bytes and time of the"
            " copy and leaves every kernel after it as it was."
        )
    one_batch = [
        c
        for c in copies
        if not c.cast_from and c.model_dtype == "float32" and round(c.n_bytes) in (large, small)
    ]
    if {round(c.n_bytes) for c in one_batch} == {large, small}:
        said.append(
            "Batch: twice the images double the copy without any cast, and the work of every kernel"
            " after it too; the grids below tell the two apart."
        )
    most = max(c.n_copies for c in copies)
    said.append(
        "Double copy: no capture copies its batch more than once a step, at any level."
        if most <= 1
        else (
            f"Double copy: up to {most:g} copies a step, so bytes alone do not tell dtype from"
            " copies."
        )
    )
    for base, other in _pairs(copies, "memory"):
        said.append(
            f"Pinned: {base.words} takes {base.ms:.3f} ms, pinned {other.ms:.3f} ms:"
            f" {base.ms / other.ms:.1f} times as fast ({base.bandwidth:.1f} against"
            f" {other.bandwidth:.1f} GB/s)."
        )
    return said


def _pairs(copies: Iterable[Copy], by: str) -> list[tuple[Copy, Copy]]:
    """Copies that differ in one respect: pageable and pinned memory, or float64 and float32 with a cast."""
    kept = list(copies)
    order = {"memory": ("pageable", "pinned"), "dtype": ("float64", "float32")}[by]

    def rest(c: Copy) -> tuple[object, ...]:
        return (c.level, c.batch, c.model_dtype, c.dtype if by == "memory" else c.memory)

    found = []
    for base in kept:
        if getattr(base, by) == order[0]:
            found += [
                (base, c) for c in kept if getattr(c, by) == order[1] and rest(c) == rest(base)
            ]
    return found


def findings(copies: list[Copy]) -> list[Finding]:
    """The paper's doubled copy."""
    (large, large_ms), (small, small_ms) = paper.COPIES
    found = []
    alike = {
        c.level: c
        for c in copies
        if (c.batch, c.dtype, c.memory, c.cast_from) == (16, "float32", "pageable", None)
    }
    if {"eager", "libtorch"} <= set(alike):
        same = {round(c.n_bytes) for c in alike.values()}
        found.append(
            Finding(
                "PyTorch copies twice the bytes that the other implementations copy for the same"
                " batch",
                "section 4; GPU not said",
                f"{large / 1e6:.3f} against {small / 1e6:.3f} MB",
                f"{listed([NAMES[level] for level in alike])} copy "
                f"{listed([f'{n:,}' for n in sorted(same)])} bytes each",
                len(same) > 1,
                "the same float32 batch of 16 at 256×256: `copy_b16_f32_pageable`,"
                " `nsys_libtorch_b16_f32`, `nsys_cudnn_b16_f32`. There, likely the batch: the"
                " published program sets it to 32 for this data set (`python/main.py`, `batch_size"
                " = 32`), the paper says 16 (section 3), and twice the images explain the bytes,"
                " the grid and the times at once",
            )
        )
    batches = {
        c.batch: c
        for c in copies
        if (c.level, c.dtype, c.memory, c.cast_from) == ("eager", "float32", "pageable", None)
    }
    if {16, 32} <= set(batches):
        one, two = batches[16], batches[32]
        low, high = (two.spread[0] / one.spread[1], two.spread[1] / one.spread[0])
        found.append(
            Finding(
                "Twice the bytes take twice the time",
                "section 4; GPU not said",
                f"{large_ms} against {small_ms} ms, a ratio of {large_ms / small_ms:.2f} at "
                f"{large / large_ms / 1e6:.2f} GB/s",
                f"{two.ms:.3f} against {one.ms:.3f} ms, a ratio of {two.ms / one.ms:.2f} ({low:.2f}"
                f" to {high:.2f} by the fastest and slowest copies) at {two.bandwidth:.1f} GB/s",
                holds=True if low <= 2 <= high else None,
                why=(
                    ""
                    if low <= 2 <= high
                    else (
                        "`copy_b32_f32_pageable` and `copy_b16_f32_pageable`: near 2, but not "
                        "within the spread of three copies"
                    )
                ),
            )
        )
    pinned = [(base, other) for base, other in _pairs(copies, "memory") if base.dtype == "float32"]
    if pinned:
        found.append(_pinned(pinned))
    return found


def _pinned(pairs: list[tuple[Copy, Copy]]) -> Finding:
    """Whether pinned memory halves the time of a copy, by the float32 batches."""
    ranges = [
        (one.spread[0] / two.spread[1], one.ms / two.ms, one.spread[1] / two.spread[0])
        for one, two in pairs
    ]
    low, high = min(r[0] for r in ranges), max(r[2] for r in ranges)
    return Finding(
        "Pinned memory halves the time of a copy",
        "section 4, footnote 27; GPU not said",
        "half",
        f"{' and '.join(f'{r[1]:.1f}' for r in ranges)} times as fast ({low:.1f} to {high:.1f} by"
        " the fastest and slowest copies)",
        True if low <= 2 <= high else False if low > 2.5 else None,
        (
            f"pinned copies run at {listed([f'{two.bandwidth:.1f}' for _, two in pairs])} GB/s"
            f" here, of pageable memory at {listed([f'{one.bandwidth:.1f}' for one, _ in pairs])}:"
            " `copy_b16_f32_…`, `copy_b32_f32_…`; why the latter are no faster is not established"
            if low > 2.5
            else "`copy_b16_f32_…`, `copy_b32_f32_…`"
        ),
    )
