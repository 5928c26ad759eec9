"""Write the cross-layer page from the bundled captures: `python -m samples.cross_layer.analyse`.

Reads the captures in samples/ and writes docs/cross_layer.md with its details and charts. The text
is page.md.j2 and details.md.j2; every number is made from the captures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import tracelens as tl
from samples.cross_layer.charts import charts
from samples.cross_layer.runs import LEVELS, LINEAR, Reuse, Run, by_key, percent, read, reuse
from samples.kit.page import ROOT, Made, as_csv, fixed, render, unique
from samples.kit.significance import Verdict, judge, judge_cases
from tracelens.schemas.device import FAMILIES

HERE = Path(__file__).parent
PAGE = ROOT / "docs/cross_layer.md"
RESNET = "ResNet-50"
TABLES = {
    "families": (
        "capture",
        "linear",
        "elementwise",
        "reduction",
        "movement",
        "fused",
        "linear and elementwise",
    ),
    "reuse": (
        "model",
        "first",
        "second",
        "% of the first, by name",
        "% of the second",
        "% of the first, by library and primitive",
        "% of the second",
    ),
    "pairs": ("capture", "pairs", "for 80 %", "the first three, %"),
    "gains": ("capture", "primitive", "twice as fast", "limit", "all linear algebra twice as fast"),
}
"""Tables that lie beside the page, and their columns."""
VENDOR = ("cudnn", "cublas", "cub")
"""NVIDIA's libraries among those that the captures call."""
MOST = 0.8
"""At least this share of the kernel time is called most of it."""
FRAMEWORKS = {
    "eager": "PyTorch eager",
    "libtorch": "LibTorch",
    "compile": "torch.compile",
    "jax_ops": "JAX op by op",
    "jax_jit": "JAX jit",
    "keras_jax_call": "Keras on JAX",
    "keras_torch_call": "Keras on PyTorch",
    "cudnn": "cuDNN",
}
"""LeNet's captures of other frameworks, each set beside PyTorch eager."""
ON_CPU = {"cpu_resnet50": "ResNet-50", "cpu_bert": "BERT-like"}
CPU_LIBRARIES = {
    "oneDNN": ("mkldnn_convolution", "mkldnn_linear"),
    "MKL": ("mm", "addmm", "bmm", "baddbmm"),
    "PyTorch, calling MKL": ("_slow_conv2d_forward",),
}
"""PyTorch ops that call a library on a CPU; all other ops are PyTorch's own loops."""


def main() -> None:
    """Write the page and its charts."""
    make().write(PAGE)


def make() -> Made:
    """Return the page with its charts."""
    runs = read(ROOT / "samples")
    about = json.loads((HERE / "captures/versions.json").read_text())
    lenet = {
        name: tl.open(ROOT / f"samples/lenet/captures/trace_{name}.tracelens")
        for name in FRAMEWORKS
    }
    values = facts(runs, lenet) | {"versions": about["versions"]}
    models = [model for model, *_ in values["across_rows"]]
    tables = TABLES | {"across": ("percent of", *models)}
    return Made(
        *render(HERE, values, verdicts(values)),
        charts(runs),
        {name: as_csv(headings, values[f"{name}_rows"]) for name, headings in tables.items()},
    )


def facts(runs: Sequence[Run], lenet: Mapping[str, tl.Trace]) -> dict[str, Any]:
    """Return the numbers that the page mentions."""
    known = by_key(runs)
    linear = [run.share(family=LINEAR) for run in runs]
    wide = [run.share(family=LINEAR) + run.share(family="elementwise") for run in runs]
    vendor = [sum(part for library, _, part in run.pairs() if library in VENDOR) for run in runs]
    compiled = compiled_pairs(known)
    levels = {how: known[f"study/{key}"].trace for key, how in LEVELS.items()}
    reused = across(runs)
    frameworks = {
        name: reuse(lenet["eager"], trace) for name, trace in lenet.items() if name != "eager"
    }
    between = {pair: reuse(*(levels[how] for how in pair)) for pair in combinations(levels, 2)}
    generated = between["PyTorch eager", "torch.compile"]
    beside_compiled = [generated, *compiled.values()]
    return {
        "n": len(runs),
        "n_resnet": sum(run.model == RESNET for run in runs),
        "others": {
            kind: sum(
                share > 0.5 for run, share in zip(runs, of, strict=True) if run.model != RESNET
            )
            for kind, of in (("narrow", linear), ("wide", wide), ("vendor", vendor))
        },
        "vendor": vendor,
        "vendor_above": sum(share > 0.5 for share in vendor),
        "linear": linear,
        "wide": wide,
        "linear_above": sum(share > 0.5 for share in linear),
        "wide_above": sum(share > 0.5 for share in wide),
        "least_shared": min(r.by_name for r in _plain(between)),
        "generated": generated,
        "told": {
            words: known[key].share(family=LINEAR)
            for key, words in (
                ("torch/resnet50_eager", "ResNet-50"),
                ("thesis/resnet50_compiled", "ResNet-50 compiled"),
                ("torch/alexnet_eager", "AlexNet"),
                ("cross_layer/bert_infer", "BERT"),
                ("cross_layer/llama_train", "Llama in training"),
            )
        },
        "pairs_for": [run.pairs_for(MOST) for run in runs],
        "pairs": [len(run.pairs()) for run in runs],
        "between": between,
        "cpu": {name: cpu_shares(name) for name in ON_CPU},
        "cpu_rows": [
            (words, *(percent(share) for share in cpu_shares(name).values()))
            for name, words in ON_CPU.items()
        ],
        "frameworks": frameworks,
        "compiled": beside_compiled,
        "n_alike": sum(_both_above_half(sides) is True for sides in beside_compiled),
        "gains": [run.linear_twice() for run in runs],
        "winners": Counter(run.best()[0] for run in runs if run.has_ops).most_common(),
        "families_rows": [_family_row(run) for run in runs],
        "shown_rows": [
            _family_row(run)
            for run in runs
            if run.group == "language" or (run.group, run.model) == ("vision", RESNET)
        ],
        "families_headings": TABLES["families"],
        "framework_rows": [
            (FRAMEWORKS[name], *_reuse_cells(*both)) for name, both in frameworks.items()
        ],
        "reuse_rows": [
            *(("ResNet-50 64²", *pair, *_reuse_cells(*both)) for pair, both in between.items()),
            *(
                ("LeNet", FRAMEWORKS["eager"], FRAMEWORKS[name], *_reuse_cells(*both))
                for name, both in frameworks.items()
            ),
            *(
                (*name.split(", ", 1), "compiled", *_reuse_cells(*both))
                for name, both in compiled.items()
            ),
        ],
        "across_rows": reused,
        "across_of": {
            row[0]: dict(zip([model for model, *_ in reused], row[1:], strict=True))
            for row in reused
        },
        "pairs_rows": [_few_row(run) for run in runs if run.group in ("vision", "language")],
        "gains_rows": [_gain_row(run) for run in runs if run.group in ("vision", "language")],
        "source_rows": [
            (
                f"`{known[key].place}`",
                *(percent(known[key].share(primitive=word)) for word in ("gemm", "conv")),
                percent(known[key].share(family=LINEAR)),
            )
            for key in ("nsys/eager_resnet50", "torch/resnet50_eager")
        ],
    }


def cpu_shares(name: str) -> dict[str, float]:
    """Return each library's share of the ops' self time, with PyTorch's own loops."""
    ops = tl.analyses.top_ops(tl.open(HERE / f"captures/{name}.tracelens"))
    self_ns = dict(ops.select("name", "cpu_self_ns").iter_rows())
    total = sum(self_ns.values())
    shares = {
        library: sum(self_ns.get(f"aten::{op}", 0) for op in names) / total
        for library, names in CPU_LIBRARIES.items()
    }
    return shares | {"PyTorch": 1 - sum(shares.values())}


def _plain(between: Mapping[tuple[str, str], tuple[Reuse, Reuse]]) -> list[Reuse]:
    """Return both sides of every two levels, torch.compile left out."""
    return [r for pair, both in between.items() if "torch.compile" not in pair for r in both]


def compiled_pairs(known: Mapping[str, Run]) -> dict[str, tuple[Reuse, Reuse]]:
    """Compare each model's eager and compiled capture.

    Returns the reuse of both sides by the eager capture's name.
    """
    pairs = [
        (run, known[other])
        for key, run in known.items()
        for other in (key.replace("_eager", "_compiled") if "_eager" in key else f"{key}_compiled",)
        if other in known and other != key and run.group in ("vision", "language")
    ]
    return unique((a.name, reuse(a.trace, b.trace)) for a, b in pairs)


def across(runs: Sequence[Run]) -> list[tuple[Any, ...]]:
    """Return the reuse by name between eager inference models, one row per model.

    Raises PageError if two captures have one label.
    """
    eager = unique((run.label, run) for run in runs if run.how in ("eager", "eager, inference"))
    shares: dict[tuple[str, str], float] = {}
    for a, b in combinations(eager, 2):
        shares[a, b], shares[b, a] = (r.by_name for r in reuse(eager[a].trace, eager[b].trace))
    return [(a, *(None if a == b else percent(shares[a, b]) for b in eager)) for a in eager]


def _reuse_cells(base: Reuse, other: Reuse) -> list[str]:
    return [percent(r.by_name) for r in (base, other)] + [percent(r.by_pair) for r in (base, other)]


def _family_row(run: Run) -> tuple[Any, ...]:
    shares = run.families()
    wide = percent(shares[LINEAR] + shares["elementwise"])
    return (run.name, *(percent(shares[family]) for family in FAMILIES if family != "other"), wide)


def _few_row(run: Run) -> tuple[Any, ...]:
    first = ", ".join(
        f"{library} {primitive} {percent(share)}" for library, primitive, share in run.pairs()[:3]
    )
    return run.name, len(run.pairs()), run.pairs_for(MOST), first


def _gain_row(run: Run) -> tuple[Any, ...]:
    primitive, twice, limit = run.best()
    return run.name, primitive, fixed(twice), fixed(limit), fixed(run.linear_twice())


def _both_above_half(sides: Sequence[Reuse]) -> bool | None:
    """Return whether more than half of both sides' time has the other's library and primitive.

    Return None if this holds for one side only.
    """
    answers = {side.by_pair > 0.5 for side in sides}
    return answers.pop() if len(answers) == 1 else None


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Judge each claim of the review by the captures: a verdict by the claim's name."""
    return {
        "libraries": judge_cases(share > 0.5 for share in v["vendor"]),
        "linear": judge_cases(share > 0.5 for share in v["wide"]),
        "linear_narrow": judge_cases(share > 0.5 for share in v["linear"]),
        "few": Verdict.UNTESTABLE,  # the review does not say how few
        "similar": judge(_both_above_half(v["frameworks"]["jax_jit"])),
        "one_for_all": Verdict.UNTESTABLE,  # nothing was made faster and measured again
    }


if __name__ == "__main__":
    main()
