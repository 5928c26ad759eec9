"""Write the thesis's page from its captures: `python samples/thesis/analyse.py`.

Reads samples/thesis/captures (results.json and the traces that run.py wrote) and writes
docs/thesis.md with its charts. Every sentence with a number is made from the captures and from
there.py, which holds the thesis's figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The pieces of a page are the abstraction study's.
sys.path.append(str(ROOT / "samples/study"))

import by_timers  # noqa: E402
import costs  # noqa: E402
import curves  # noqa: E402
import layerwise  # noqa: E402
import oracles  # noqa: E402
import single  # noqa: E402
import subtracted  # noqa: E402
import there  # noqa: E402
import whole  # noqa: E402
from figures import Run, kernel_speedup, read, speedup, spread  # noqa: E402
from page import Finding, Section, table  # noqa: E402

NOTICE = (
    "<!-- Written by samples/thesis/analyse.py from samples/thesis/captures; edit those"
    " instead. -->"
)
TITLE = "# What torch.compile gains in the vision domain, layer by layer"
COMMANDS = """\
python samples/thesis/run.py --out out/thesis --minutes 9.1 --timings alexnet squeezenet1_1 resnet50
python samples/thesis/run.py --out out/thesis --minutes 8.6 --tune --timings mobilenet_v2
python samples/thesis/run.py --out out/thesis --minutes 2.75 --tune --timings \\
  --models alexnet squeezenet1_1 resnet50 mobilenet_v2
python samples/thesis/run.py --out out/thesis --minutes 8.9 --tune --timings \\
  --models squeezenet1_1 resnet50 mobilenet_v2 googlenet densenet121
python samples/thesis/run.py --out out/thesis --minutes 8.9 --tune --timings --models googlenet densenet121
python samples/thesis/run.py --out out/thesis --minutes 6.9 --tune --models googlenet --timings googlenet
python samples/thesis/run.py --out out/thesis --minutes 8.7 --tune --tf32 --models resnet50 \\
  --timings densenet121 resnet50 mobilenet_v2 googlenet
python samples/thesis/run.py --out out/thesis --minutes 8.7 --tune --models \\
  --timings mobilenet_v2 googlenet resnet50 densenet121
python samples/thesis/run.py --out out/thesis --minutes 9.2 --tune --models --timings resnet50 densenet121
python samples/thesis/run.py --out out/thesis --minutes 7.3 --time-s 75 --plan-s 0 --models --timings
python samples/thesis/run.py --out out/thesis --minutes 4.5 --time-s 20 --plan-s 45 --timings --subtract
python samples/thesis/run.py --out out/thesis --minutes 1 --modes
python samples/thesis/run.py --out out/thesis --minutes 6.2 --time-s 15 --plan-s 60 --timings --subtract \\
  --models densenet121
python samples/thesis/run.py --out out/thesis --minutes 1.9 --modes
python samples/thesis/run.py --out out/thesis --minutes 1.6 --modes --sizes 4096"""
REPEAT = (
    "One command repeats everything, where a machine can be had for two hours: `python"
    " samples/thesis/run.py --out out/thesis --minutes 30 --all`. Ours were had for minutes at a"
    " time, so the captures were taken by these:"
)
REMARK = (
    "The second tuned the models side by side, as an earlier form of the script did, and had none"
    " of them ready in time: only the layers of MobileNetV2 came of it. The third had AlexNet"
    " ready. It, the next three and the eighth to tenth ran on other machines of the kind."
    " GoogLeNet was not ready at the end of the fourth; its times are those of the sixth, which"
    " began with empty caches. The layers of DenseNet-121, GoogLeNet, MobileNetV2 and ResNet-50 on"
    " the CPU are those of the eighth; the single operations are those of the tenth, taken in a"
    " session of its own. The last five are three sessions of 22 November 2026. In the first"
    " DenseNet-121 was not compiled in time for its layer subtraction, nor were more than the three"
    " matrix products on the GPU in every mode; the second has these, and began with convolutions"
    " and the CPU; the third has the products of 4,096 on the CPU."
)
WORDS = {True: "holds", False: "**no longer**", None: "cannot be told"}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--captures", type=Path, default=ROOT / "samples/thesis/captures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/thesis.md")
    options = parser.parse_args()
    run = read(options.captures)
    made = sections(run)
    folder = options.page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in (figure for section in made for figure in section.figures):
        figure.chart.save(folder / f"{figure.name}.svg")
    options.page.write_text(page(made, run, folder.name))


def sections(run: Run) -> list[Section]:
    """The sections of the page."""
    return [
        whole.out_of_the_box(run),
        layerwise.saved(run),
        layerwise.layout(run),
        layerwise.layers(run),
        *by_timers.section(run),
        *curves.section(run),
        oracles.theory(run),
        oracles.custom(run),
        *subtracted.section(run),
        single.single(run),
        layerwise.attribution(run),
        costs.profiling(run),
        whole.not_measured(run),
    ]


def page(made: Sequence[Section], run: Run, folder: str) -> str:
    """The page as Markdown; `folder`: where its charts lie."""
    findings = [finding for section in made for finding in section.findings]
    parts = [TITLE, NOTICE, _introduction(run), summary(findings, run)]
    parts += ["## What holds today, and what does not", verdicts(findings)]
    for section in made:
        parts += [f"## {section.title}", *section.blocks]
        parts += [
            f"![{f.caption}]({folder}/{f.name}.svg)\n\n*{f.caption}*" for f in section.figures
        ]
    return "\n\n".join([*parts, "## Commands", f"{REPEAT}\n\n```\n{COMMANDS}\n```", REMARK]) + "\n"


def verdicts(findings: Sequence[Finding]) -> str:
    """The thesis's findings beside today's."""
    rows = [[f.claim, f"{f.then} ({f.where})", f.now, WORDS[f.holds], f.why] for f in findings]
    return table(["finding", "there (V100, torch 2.3)", "here (H200, torch 2.11)", "", "why"], rows)


def summary(findings: Sequence[Finding], run: Run) -> str:
    """The answer in a few sentences, from the captures."""
    parts = run.models()
    by_clock = [found.middle for part in parts.values() if (found := speedup(part, "default"))]
    counts = {word: sum(f.holds is held for f in findings) for held, word in WORDS.items()}
    return (
        f"In short: compiled models are {spread(by_clock)} times as fast as eager ones by the"
        f" clock, and {spread(kernel_speedup(run, model) for model in parts)} times by the GPU time"
        " of their kernels. The gain is not Triton's convolutions, of which there are none, but"
        " what is fused between convolutions, layout and other cuDNN kernels. A mixture of eager"
        " and compiled layers gains nothing over the compiled model: a layer compiled alone is"
        " called by the host as a region of its own, which costs more than most layers' kernels"
        f" take. Of the thesis's findings below {counts['holds']} hold today,"
        f" {counts['**no longer**']} no longer do, and of {counts['cannot be told']} it cannot be"
        " told: their spreads overlap, or what was compared is not alike. Ranges in brackets are"
        " what the quartiles allow."
    )


def _introduction(run: Run) -> str:
    part = next(iter(run.models().values()))
    versions = ", ".join(f"{name} {version}" for name, version in run.results["versions"].items())
    return (
        f"{there.CITATION} asked, for six models, what torch.compile gains over eager execution,"
        " and whether a mixture chosen layer by layer gains more. This page repeats its"
        f" measurements in inference at batch {part['batch']} (our choice),"
        f" {part['side']}×{part['side']}, float32. How they were taken is in"
        " [samples/thesis](../samples/thesis/README.md); the page is made from the captures there"
        " by `make thesis`. Its numbers are the captures'; the thesis's are quoted, with the"
        f" section or figure they stand in.\n\nThere: {there.HARDWARE}. Here: one NVIDIA H200 with"
        f" 16 cores of an Intel Xeon, in October and November 2026; {versions}. Times do not"
        " compare across such machines; ratios and orders within one may. CUDA means eager"
        " execution, Triton compiled by torch.compile, as in the thesis, whosever kernels run."
    )


if __name__ == "__main__":
    main()
