"""Write LeNet's page from its captures: `python -m samples.lenet.analyse`.

Reads samples/lenet/captures, which run.py wrote, and writes docs/lenet.md with its details and
charts. The text is page.md.j2 and details.md.j2; its numbers are from the captures and from the
levels' source code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samples.kit.page import ROOT, Made, fixed, render
from samples.kit.significance import (
    Range,
    Verdict,
    above,
    correlated,
    judge,
    judge_cases,
    more,
    shared,
    spearman,
)
from samples.lenet.charts import charts
from samples.lenet.levels import KINDS
from samples.lenet.net import SIZES
from samples.lenet.rows import CELLS, Run, read

HERE = Path(__file__).parent
PAGE = ROOT / "docs/lenet.md"


def main() -> None:
    """Write the page and its charts."""
    make().write(PAGE)


def make() -> Made:
    """Return the page with its charts."""
    run = read(HERE / "captures")
    values = facts(run)
    return Made(
        *render(HERE, values, verdicts(values)),
        charts(run),
    )


def facts(run: Run) -> dict[str, Any]:
    """Return the numbers that the page mentions."""
    return {
        "about": {device: about["versions"] for device, about in run.about.items()},
        "lengths": run.lengths,
        "sizes": SIZES,
        "lines_and_time": {
            (size, copies): lines_and(run, size, copies=copies)
            for size in SIZES
            for copies in (True, False)
        },
        "without_cudnn": {
            copies: lines_and(run, "large", copies=copies, without="cudnn")
            for copies in (True, False)
        },
        "depth_and_time": depth_and_time(run),
        "lines_and_overhead": lines_and_overhead(run),
        "gpu_wins": gpu_wins(run),
        "keras": keras_beside(run),
        "keras_over_cudnn": [
            pick(ratios["cudnn"].middle for ratios in keras_beside(run).values())
            for pick in (min, max)
        ],
        "slower_than_jax_ops": sum(
            above(ratios["jax_ops"]) is True for ratios in keras_beside(run).values()
        ),
        "kernel_us": {
            name: (run.row("cuda", name) or {})["kernel_ms"] * 1e3 for name in run.levels("cuda")
        },
        "labels": {name: kind.label for name, kind in KINDS.items()},
        "source_pair": [
            run.range("cpu", name, copies=True)
            for name in ("keras_tensorflow_predict", "tf_function")
        ],
        "naive": {
            (size, other): (run.range("cuda", "cudnn", size), run.range("cuda", other, size))
            for size in SIZES
            for other in ("libtorch", "jax_jit")
        },
        "fused": {size: run.range("cuda", "cudnn_fused", size) for size in SIZES},
        "graphs": {
            name: run.range("cuda", name)
            for name in ("cudnn_fused", "cudnn_graph", "compile", "reduce_overhead")
        },
        "largest_error": max(row.get("relative_error", 0) for row in run.rows.values()),
        "shares": shares(run),
        "same_kernels": [
            (
                KINDS[name].label,
                run.depths[name]["calls"],
                fixed((run.row("cuda", name) or {})["kernel_ms"] * 1e3, 1),
                _ms(run.range("cuda", name)),
                "; ".join(fixed(ms, 3) for ms in run.earlier[f"{name} large 1"]),
            )
            for name in ("libtorch", "torchscript", "eager")
        ],
        "rows": {device: _rows(run, device) for device in ("cuda", "cpu")},
        "first": [
            (
                KINDS[name].label,
                *(
                    fixed((run.row(device, name) or {}).get("first_ms"), 1)
                    for device in ("cuda", "cpu")
                ),
            )
            for name in KINDS
        ],
    }


def lines_and(run: Run, size: str, *, copies: bool, without: str = "-") -> tuple[float, int]:
    """Correlate lines of code with the time of one image on the GPU (rank correlation).

    Also return the number of levels. Levels with names that begin with `without` are left out.
    """
    times = {
        name: found.middle
        for name in run.levels("cuda")
        if not name.startswith(without) and (found := run.range("cuda", name, size, copies=copies))
    }
    return spearman(
        [run.lengths[name].lines for name in times],
        list(times.values()),
    ), len(times)


def depth_and_time(run: Run) -> tuple[float, int]:
    """Correlate the number of library calls with the time of one image.

    It is for the larger network, without copies.
    """
    times = {name: r.middle for name in run.levels("cuda") if (r := run.range("cuda", name))}
    return spearman(
        [run.depths[name]["calls"] for name in times],
        list(times.values()),
    ), len(times)


def shares(run: Run) -> dict[str, float]:
    """Return the share of a call with running kernels: one image, larger network, no copies."""
    return {
        name: (run.row("cuda", name) or {})["kernel_ms"] / time.middle
        for name in run.levels("cuda")
        if (time := run.range("cuda", name))
    }


def lines_and_overhead(run: Run) -> tuple[float, int]:
    """Correlate lines of code with the share of a call without running kernels."""
    by_level = shares(run)
    lines = [run.lengths[name].lines for name in by_level]
    return spearman(lines, [1 - share for share in by_level.values()]), len(by_level)


def gpu_wins(run: Run) -> tuple[int, int, int]:
    """Count rows of levels that are faster on the GPU, rows that are slower, and all rows."""
    both = set(run.levels("cpu")) & set(run.levels("cuda"))
    answers = [
        more(cpu, gpu)
        for size, batch in CELLS
        for level in both
        for cpu, gpu in [[run.range(d, level, size, batch, copies=True) for d in ("cpu", "cuda")]]
        if cpu and gpu
    ]
    return answers.count(True), answers.count(False), len(answers)


def keras_beside(run: Run) -> dict[str, dict[str, Range]]:
    """Return Keras's time of one image over each other level's, on the GPU."""
    ratios: dict[str, dict[str, Range]] = {}
    for name in run.levels("cuda"):
        copies = name.endswith("predict")
        keras_time = run.range("cuda", name, copies=copies)
        if name.startswith("keras") and keras_time:
            ratios[name] = {
                other: keras_time.over(beside)
                for other in run.levels("cuda")
                if not other.startswith("keras")
                and (beside := run.range("cuda", other, copies=copies))
            }
    return ratios


def _rows(run: Run, device: str) -> list[tuple[Any, ...]]:
    """Return the table of a device: code, calls, kernels, and times of both networks."""
    rows = []
    for name in run.levels(device):
        row = run.row(device, name) or {}
        gpu = []
        if device == "cuda":
            us = fixed(row["kernel_ms"] * 1e3, 1)
            gpu = [run.depths[name]["calls"], f"{row['kernels']:g}", us]
        rows.append(
            (
                KINDS[name].label,
                *gpu,
                _ms(run.range(device, name, copies=True)),
                *(
                    fixed(time and time.middle, 3)
                    for size, batch in CELLS[1:]
                    for time in [run.range(device, name, size, batch, copies=True)]
                ),
            )
        )
    return rows


def _ms(time: Range | None) -> str | None:
    return time and f"{time.middle:.3f} ({time.low:.3f} to {time.high:.3f})"


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the verdict on each statement of the source, by the statement's key on the page."""
    lengths = v["lengths"]
    frameworks = [n for name, n in lengths.items() if not name.startswith("cudnn")]
    longest = all(
        getattr(lengths["cudnn"], of) > max(getattr(n, of) for n in frameworks)
        for of in ("lines", "statements")
    )
    high, low = lengths["keras_tensorflow_predict"], lengths["tf_ops"]
    shorter = {high.lines < low.lines, high.statements < low.statements}
    falls = {correlated(-found, n) for found, n in v["lines_and_time"].values()}
    found, n = v["lines_and_overhead"]
    return {
        "longest": judge(longest),
        "shortest": shared(judge(is_shorter) for is_shorter in shorter),
        "gpu": Verdict.UNTESTABLE,  # the CPU is another machine's
        "higher_slower": judge(falls.pop() if len(falls) == 1 else None),
        "keras_pair": Verdict.UNTESTABLE,  # it is said of the GPU, where TensorFlow was not run
        "keras_gpu": judge_cases(above(ratios["cudnn"]) for ratios in v["keras"].values()),
        "naive": Verdict.UNTESTABLE,  # neither their program nor TensorFlow on the GPU was run
        "overhead": judge(correlated(-found, n)),
    }


if __name__ == "__main__":
    main()
