"""Write the cross-layer page from the bundled captures: `python -m samples.cross_layer.analyse`.

Reads the captures in samples/ and writes docs/cross_layer.md with its charts. The text is
page.md.j2; every number is made from the captures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import altair as alt

import tracelens as tl
from samples.cross_layer.charts import charts
from samples.cross_layer.runs import LEVELS, LINEAR, Reuse, Run, by_key, percent, read, reuse
from samples.kit.drawing import save
from samples.kit.page import ROOT, fixed, render, unique
from samples.kit.significance import Verdict, judge, judge_cases
from tracelens.schemas.device import FAMILIES

HERE = Path(__file__).parent
PAGE = ROOT / "docs/cross_layer.md"
RESNET = "ResNet-50"
LEAST_GAIN = 1.1
"""Speedup from which a capture counts as one that gains.

The review names no limit.
"""
FEW = 5
"""At most this number of (library, primitive) pairs is called few.

The review lists this many sorts of operation in section III but names no limit. The value was
chosen after our results were known.
"""
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
    text, drawn = make()
    PAGE.write_text(text)
    save(drawn, PAGE.with_suffix(""))


def make() -> tuple[str, dict[str, alt.TopLevelMixin]]:
    """Return the page as Markdown, and its charts by name."""
    runs = read(ROOT / "samples")
    about = json.loads((HERE / "captures/versions.json").read_text())
    lenet = {
        name: tl.open(ROOT / f"samples/lenet/captures/trace_{name}.tracelens")
        for name in FRAMEWORKS
    }
    values = facts(runs, lenet) | {"versions": about["versions"]}
    return render(HERE / "page.md.j2", values, verdicts(values)), charts(runs)


def facts(runs: Sequence[Run], lenet: Mapping[str, tl.Trace]) -> dict[str, Any]:
    """Return the numbers that the page mentions."""
    known = by_key(runs)
    linear = [run.share(family=LINEAR) for run in runs]
    wide = [run.share(family=LINEAR) + run.share(family="elementwise") for run in runs]
    compiled = compiled_pairs(known)
    levels = {how: known[f"study/{key}"].trace for key, how in LEVELS.items()}
    between = {pair: reuse(*(levels[how] for how in pair)) for pair in combinations(levels, 2)}
    generated = between["PyTorch eager", "torch.compile"]
    beside_compiled = [generated, *compiled.values()]
    return {
        "n": len(runs),
        "least_gain": LEAST_GAIN,
        "n_resnet": sum(run.model == RESNET for run in runs),
        "others": {
            kind: sum(
                share > 0.5 for run, share in zip(runs, of, strict=True) if run.model != RESNET
            )
            for kind, of in (("narrow", linear), ("wide", wide))
        },
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
        "frameworks": {
            name: reuse(lenet["eager"], trace) for name, trace in lenet.items() if name != "eager"
        },
        "compiled": beside_compiled,
        "n_alike": sum(_both_above_half(sides) is True for sides in beside_compiled),
        "compiled_rows": [(name, *_reuse_cells(*both)) for name, both in compiled.items()],
        "gains": [run.linear_twice() for run in runs],
        "winners": Counter(run.best()[0] for run in runs if run.has_ops).most_common(),
        "family_rows": [_family_row(run) for run in runs],
        "framework_rows": [
            (FRAMEWORKS[name], *_reuse_cells(*reuse(lenet["eager"], trace)))
            for name, trace in lenet.items()
            if name != "eager"
        ],
        "level_rows": [
            (" and ".join(pair), *_reuse_cells(*both)) for pair, both in between.items()
        ],
        "across": across(runs),
        "few_rows": [_few_row(run) for run in runs if run.group in ("vision", "language")],
        "gain_rows": [_gain_row(run) for run in runs if run.group in ("vision", "language")],
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
    """Return the share of the ops' self time by called library, PyTorch's own loops included."""
    ops = tl.analyses.top_ops(tl.open(HERE / f"captures/{name}.tracelens"))
    own = dict(ops.select("name", "cpu_self_ns").iter_rows())
    total = sum(own.values())
    found = {
        library: sum(own.get(f"aten::{op}", 0) for op in names) / total
        for library, names in CPU_LIBRARIES.items()
    }
    return found | {"PyTorch": 1 - sum(found.values())}


def _plain(between: Mapping[tuple[str, str], tuple[Reuse, Reuse]]) -> list[Reuse]:
    """Both sides of every two levels, torch.compile left out."""
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
    """Return whether both sides share more than half by library and primitive.

    None if only one does.
    """
    answers = {side.by_pair > 0.5 for side in sides}
    return answers.pop() if len(answers) == 1 else None


def verdicts(v: Mapping[str, Any]) -> dict[str, Verdict]:
    """Judge each claim of the review by the captures: a verdict by the claim's name."""
    jax = v["frameworks"]["jax_jit"]
    return {
        "linear": judge_cases(share > 0.5 for share in v["wide"]),
        "linear_narrow": judge_cases(share > 0.5 for share in v["linear"]),
        "few": judge(max(v["pairs_for"]) <= FEW),
        "same": judge(all(r.is_most for r in _plain(v["between"]))),
        "compiled": judge_cases(_both_above_half(sides) for sides in v["compiled"]),
        "jax": Verdict.OPEN
        if len({r.by_pair > 0.5 for r in jax}) > 1
        else judge(jax[0].by_pair > 0.5),
        "one_for_all": judge(min(v["gains"]) > LEAST_GAIN),
    }


if __name__ == "__main__":
    main()
