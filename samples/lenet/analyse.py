"""Write LeNet's page from its captures: `python samples/lenet/analyse.py`.

Reads samples/lenet/captures (what run.py wrote) and writes docs/lenet.md with its charts. Every
sentence with a number is made from the captures, from the levels' own code, and from there.py,
which holds what the source says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The pieces of a page are the abstraction study's.
sys.path.append(str(ROOT / "samples/study"))

import there  # noqa: E402
from charts import figures  # noqa: E402
from levels import KINDS  # noqa: E402
from net import SIZES  # noqa: E402
from page import Finding, listed, table  # noqa: E402
from rows import Run, read  # noqa: E402
from verdicts import CELLS, findings, quartiles  # noqa: E402

NOTICE = (
    "<!-- Written by samples/lenet/analyse.py from samples/lenet/captures; edit those instead. -->"
)
TITLE = "# One small network at every level of API"
WORDS = {True: "holds", False: "**no longer**", None: "cannot be told"}
DEVICES = {"cuda": "GPU", "cpu": "CPU"}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--captures", type=Path, default=ROOT / "samples/lenet/captures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/lenet.md")
    options = parser.parse_args()
    run = read(options.captures)
    folder = options.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures(run):
        figure.chart.save(folder / f"{figure.name}.svg")
    options.page.write_text(page(run, folder.name))


def page(run: Run, folder: str) -> str:
    """The page as Markdown; `folder`: where its charts lie."""
    drawn = {
        f.name: f"![{f.caption}]({folder}/{f.name}.svg)\n\n*{f.caption}*" for f in figures(run)
    }
    parts = [
        TITLE,
        NOTICE,
        introduction(run),
        "## What holds today, and what does not",
        verdicts(findings(run)),
        "## What the source compared",
        there.FLAWS,
        "## The network",
        *network(run),
        "## Code length",
        *code(run),
        drawn["lines"],
        "## Time to inference",
        *times(run),
        drawn["times"],
        "## Kernels and launches",
        *kernels(run),
        "## Calls between a level and cuDNN",
        *depths(run),
        drawn["length_and_time"],
        "## What was not measured",
        not_measured(run),
        "## Commands",
        commands(run),
    ]
    return "\n\n".join(parts) + "\n"


def introduction(run: Run) -> str:
    """The introduction: the subject of the page and the machines."""
    versions = {
        label: ", ".join(
            f"{name} {version}" for name, version in run.about[device]["versions"].items()
        )
        for device, label in DEVICES.items()
        if device in run.about
    }
    here = "; ".join(f"{label}: {text}" for label, text in versions.items())
    return (
        f"{there.CITATION}, wrote LeNet on cuDNN, in TensorFlow and in Keras, and compared code"
        " length and the time of an inference. This page does so with one network at every level"
        " of today's software. The programs are in [samples/lenet](../samples/lenet/README.md),"
        f" and `make lenet` makes the page from the captures there.\n\nThere: {there.HARDWARE}."
        f" Here: {here}."
    )


def verdicts(found: Sequence[Finding]) -> str:
    """The source's findings beside today's."""
    rows = [[f.claim, f"{f.then} ({f.where})", f.now, WORDS[f.holds], f.why] for f in found]
    return table(["finding", "there", "here", "", "why"], rows)


def network(run: Run) -> Iterable[str]:
    """The layers, and how near each level's logits come to those in float64."""
    yield (
        "`conv 5×5, ReLU, pool 2, conv 5×5, ReLU, pool 2, dense, ReLU, dense 10` over images of"
        " 28×28, at every level in float32 without TF32. "
        + " ".join(
            f"The {size.name} network is that of the source's {size.source} program: {size.maps[0]}"
            f" and {size.maps[1]} maps, padded by {size.padding}, {size.hidden} in the dense layer,"
            f" {size.n_parameters:,} parameters."
            for size in SIZES.values()
        )
        + " Weights and images are made by a hash, the same at every level; Keras and TensorFlow"
        " get them in their own layout, channels last. Softmax and dropout are left out: logits"
        " are compared."
    )
    heads = [
        "level",
        "device",
        "parameters",
        "",
        "checksum of 1 image",
        "",
        "128 images",
        "",
        "largest error",
    ]
    rows = []
    for device, label in DEVICES.items():
        for level in run.levels(device):
            cells = {cell: run.row(device, level, *cell) or {} for cell in CELLS}
            error = max(row.get("relative_error", 0) for row in cells.values())
            parameters = [f"{cells[size, 1].get('n_parameters', 0):,}" for size in SIZES]
            sums = [
                f"{cells[size, batch].get('checksum', 0):.4f}"
                for batch in (1, 128)
                for size in SIZES
            ]
            rows.append([KINDS[level].label, label, *parameters, *sums, f"{error:.1e}"])
    yield (
        "Large and small network beside each other; the error is the largest difference from logits"
        " in float64 by numpy, in parts of the largest logit, over both networks and both batches."
        " The checksum is the sum of the logits' magnitudes:"
    )
    yield table(heads, rows)


def code(run: Run) -> Iterable[str]:
    """Code length by level."""
    yield (
        "Of the network, its weights' way into it, and its inference; without blank lines,"
        " comments, docstrings, imports and what all levels share. Statements are Python's by its"
        " grammar, in C++ semicolons; bytes are those of the marked lines as they stand, and the"
        " file's, which levels of one framework share:"
    )
    heads = ["level", "lines", "statements", "bytes", "file", "its bytes"]
    rows = [
        [kind.label, n.lines, n.statements, f"{n.n_bytes:,}", f"`{kind.file}`", f"{n.file_bytes:,}"]
        for name, kind in KINDS.items()
        for n in [run.lengths[name]]
    ]
    yield table(heads, rows)


def times(run: Run) -> Iterable[str]:
    """Quartiles of an inference by level, device, network and batch."""
    yield (
        "Milliseconds by the host's clock around one call that is waited for: median, and quartiles"
        " in brackets, over all calls of 10 rounds of 200, or as many as fit in the time of a round"
        " (the least number of calls is beside); on the GPU one image and 128 were measured in"
        " sessions of their own. With copies: from images in the host's memory to logits there."
        " `predict` copies by itself, so its call is the time with copies. First: the first"
        " inference in its process of that network and batch, with copies; compilers and libraries"
        " prepare in it. Earlier: the median call (of `predict` with copies) of 15 in a short run,"
        " and for one image then of up to 2,000 in a longer one, on other machines of the kind:"
        " quartiles are those of one process, and another may differ by more. C++ levels are called"
        " from Python through ctypes, by the same clock."
    )
    for device, label in DEVICES.items():
        for size, batch in CELLS:
            levels = run.levels(device)
            if not levels:
                continue
            yield f"**{label}, {size} network, {batch} image{'s' if batch > 1 else ''}**"
            earlier = ["earlier, ms"] if device == "cuda" else []
            heads = ["level", "call, ms", "with copies, ms", "first, ms", "calls", *earlier]
            yield table(heads, [_time_row(run, device, level, (size, batch)) for level in levels])


def _time_row(run: Run, device: str, level: str, cell: tuple[str, int]) -> list[Any]:
    row = run.row(device, level, *cell)
    if row is None:
        return [KINDS[level].label, "not measured", "not measured", None, None, None]
    n = min(time["n"] for time in (row.get("call"), row["copies"]) if time)
    call = quartiles(row["call"]) if "call" in row else "copies by itself"
    made = [KINDS[level].label, call, quartiles(row["copies"]), f"{row['first_ms']:,.1f}", f"{n:,}"]
    earlier = run.earlier.get(f"{level} {cell[0]} {cell[1]}") if device == "cuda" else None
    return made if earlier is None else [*made, _earlier(earlier)]


def _earlier(medians: Sequence[float]) -> str:
    return "; ".join(f"{ms:.3f}" for ms in medians)


def kernels(run: Run) -> Iterable[str]:
    """Kernel time, kernels and launches of an inference."""
    yield (
        "By torch.profiler, which sees what the whole process runs on the GPU, whoever starts it;"
        " 10 inferences without the copies (of `predict`: with them). The share is the time of"
        " kernels over the median of the call, which was taken without the profiler. Launches are"
        " the calls that start kernels or graphs; unlinked are kernels of none of them: parts of"
        " graphs that XLA launches through the driver, which the profiler does not tell:"
    )
    heads = [
        "level",
        "network",
        "images",
        "kernels",
        "launches",
        "unlinked",
        "kernel time, µs",
        "share of the call",
    ]
    rows = []
    for level in run.levels("cuda"):
        for size, batch in CELLS:
            row = run.row("cuda", level, size, batch) or {}
            if "kernel_ms" not in row:
                rows.append(
                    [KINDS[level].label, size, batch, "not measured", None, None, None, None]
                )
                continue
            time = row.get("call") or row["copies"]
            share = f"{row['kernel_ms'] / time['median_ms']:.0%}"
            counts = [f"{row[name]:g}" for name in ("kernels", "launches", "unlinked")]
            rows.append(
                [KINDS[level].label, size, batch, *counts, f"{row['kernel_ms'] * 1e3:,.1f}", share]
            )
    yield table(heads, rows)


def depths(run: Run) -> Iterable[str]:
    """Calls from a level's inference to the library."""
    yield (
        "By cuda-gdb, as in [the abstraction study](abstraction_study.md): calls from the level's"
        " function `infer` to the library's function that it comes to first, Python's frames merged"
        " in; the first convolution of an inference after the first ones. What is replayed as a"
        " CUDA graph calls no cuDNN: its way ends at the graph's launch."
    )
    rows = []
    for level in run.levels("cuda"):
        both = run.depths.get(level, {}), run.small_depths.get(level, {})
        calls = [
            "no stack" if not one else "another thread" if one["calls"] is None else one["calls"]
            for one in both
        ]
        rows.append(
            [
                KINDS[level].label,
                f"`{both[0]['symbol']}`" if both[0] else None,
                *calls,
                both[0].get("frames"),
            ]
        )
    yield table(
        [
            "level",
            "comes to",
            "calls, large network",
            "small network",
            "frames of the whole stack, large",
        ],
        rows,
    )
    yield same_ways(run)
    yield from same_kernels(run)


def same_ways(run: Run) -> str:
    """Whether both networks come to the library by as many calls, and whether to the same function."""
    both = [name for name in run.levels("cuda") if name in run.depths and name in run.small_depths]
    other = [
        KINDS[name].label
        for name in both
        if any(
            run.depths[name][column] != run.small_depths[name][column]
            for column in ("calls", "symbol")
        )
    ]
    told = f"In all but {listed(other)} of" if other else "In"
    return (
        f"{told} {len(both)} levels the same number of calls lead to the same function with either"
        " network."
    )


def same_kernels(run: Run) -> Iterable[str]:
    """Levels that run the very same kernels: between them only the way there differs."""
    levels = [
        name for name in run.levels("cuda") if run.kernels.get(name) == run.kernels.get("libtorch")
    ]
    if "libtorch" not in run.kernels or len(levels) < 2:
        return
    yield (
        f"Does depth cost time? {listed([KINDS[name].label for name in levels])} run the same"
        f" {run.rows['cuda', 'libtorch', 'large', 1]['kernels']:g} kernels an inference, by name"
        " (`trace_…`, one image, larger network), and differ in the way to them alone:"
    )
    rows = []
    for name in levels:
        row, one = run.row("cuda", name) or {}, run.depths.get(name, {})
        kernel_time, earlier = (
            f"{row['kernel_ms'] * 1e3:.1f}",
            _earlier(run.earlier[f"{name} large 1"]),
        )
        rows.append(
            [KINDS[name].label, one.get("calls"), kernel_time, quartiles(row["call"]), earlier]
        )
    yield table(["level", "calls", "kernel time, µs", "call, ms", "earlier, ms"], rows)
    if all(name in run.depths for name in levels):
        ordered = sorted(levels, key=lambda name: run.depths[name]["calls"])
        now = [run.rows["cuda", name, "large", 1]["call"]["median_ms"] for name in ordered]
        runs = [now, *zip(*(run.earlier[f"{name} large 1"] for name in ordered), strict=True)]
        n_ordered = sum(list(medians) == sorted(medians) for medians in runs)
        yield f"In {n_ordered} of {len(runs)} runs the medians are in the order of the calls."


def not_measured(run: Run) -> str:
    """The section on what was not measured, with reasons."""
    lines = [NOT_MEASURED]
    for device, about in ((device, run.about[device]) for device in DEVICES if device in run.about):
        for kind in ("absent", "failures"):
            lines += [
                f"- {DEVICES[device]}, `{name}`: {why}" for name, why in about.get(kind, {}).items()
            ]
    return "\n".join(lines)


NOT_MEASURED = """\
- TensorFlow on the GPU: the machine with the GPU has no network, and a build of TensorFlow with CUDA is larger than
  what could be carried there. Its cells stay empty; JAX jit stands for XLA, no more.
- cuDNN, CUDA graphs and torch.compile's reduce-overhead on the CPU: they are the GPU's.
- The source's programs as they were: cuDNN without dense layers, trained weights, and the accuracy of any of them.
- How easy each API is to learn and to write, which the report tells of its authors (Problems faced): counted here are
  lines, statements and bytes.
- Training, half precision, TF32, and energy.
- CPU and GPU in one machine. The CPU rows are of another one, of 2 cores that other programs share; orders within a
  machine's tables may be compared, heights between the two not."""


def commands(run: Run) -> str:
    """Versions and machines of the captures."""
    about = run.about["cpu"]
    threads = "".join(
        f"{name}={n} " for name, n in about["versions"].items() if name == "OMP_NUM_THREADS"
    )
    return (
        "One command repeats it, on each of the two machines: `python samples/lenet/run.py --out"
        " out/lenet --seconds 20`. Ours were had for minutes at a time, so the captures were taken"
        " by these:\n\n```\npython samples/lenet/run.py --out out/lenet --device cuda --quick"
        " --debuggers 5\npython samples/lenet/run.py --out out/lenet --device cuda --parts"
        " build,levels --seconds 0.9\npython samples/lenet/run.py --out out/lenet --device cuda"
        " --parts build,levels --batches 1 --seconds 16\npython samples/lenet/run.py --out"
        f" out/lenet --device cuda --parts stacks --sizes small --debuggers 14\n{threads}python"
        " samples/lenet/run.py --out out/lenet --device cpu --seconds"
        f" {about['seconds']:g}\n```\n\nThe first gave traces and the stacks of the large network,"
        " the second the times of 128 images on the GPU (those of one image are its earlier ones"
        " above), the third those of one image, the fourth the stacks of the small network; each"
        " on a machine of one kind on the same day. The first ran in steps: the levels in Python"
        " while those in C++ were compiled, then these, then the debuggers."
    )


if __name__ == "__main__":
    main()
