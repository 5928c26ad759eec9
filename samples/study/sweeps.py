"""Time, memory and utilisation over batch size and resolution: the paper's Figure 7, measured today."""

from __future__ import annotations

from typing import Any

import altair as alt
import paper
import polars as pl
from page import NAMES, Figure, Finding, Section, level_color, table

HERE = (32, 64)
"""The batch and resolution that levels are compared at, as in the paper."""
SHOWN = ((32, 64), (512, 64), (32, 256))
"""The points whose numbers stand in the table."""
INTRODUCTION = (
    "A step is the batch's copy from pageable memory, the model, and in training the backward pass and the optimizer. "
    "Milliseconds are medians by CUDA events of steps that follow each other, after a warm-up, divided by the batch. "
    "Memory is what the whole GPU has in use by NVML (the driver's and each library's share included), utilisation the "
    "share of time in which some kernel ran, also by NVML. Rings are the paper's values, of its own hardware: their "
    "slopes compare, their heights do not."
)
WORDS = {"infer": "inference", "train": "training"}


def per_image(measurements: pl.DataFrame) -> pl.DataFrame:
    """The measured points in float32, with `ms`: of a step's median, an image's part."""
    return measurements.filter(dtype="float32").with_columns(ms=pl.col("median_ms") / pl.col("batch"))


def section(measurements: pl.DataFrame | None) -> Section:
    """The section of the page, from measurements.csv."""
    made = Section("Time, memory and utilisation over batch size and resolution")
    if measurements is None or measurements.is_empty():
        made.blocks.append("Nothing was measured.")
        return made
    points = per_image(measurements)
    made.blocks += [
        INTRODUCTION,
        _table(points),
        agreement(points),
    ]
    made.figures += [
        _figure(points, "ms", "milliseconds an image", "time", "ms"),
        _figure(points, "used_mib", "memory in use (MiB)", "memory", "used"),
        _figure(points, "gpu_util_percent", "utilisation (%)", "utilisation", "util"),
    ]
    made.findings = findings(points)
    return made


def value(points: pl.DataFrame, key: tuple[str, str, int, int], column: str) -> float | None:
    """What was measured at a level, mode, batch and resolution; null where it was not."""
    level, mode, batch, size = key
    found = points.filter(level=level, mode=mode, batch=batch, size=size)[column].drop_nulls()
    return float(found[0]) if found.len() else None


def _table(points: pl.DataFrame) -> str:
    rows = []
    for mode, word in WORDS.items():
        for batch, size in SHOWN:
            for level, name in NAMES.items():
                key = (level, mode, batch, size)
                ms, used, util = (value(points, key, column) for column in ("ms", "used_mib", "gpu_util_percent"))
                if ms is None:
                    continue
                then = paper.FIGURE_7.get(key)
                now = [f"{ms:.4f}", None if used is None else f"{used:,.0f}", None if util is None else f"{util:.0f}"]
                old = [f"{then.ms:.4f}", f"{then.used:,.0f}", f"{then.util:.0f}"] if then else [None] * 3
                rows.append([word, batch, f"{size}×{size}", name, old[0], now[0], old[1], now[1], old[2], now[2]])
    heads = [
        "",
        "batch",
        "images",
        "level",
        "ms an image, paper",
        "today",
        "memory, paper",
        "today (MiB)",
        "% busy, paper",
        "today",
    ]
    return table(heads, rows)


def agreement(points: pl.DataFrame) -> str:
    """Whether the levels computed the same."""
    batch, size = HERE
    sums = points.filter(mode="infer", batch=batch, size=size).select("level", "checksum")
    base = sums.filter(level="eager")["checksum"]
    if base.is_empty() or sums.height < 2:
        return "Nothing says whether the levels computed the same."
    worst = sums.with_columns(off=(pl.col("checksum") / base[0] - 1).abs()).sort("off").row(-1, named=True)
    return (
        f"All levels hold the same weights and see the same images. At batch {batch} and {size}×{size} the sums of the "
        f"absolute logits differ from eager's by at most {worst['off']:.1e} of it ({NAMES[worst['level']]})."
    )


def _figure(points: pl.DataFrame, column: str, title: str, name: str, then: str) -> Figure:
    """Two rows (over the batch at 64×64, over the resolution at batch 32) of inference and training."""
    batch, size = HERE
    kept = points.drop_nulls(column)
    charts = []
    for axis, label, fixed, at in (
        ("batch", f"batch, at {size}×{size}", "size", size),
        ("size", f"resolution, at batch {batch}", "batch", batch),
    ):
        for mode, word in WORDS.items():
            rows = kept.filter(pl.col(fixed) == at, pl.col("mode") == mode).sort(axis)
            own = [
                {"level": NAMES[row["level"]], "x": row[axis], "y": row[column]} for row in rows.iter_rows(named=True)
            ]
            theirs = [
                {"level": NAMES[level], "x": {"batch": b, "size": s}[axis], "y": getattr(point, then)}
                for (level, m, b, s), point in paper.FIGURE_7.items()
                if m == mode and {"batch": b, "size": s}[fixed] == at
            ]
            charts.append(_panel(own, theirs, (label, f"{title}, {word}"), is_log=column != "gpu_util_percent"))
    chart = alt.concat(*charts, columns=2).resolve_scale(color="shared")
    return Figure(
        name, chart, f"{title[0].upper()}{title[1:]}, over batch size and over resolution; rings: the paper's."
    )


def _panel(
    own: list[dict[str, Any]], theirs: list[dict[str, Any]], titles: tuple[str, str], *, is_log: bool
) -> alt.LayerChart:
    scale = alt.Scale(type="log", nice=False) if is_log else alt.Scale(domain=[0, 100])
    x = alt.X("x:Q", title=titles[0], scale=alt.Scale(type="log", base=2, nice=False, padding=12))
    y = alt.Y("y:Q", title=titles[1], scale=scale)
    color = level_color(NAMES)
    lines = alt.Chart(alt.InlineData(values=own)).mark_line(point=True).encode(x=x, y=y, color=color)
    rings = alt.Chart(alt.InlineData(values=theirs)).mark_point(size=70, strokeWidth=2).encode(x=x, y=y, color=color)
    return (lines + rings).properties(width=300, height=210)


def findings(points: pl.DataFrame) -> list[Finding]:
    """What the paper read from its Figure 7, and whether it is so today."""
    found = [_order(points), _eager_and_libtorch(points), _shrinks(points), _memory(points), _utilisation(points)]
    return [finding for finding in found if finding is not None]


def _both(
    points: pl.DataFrame, field: str, column: str, mode: str = "infer"
) -> tuple[dict[str, float], dict[str, float]]:
    """The paper's and today's values at the point of comparison, of the levels that both have, smallest first."""
    keys = {level: (level, mode, *HERE) for level in paper.LEVELS}
    then = {level: getattr(paper.FIGURE_7[key], field) for level, key in keys.items() if key in paper.FIGURE_7}
    now = {level: number for level in then if (number := value(points, keys[level], column)) is not None}
    known = {level: number for level, number in then.items() if level in now}
    return dict(sorted(known.items(), key=_second)), dict(sorted(now.items(), key=_second))


def _second(item: tuple[str, float]) -> float:
    return item[1]


def _said(values: dict[str, float], unit: str, digits: int = 4) -> str:
    return ", ".join(f"{NAMES[level]} {number:.{digits}f}{unit}" for level, number in values.items())


def _order(points: pl.DataFrame) -> Finding | None:
    then, now = _both(points, "ms", "ms")
    if len(now) < 2:
        return None
    claim = f"The order of the levels by time of inference: {', '.join(NAMES[level] for level in then)}"
    return Finding(claim, _said(then, " ms"), _said(now, " ms"), list(then) == list(now))


def _eager_and_libtorch(points: pl.DataFrame) -> Finding | None:
    then, now = _both(points, "ms", "ms")
    if not {"eager", "libtorch"} <= set(now):
        return None
    old, new = (of["eager"] / of["libtorch"] for of in (then, now))
    return Finding(
        "At a batch of small images PyTorch takes several times as long as LibTorch",
        f"{old:.1f} times",
        f"{new:.2f} times",
        new >= 2,
    )


def _shrinks(points: pl.DataFrame) -> Finding | None:
    ratios = []
    for batch, size in (HERE, (32, 256)):
        eager, libtorch = (value(points, (level, "infer", batch, size), "ms") for level in ("eager", "libtorch"))
        if eager is None or libtorch is None:
            return None
        old = paper.FIGURE_7["eager", "infer", batch, size].ms / paper.FIGURE_7["libtorch", "infer", batch, size].ms
        ratios.append((old, eager / libtorch))
    (old_small, small), (old_large, large) = ratios
    return Finding(
        "The gap between PyTorch and LibTorch narrows with larger images",
        f"from {old_small:.1f} times at 64×64 to {old_large:.1f} at 256×256",
        f"from {small:.2f} times to {large:.2f}",
        small > large and small > 1.1,
    )


def _memory(points: pl.DataFrame) -> Finding | None:
    then, now = _both(points, "used", "used_mib")
    if len(now) < 2:
        return None
    least_then, least_now = next(iter(then)), next(iter(now))
    return Finding(
        f"{NAMES[least_then]} has the least memory in use",
        _said(then, "", 0),
        _said(now, " MiB", 0),
        least_then == least_now,
    )


def _utilisation(points: pl.DataFrame) -> Finding | None:
    then, now = _both(points, "util", "gpu_util_percent")
    if not {"eager", "libtorch"} <= set(now):
        return None
    return Finding(
        "PyTorch leaves the GPU idle where LibTorch keeps it busy",
        _said(then, " %", 0),
        _said(now, " %", 0),
        now["eager"] < 0.5 * now["libtorch"],
    )
