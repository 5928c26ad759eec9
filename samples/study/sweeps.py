"""Time, memory and utilisation over batch size and resolution: the paper's Figures 7 to 13, measured today."""

from __future__ import annotations

from typing import Any

import altair as alt
import paper
import polars as pl
from page import NAMES, Figure, Section, level_color, table
from points import HERE, LARGE, per_image, ratio, time_of, value
from sweep_claims import findings

SHOWN = (HERE, (512, 64), LARGE, (512, 128))
"""The points whose numbers stand in the table."""
INTRODUCTION = (
    "A step is the batch's copy from pageable memory, the model, and in training the backward pass"
    " and the optimizer. Milliseconds are medians by CUDA events of steps that follow each other,"
    " after a warm-up, divided by the batch; quartiles in brackets. Memory is what the whole GPU"
    " has in use by NVML (the driver's and each library's share included), utilisation the share of"
    " time in which some kernel ran, also by NVML. All points are rows of `measurements.csv`, taken"
    " in one session. Dashed lines are all points that the paper's authors published, of their"
    " hardware."
)
WORDS = {"infer": "inference", "train": "training"}


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
        _correction(),
        _over_batch(points),
    ]
    made.figures += [
        _figure(points, "ms", "milliseconds an image", "time", "ms"),
        _figure(points, "used_mib", "memory in use (MiB)", "memory", "used"),
        _figure(points, "gpu_util_percent", "utilisation (%)", "utilisation", "util"),
    ]
    made.findings = findings(points)
    return made


def _table(points: pl.DataFrame) -> str:
    rows = []
    for mode, word in WORDS.items():
        for batch, size in SHOWN:
            for level, name in NAMES.items():
                key = (level, mode, batch, size)
                time, then = (
                    time_of(points, key),
                    paper.SWEEPS.get(key, paper.Point(None, None, None)),
                )
                if time is None and then.ms is None:
                    continue
                used, util = (
                    value(points, key, column) for column in ("used_mib", "gpu_util_percent")
                )
                rows.append(
                    [
                        word,
                        batch,
                        f"{size}×{size}",
                        name,
                        _digits(then.ms, ".4f"),
                        f"{time.middle:.4f} ({time.low:.4f} to {time.high:.4f})" if time else None,
                        _digits(then.used, ",.0f"),
                        _digits(used, ",.0f"),
                        _digits(then.util, ".0f"),
                        _digits(util, ".0f"),
                    ]
                )
    heads = [
        "",
        "batch",
        "images",
        "level",
        "ms an image, paper (Fig. 7, 9, 12)",
        "today",
        "MB, paper (Fig. 7, 10, 13)",
        "MiB today",
        "% busy, paper (Fig. 8, 11)",
        "today",
    ]
    return table(heads, rows)


def _digits(number: float | None, form: str) -> str | None:
    return None if number is None else format(number, form)


def agreement(points: pl.DataFrame) -> str:
    """Whether the levels computed the same."""
    batch, size = HERE
    sums = points.filter(mode="infer", batch=batch, size=size).select("level", "checksum")
    base = sums.filter(level="eager")["checksum"]
    if base.is_empty() or sums.height < 2:
        return "Nothing says whether the levels computed the same."
    worst = (
        sums.with_columns(off=(pl.col("checksum") / base[0] - 1).abs())
        .sort("off")
        .row(-1, named=True)
    )
    return (
        f"All levels hold the same weights and see the same images. At batch {batch} and"
        f" {size}×{size} the sums of the absolute logits differ from eager's by at most"
        f" {worst['off']:.1e} of it ({NAMES[worst['level']]})."
    )


def _correction() -> str:
    """The published times of PyTorch's inference, without the training time that the program adds to them."""
    rows = []
    for batch, size in SHOWN:
        eager, libtorch = (
            paper.SWEEPS[level, "infer", batch, size].ms for level in ("eager", "libtorch")
        )
        ours = paper.corrected_ms(batch, size)
        if eager is None or libtorch is None or ours is None:
            continue
        trained = paper.SWEEPS["eager", "train", batch, size].ms
        share = f"{paper.left_over(batch):.4f} × {trained:.4f}"
        shown = [
            f"{eager:.4f}",
            share,
            f"{ours:.4f}",
            f"{eager / libtorch:.2f}",
            f"{ours / libtorch:.2f}",
        ]
        rows.append([batch, f"{size}×{size}", *shown])
    heads = [
        "batch",
        "images",
        "published, ms",
        "training in it, ms",
        "corrected, ms",
        "over LibTorch",
        "corrected",
    ]
    return (
        f"The published PyTorch program ({paper.PROGRAMS}, `python/main.py`) sets its elapsed time"
        f" to 0 after each {paper.MONITORING_STEP} batches of training, but not before the"
        " evaluation: the training batches since then are added to the evaluation's time. Of"
        " 17,125 images (`python/pascal.py`) 13,700 train and 3,425 evaluate, so with a batch of"
        " 32 these are 9 batches over 108 of evaluation, with 512 they are 7 over 7. That is how"
        " an inference can be slower than training (0.571 against 0.414 ms at batch 512). What is"
        " left when the batches' mean training time is taken"
        f" off:\n\n{table(heads, rows)}\n\nUtilisation is not touched by this. That the published"
        " PyTorch kept its GPU at 11 % likely comes from its loader: one worker that decodes JPEG"
        " files (`num_workers=1`), where the LibTorch program loads the images beforehand."
    )


def _over_batch(points: pl.DataFrame) -> str:
    """How far eager and LibTorch are apart at each batch of 64×64."""
    rows = []
    for batch in sorted(points.filter(mode="infer", size=HERE[1])["batch"].unique()):
        today, then = (
            ratio(points, (batch, HERE[1])),
            paper.SWEEPS.get(("libtorch", "infer", batch, HERE[1])),
        )
        if today is None:
            continue
        eager = paper.SWEEPS.get(("eager", "infer", batch, HERE[1]))
        ours = paper.corrected_ms(batch, HERE[1])
        published = [None, None]
        if eager and then and then.ms and eager.ms and ours:
            published = [f"{eager.ms / then.ms:.2f}", f"{ours / then.ms:.2f}"]
        rows.append([batch, *published, str(today)])
    heads = ["batch", "published", "corrected", "today"]
    return f"PyTorch eager's time of inference over LibTorch's, at 64×64:\n\n{table(heads, rows)}"


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
                {"level": NAMES[row["level"]], "x": row[axis], "y": row[column], "of": "today"}
                for row in rows.iter_rows(named=True)
            ]
            theirs = [
                {
                    "level": NAMES[level],
                    "x": {"batch": b, "size": s}[axis],
                    "y": getattr(point, then),
                    "of": "published",
                }
                for (level, m, b, s), point in paper.SWEEPS.items()
                if m == mode
                and {"batch": b, "size": s}[fixed] == at
                and getattr(point, then) is not None
            ]
            charts.append(
                _panel(
                    own + theirs, (label, f"{title}, {word}"), is_log=column != "gpu_util_percent"
                )
            )
    chart = alt.concat(*charts, columns=2).resolve_scale(color="shared", strokeDash="shared")
    caption = (
        f"{title[0].upper()}{title[1:]}, over batch size and over resolution; dashed: as published,"
        " on a V100."
    )
    return Figure(name, chart, caption)


def _panel(rows: list[dict[str, Any]], titles: tuple[str, str], *, is_log: bool) -> alt.Chart:
    scale = alt.Scale(type="log", nice=False, padding=12) if is_log else alt.Scale(domain=[0, 100])
    x = alt.X("x:Q", title=titles[0], scale=alt.Scale(type="log", base=2, nice=False, padding=12))
    dash = alt.StrokeDash(
        "of:N",
        title=None,
        scale=alt.Scale(domain=["today", "published"], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(orient="top", symbolType="stroke"),
    )
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=1.6)
    encoded = chart.encode(
        x=x, y=alt.Y("y:Q", title=titles[1], scale=scale), color=level_color(NAMES), strokeDash=dash
    )
    return encoded.properties(width=300, height=210)
