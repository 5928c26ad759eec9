"""Write the study's page from its captures: `python -m samples.study.analyse`.

Reads samples/study/captures (what run.py wrote: traces, measurements.csv, versions.json) and writes
docs/abstraction_study.md with its charts. The text is page.md.j2; its numbers are the captures' and
those of paper.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

import tracelens as tl
from samples.kit.drawing import save
from samples.kit.page import ROOT, fixed, render
from samples.kit.significance import NEAR, Range, Verdict, above, agrees, judge, judge_cases, more
from samples.study import charts, copies, depth, paper, points, relu, sweeps
from samples.study.points import HERE, LARGE

HERE_FOLDER = Path(__file__).parent
PAGE = ROOT / "docs/abstraction_study.md"
MANY = (512, 64)
"""The point with many small images."""
LATER = "torchscript_cpp"
"""The level that was measured in a later turn than the others."""
TIMELINES = ("eager", "libtorch", "torchscript", "cudnn")


def main() -> None:
    """Write the page and its charts."""
    text, drawn = make()
    PAGE.write_text(text)
    save(drawn, PAGE.with_suffix(""))


def make() -> tuple[str, dict[str, alt.TopLevelMixin]]:
    """Return the page as Markdown, and its charts by name."""
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
    return render(HERE_FOLDER / "page.md.j2", values, _verdicts(values)), drawn


def _csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides={"checksum": pl.Float64})


def _calls(captures: Mapping[str, tl.Trace]) -> dict[str, Any]:
    """Return stacks and timelines: calls to cuDNN, frames in common, and a step's time."""
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
    found = copies.copies_of(captures)
    kept = {
        (c.level, c.batch): c
        for c in found
        if (c.dtype, c.memory, c.cast_from, c.model_dtype)
        == ("float32", "pageable", None, "float32")
    }
    one, two = kept["eager", 16], kept["eager", 32]
    return {
        "copies": found,
        "same_copies": {
            batch: {level: c for (level, size), c in kept.items() if size == batch}
            for batch in (16, 32)
        },
        "copied_by": [paper.NAMES[level] for level, batch in kept if batch == 32],
        "copy": {16: one, 32: two},
        "copy_ratio": Range(*_low_high(two), two.spread[1]).over(
            Range(*_low_high(one), one.spread[1])
        ),
        "pinned": [
            Range(*_low_high(a), a.spread[1]).over(Range(*_low_high(b), b.spread[1]))
            for a, b in copies.pageable_and_pinned(found)
        ],
        "pinned_copies": copies.pageable_and_pinned(found),
    }


def _low_high(copy: copies.Copy) -> tuple[float, float]:
    return copy.spread[0], copy.ms


def _relu(captures: Mapping[str, tl.Trace], counters: pl.DataFrame) -> dict[str, Any]:
    """Return grids of the ReLU kernels, and Nsight Compute's counters for the largest one."""
    largest = {
        words: kernel for name, words in relu.CASES if (kernel := relu.largest(captures[name]))
    }
    one, two = (relu.largest(captures[name]) for name in (relu.BASE, relu.LARGER))
    assert one is not None
    assert two is not None
    spans = [Range(kernel.spread[0], kernel.mean_us, kernel.spread[1]) for kernel in (one, two)]
    share, place, n_kernels = relu.share_and_place(captures[relu.LARGER])
    flat = [
        k.grid
        for name in ("nsys_eager", "nsys_cudnn", relu.BASE)
        if (k := relu.largest(captures[name]))
    ]
    return {
        "grids": {words: (kernel, relu.short(kernel.name)) for words, kernel in largest.items()},
        "relu_ratio": spans[1].over(spans[0]),
        "blocks_ratio": _blocks(two) / _blocks(one),
        "relu_share": share,
        "relu_place": place,
        "n_kernels": n_kernels,
        "flat": flat,
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
                f"{batch}×{size}²",
                name,
                fixed(point and point.ms, 4),
                f"{time.middle:.4f} ({time.low:.4f} to {time.high:.4f})",
                fixed(point and point.used, 0),
                fixed(used, 0),
                fixed(point and point.util, 0),
                fixed(util, 0),
            )
            for batch, size, name, point, time, used, util in v["points"]
        ],
        "copy_rows": [
            (
                paper.NAMES[c.level],
                c.batch,
                c.dtype,
                c.memory,
                f"{c.n_bytes:,.0f}",
                fixed(c.ms, 3),
                fixed(c.bandwidth, 1),
                f"to {c.model_dtype}" if c.cast_from else None,
            )
            for c in v["copies"]
        ],
        "grid_rows": [
            (words, kernel.grid, kernel.n_calls, fixed(kernel.mean_us, 1), f"`{name}`")
            for words, (kernel, name) in v["grids"].items()
        ],
        "leaner_counts": {level: (sum(of), len(of)) for level, of in leaner.items()},
        "leaner_not": [f"{b}×{s}²" for (b, s), (a, e) in v["leaner"]["cudnn"].items() if a >= e],
    }


def _blocks(kernel: relu.Largest) -> int:
    return kernel.grid[0] * kernel.grid[1] * kernel.grid[2]


def _sweeps(measured: pl.DataFrame) -> dict[str, Any]:
    """Return time and memory over batch size and resolution."""
    others = sweeps.eager_over_others(measured)
    table = [
        (batch, size, paper.NAMES[level], point, time, used, util)
        for batch, size in (HERE, MANY, LARGE)
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
        "gap": {at: points.ratio(measured, at) for at in (HERE, MANY, LARGE)},
        "published": {
            at: [sweeps.published_ratio(at, corrected=c) for c in (False, True)]
            for at in (HERE, MANY, LARGE)
        },
        "orders": sweeps.orders(measured),
        "orders_python": sweeps.orders(measured, paper.LEVELS),
        "others": others,
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


def _published(level: str, batch: int, size: int) -> paper.Point | None:
    """Return the paper's time of a level, or None. Its TorchScript runs in C++."""
    if level in paper.LIKE.values():
        return None
    return paper.SWEEPS.get((paper.LIKE.get(level, level), "infer", batch, size))


def _turns(first: pl.DataFrame, later: pl.DataFrame) -> list[float]:
    """Return eager's inference times in the later turn divided by those in the first, sorted."""
    both = first.join(later, on=["level", "mode", "batch", "size"], suffix="_later")
    same = both.filter(level="eager", mode="infer")
    return (same["ms_later"] / same["ms"]).sort().to_list()


def _sums_off(measured: pl.DataFrame) -> float:
    """Return by how much the levels' sums of absolute logits differ from eager's, at most."""
    sums = measured.filter(mode="infer", batch=HERE[0], size=HERE[1])
    eager = sums.filter(level="eager")["checksum"][0]
    return float((sums["checksum"] / eager - 1).abs().max() or 0)  # type: ignore[arg-type]


def _verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the paper, by the statement's key on the page."""
    gap, calls = v["gap"], v["calls"]
    same_bytes = all(
        len({round(c.n_bytes) for c in of.values()}) == 1 for of in v["same_copies"].values()
    )
    # Compared with all other levels: surely slower than each, surely faster than each, or neither.
    slowest = [
        True
        if min(r.low for r in ratios) > 1
        else False
        if max(r.high for r in ratios) < 1
        else None
        for ratios in v["others"].values()
    ]
    leaner = {level: [a < b for a, b in pairs.values()] for level, pairs in v["leaner"].items()}
    return {
        "python_longer": judge(calls["eager"] > calls["libtorch"]),
        "coincide": judge(v["below"][0] == v["below"][1] == v["in_common"] - 1),
        "script_fraction": Verdict.INCOMPARABLE,  # the paper mixes release and debug builds
        "direct": judge(calls["cudnn"] == 1),
        "one_function": judge(not v["symbols"]),
        "twice_bytes": Verdict.UNSEEN if same_bytes else Verdict.HOLDS,
        "twice_time": judge(agrees(v["copy_ratio"].middle, 2)),
        "pinned": judge(all(r.middle > 2 * (1 - NEAR) for r in v["pinned"])),
        "blocks_time": judge(agrees(v["relu_ratio"].middle, paper.RELU[0][1] / paper.RELU[1][1])),
        "two_dimensions": Verdict.UNSEEN
        if all(g[1:] == (1, 1) for g in v["flat"])
        else Verdict.HOLDS,
        "relu_second": judge(v["relu_place"] == 2 and agrees(v["relu_share"], 0.12)),
        # Hits are fewer in L1 but not in L2, and counters do not show which matters
        "cache_misses": Verdict.OPEN,
        "order": judge_cases(v["orders"]),
        "slowest": judge_cases(slowest),
        "several_times": Verdict.HOLDS if above(gap[HERE], 2) else Verdict.UNSEEN,
        "narrows_images": judge(more(gap[HERE], gap[LARGE])),
        "narrows_batch": judge(more(gap[HERE], gap[MANY])),
        "same_memory": judge_cases(agrees(r, 1) for r in v["memory_ratios"]),
        "cudnn_leaner": judge_cases(leaner["cudnn"]),
        "script_leaner": judge_cases(
            None if a == b else a < b for a, b in v["leaner"][LATER].values()
        ),
        # Their program decodes images while it measures, ours has no loader
        "idle": Verdict.INCOMPARABLE,
        "script_infers": Verdict.UNSEEN,  # inference only: training was not tried there
    }


if __name__ == "__main__":
    main()
