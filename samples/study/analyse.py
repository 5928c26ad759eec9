"""Write the study's page from its captures: `python -m samples.study.analyse`.

Reads samples/study/captures (what run.py wrote: traces, measurements.csv, versions.json) and writes
docs/abstraction_study.md with its details and charts. The text is page.md.j2 and details.md.j2; its
numbers are the captures' and those of paper.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

import tracelens as tl
from samples.kit.page import ROOT, Made, as_csv, fixed, render
from samples.kit.significance import (
    NEAR,
    Range,
    Verdict,
    agrees,
    judge,
    judge_cases,
    judge_size,
    more,
    shared,
)
from samples.study import charts, copies, depth, paper, points, relu, sweeps
from samples.study.points import HERE, LARGE

HERE_FOLDER = Path(__file__).parent
PAGE = ROOT / "docs/abstraction_study.md"
MANY = (512, 64)
"""The point with many small images."""
LATER = "torchscript_cpp"
"""The level that was measured in a later turn than the others."""
TABLES = {
    "points": (
        "batch",
        "size",
        "level",
        "paper ms an image",
        "ms an image",
        "lower quartile",
        "upper quartile",
        "paper MiB",
        "MiB",
        "paper % busy",
        "% busy",
    ),
    "copies": (
        "level",
        "batch",
        "dtype on the host",
        "memory",
        "bytes a step",
        "ms",
        "GB/s",
        "cast on the device",
    ),
    "grids": ("capture", "grid of the largest ReLU", "calls of the capture", "mean µs", "kernel"),
}
"""Tables that lie beside the page, and their columns."""
TIMELINES = ("eager", "libtorch", "torchscript", "cudnn")


def main() -> None:
    """Write the page and its charts."""
    make().write(PAGE)


def make() -> Made:
    """Return the page with its charts."""
    folder = HERE_FOLDER / "captures"
    captures = {path.stem: tl.open(path) for path in sorted(folder.glob("*.tracelens"))}
    about = json.loads((folder / "versions.json").read_text())
    first, later = (
        points.per_image(_csv(folder / f"measurements{turn}.csv")) for turn in ("", "_later")
    )
    measured = pl.concat([first, later.filter(pl.col("level") == LATER)])
    counters = relu.largest_by_batch(_csv(folder / "ncu_relu.csv"))
    values = {
        "versions": about["versions"],
        "paper": paper,
        "names": paper.NAMES,
        **_calls(captures),
        **_copies(captures),
        **_relu(captures, counters),
        **_sweeps(measured),
        "turns": _turns(first, later),
    }
    values |= _rows(values)
    drawn: dict[str, alt.TopLevelMixin] = {
        "gap": charts.gap(measured),
        "calls": charts.calls(values["calls"]),
        "time": charts.sweep(measured, "ms", "ms an image", "ms"),
        "memory": charts.sweep(measured, "used_mib", "MiB in use", "used"),
        "utilisation": charts.sweep(measured, "gpu_util_percent", "% busy", "util"),
    }
    tables = {name: as_csv(headings, values[f"{name}_rows"]) for name, headings in TABLES.items()}
    return Made(*render(HERE_FOLDER, values, _verdicts(values)), drawn, tables)


def _csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides={"checksum": pl.Float64})


def _calls(captures: Mapping[str, tl.Trace]) -> dict[str, Any]:
    """Return stacks and timelines: calls to cuDNN, equal frames, and a step's time."""
    old, new = depth.paths(captures), depth.paths(captures, "")
    common = depth.common(old["eager"], old["libtorch"])
    timelines = {level: depth.steps(captures[f"nsys_{level}"]) for level in TIMELINES}
    eager, libtorch = timelines["eager"], timelines["libtorch"]
    return {
        "calls": {level: depth.calls(level, path) for level, path in old.items()},
        "calls_new": {level: depth.calls(level, path) for level, path in new.items()},
        "from_conv": old["eager"].total,
        "below": (old["eager"].below, old["libtorch"].below),
        "in_common": common["n_common"],
        "symbols": {path.trace.stacks["symbol"][0] for path in new.values()} - {depth.OLD},
        "timelines": timelines,
        "apart_us": eager["step"].middle - libtorch["step"].middle,  # type: ignore[union-attr]
        "apart_launch_us": eager["launch"] - libtorch["launch"],  # type: ignore[operator]
    }


def _copies(captures: Mapping[str, tl.Trace]) -> dict[str, Any]:
    """Return the copies of batches, and their ratios by the fastest and slowest step."""
    all_copies = copies.copies_of(captures)
    kept = {
        (c.level, c.batch): c
        for c in all_copies
        if (c.dtype, c.memory, c.cast_from, c.model_dtype)
        == ("float32", "pageable", None, "float32")
    }
    smaller, larger = kept["eager", 16], kept["eager", 32]
    return {
        "copies": all_copies,
        "same_copies": {
            batch: {level: c for (level, size), c in kept.items() if size == batch}
            for batch in (16, 32)
        },
        "copied_by": [paper.NAMES[level] for level, batch in kept if batch == 32],
        "copy": {16: smaller, 32: larger},
        "copy_ratio": Range(*_low_high(larger), larger.spread[1]).over(
            Range(*_low_high(smaller), smaller.spread[1])
        ),
        "pinned": [
            Range(*_low_high(a), a.spread[1]).over(Range(*_low_high(b), b.spread[1]))
            for a, b in copies.pageable_and_pinned(all_copies)
        ],
        "pinned_copies": copies.pageable_and_pinned(all_copies),
    }


def _low_high(copy: copies.Copy) -> tuple[float, float]:
    return copy.spread[0], copy.ms


def _relu(captures: Mapping[str, tl.Trace], counters: pl.DataFrame) -> dict[str, Any]:
    """Return grids of the ReLU kernels, and Nsight Compute's counters for the largest one."""
    largest = {
        words: kernel for name, words in relu.CASES if (kernel := relu.largest(captures[name]))
    }
    smaller, larger = (relu.largest(captures[name]) for name in (relu.BASE, relu.LARGER))
    assert smaller is not None
    assert larger is not None
    spans = [
        Range(kernel.spread[0], kernel.mean_us, kernel.spread[1]) for kernel in (smaller, larger)
    ]
    share, place, n_kernels = relu.share_and_place(captures[relu.LARGER])
    return {
        "grids": {words: (kernel, relu.short(kernel.name)) for words, kernel in largest.items()},
        "relu_ratio": spans[1].over(spans[0]),
        "blocks_ratio": _blocks(larger) / _blocks(smaller),
        "relu_share": share,
        "relu_place": place,
        "n_kernels": n_kernels,
        "relu_grids": {
            shape: [largest[words].grid for words in of] for shape, of in relu.SHAPES.items()
        },
        "counters": counters.to_dicts(),
        "stalls": counters.filter(level="eager").to_dicts(),
    }


def _rows(v: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of the page's tables."""
    leaner = {level: [a < b for a, b in pairs.values()] for level, pairs in v["leaner"].items()}
    return {
        "depth_rows": [
            (
                paper.NAMES[level],
                v["calls"][level],
                f"{t['kernels']:g}",
                f"{t['step'].middle:,.0f} ({t['step'].low:,.0f} to {t['step'].high:,.0f})",
                f"{t['compute']:,.0f}",
                f"{t['launch']:,.0f}",
            )
            for level, t in v["timelines"].items()
        ],
        "point_rows": [
            (
                name,
                fixed(point and point.ms, 4),
                f"{time.middle:.4f} ({time.low:.4f} to {time.high:.4f})",
                fixed(point and point.used, 0),
                fixed(used, 0),
                fixed(point and point.util, 0),
                fixed(util, 0),
            )
            for batch, size, name, point, time, used, util in v["points"]
            if (batch, size) == HERE
        ],
        "points_rows": [
            (
                batch,
                size,
                name,
                point and point.ms,
                *(fixed(ms, 4) for ms in (time.middle, time.low, time.high)),
                *(round(mib) if mib else None for mib in (point and point.used, used)),
                *(round(share) if share else None for share in (point and point.util, util)),
            )
            for batch, size, name, point, time, used, util in v["points"]
        ],
        "copies_rows": [
            (
                paper.NAMES[c.level],
                c.batch,
                c.dtype,
                c.memory,
                round(c.n_bytes),
                fixed(c.ms, 3),
                fixed(c.bandwidth, 1),
                f"to {c.model_dtype}" if c.cast_from else None,
            )
            for c in v["copies"]
        ],
        "grids_rows": [
            (words, kernel.grid, kernel.n_calls, fixed(kernel.mean_us, 1), name)
            for words, (kernel, name) in v["grids"].items()
        ],
        "leaner_counts": {level: (sum(of), len(of)) for level, of in leaner.items()},
    }


def _blocks(kernel: relu.Largest) -> int:
    return kernel.grid[0] * kernel.grid[1] * kernel.grid[2]


def _sweeps(measured: pl.DataFrame) -> dict[str, Any]:
    """Return time and memory over batch size and resolution."""
    others = sweeps.eager_over_others(measured)
    table = [
        (batch, size, paper.NAMES[level], point, time, used, util)
        for batch, size in _measured_at(measured)
        for level in paper.NAMES
        if (time := points.time_of(measured, (level, "infer", batch, size)))
        for point in (_published(level, batch, size),)
        for used, util in [
            [
                points.value(measured, (level, "infer", batch, size), c)
                for c in ("used_mib", "gpu_util_percent")
            ]
        ]
    ]
    return {
        "gap": {point: points.ratio(measured, point) for point in (HERE, MANY, LARGE)},
        "published": {
            point: [sweeps.published_ratio(point, corrected=c) for c in (False, True)]
            for point in (HERE, MANY, LARGE)
        },
        "orders": sweeps.orders(measured),
        "orders_python": sweeps.orders(measured, paper.LEVELS),
        "others": others,
        "published_ends": [sweeps.published_over_others()[end] for end in (0, -1)],
        "published_leaner": {
            level: sweeps.published_leaner(level) for level in ("cudnn", "torchscript")
        },
        "ratios": sorted(r.middle for of in others.values() for r in of),
        "memory_ratios": sweeps.libtorch_over_eager_mib(measured),
        "leaner": {level: sweeps.leaner(measured, level) for level in ("cudnn", LATER)},
        "script_mib": points.value(measured, ("torchscript", "infer", *HERE), "used_mib"),
        "train": {
            level: points.time_of(measured, (level, "train", *HERE))
            for level in ("torchscript", LATER, "eager")
        },
        "points": table,
        "plain_us": {
            level: time.middle * HERE[0] * 1e3
            for level in ("eager", "libtorch")
            if (time := points.time_of(measured, (level, "infer", *HERE)))
        },
        "utilisation": {
            level: points.value(measured, (level, "infer", *HERE), "gpu_util_percent")
            for level in paper.LEVELS
        },
        "left_over": paper.left_over,
        "corrected": paper.corrected_ms(*HERE),
        "sums_off": _sums_off(measured),
    }


def _measured_at(measured: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the batches and sizes of all inference points, in order."""
    return sorted(set(measured.filter(mode="infer").select("batch", "size").iter_rows()))


def _published(level: str, batch: int, size: int) -> paper.Point | None:
    """Return the paper's time of a level, or None. Its TorchScript runs in C++."""
    if level in paper.LIKE.values():
        return None
    return paper.SWEEPS.get((paper.LIKE.get(level, level), "infer", batch, size))


def _turns(first: pl.DataFrame, later: pl.DataFrame) -> list[float]:
    """Return eager's inference times in the later session over the first session's, sorted."""
    both = first.join(later, on=["level", "mode", "batch", "size"], suffix="_later")
    same = both.filter(level="eager", mode="infer")
    return (same["ms_later"] / same["ms"]).sort().to_list()


def _sums_off(measured: pl.DataFrame) -> float:
    """Return by how much the levels' sums of absolute logits differ from eager's, at most."""
    sums = measured.filter(
        mode="infer",
        batch=HERE[0],
        size=HERE[1],
    )
    eager = sums.filter(level="eager")["checksum"][0]
    return float((sums["checksum"] / eager - 1).abs().max() or 0)  # type: ignore[arg-type]


def _verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the paper, by the statement's key on the page."""
    gap, calls = v["gap"], v["calls"]
    leaner = {level: [a < b for a, b in pairs.values()] for level, pairs in v["leaner"].items()}
    return {
        "python_longer": _calls_over(calls, "eager", "libtorch"),
        "coincide": judge(v["below"][0] == v["below"][1] == v["in_common"] - 1),
        "script_fraction": _calls_over(calls, "torchscript", "libtorch"),
        "direct": judge(calls["cudnn"] == 1),
        "one_function": judge(not v["symbols"]),
        # What a program copies is its own choice, and our programs are handed the same batch
        "twice_bytes": Verdict.UNTESTABLE,
        "twice_time": judge_size(v["copy_ratio"], paper.COPIES[0][1] / paper.COPIES[1][1]),
        "pinned": shared(judge_size(r, paper.PINNED) for r in v["pinned"]),
        "relu_grids": judge(any(len(set(grids)) > 1 for grids in v["relu_grids"].values())),
        # Ours is twice the work, not a larger grid for the same work
        "blocks_time": Verdict.UNTESTABLE,
        "relu_second": judge(v["relu_place"] == 2 and agrees(v["relu_share"], paper.RELU_SHARE)),
        "cache_misses": Verdict.UNTESTABLE,
        "order": judge_cases(v["orders"]),
        "slowest": judge(
            any(r.high >= 10 * (1 - NEAR) for ratios in v["others"].values() for r in ratios)
        ),
        "several_times": judge_size(gap[HERE], v["published"][HERE][1]),
        "narrows_images": judge(more(gap[HERE], gap[LARGE])),
        "narrows_batch": judge(more(gap[HERE], gap[MANY])),
        "same_memory": judge_cases(agrees(r, 1) for r in v["memory_ratios"]),
        "cudnn_leaner": judge_cases(leaner["cudnn"]),
        "script_leaner": judge_cases(leaner[LATER]),
        # Their program decodes images while it measures, ours has no loader
        "idle": Verdict.UNTESTABLE,
        "script_infers": judge(v["train"]["torchscript"] is None),
    }


def _calls_over(calls: Mapping[str, int], level: str, other: str) -> Verdict:
    """Compare the ratio of two levels' calls with the paper's. Counts do not vary."""
    ratio = calls[level] / calls[other]
    return judge_size(
        Range(ratio, ratio, ratio),
        paper.CALLS[level].total / paper.CALLS[other].total,
    )


if __name__ == "__main__":
    main()
