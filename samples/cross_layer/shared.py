"""Kernels that two captures share: among levels, eager and compiled, and among models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from page import Finding, Section, table
from review import NO_NUMBER, SAME_KERNELS, SAME_UNDER_COMPILE
from runs import LEVELS, Reuse, Run, by_key, percent, reuse


def shared(runs: Sequence[Run]) -> Section:
    """Reuse of kernels among levels, between eager and compiled, and among models."""
    known = by_key(runs)
    levels = {how: known[f"study/{key}"] for key, how in LEVELS.items() if f"study/{key}" in known}
    between = {
        pair: reuse(*(levels[how].trace for how in pair)) for pair in combinations(levels, 2)
    }
    blocks = [
        (
            "Reuse is the share of a capture's kernel time in kernels that the other capture runs"
            " too: kernels of the same name, and, weaker, of the same library and primitive (pair)."
            " In percent of the whole capture, with the quartiles over the marked steps."
        ),
        table(_REUSE, [_reuse_row(a, b, *found) for (a, b), found in between.items()]),
    ]
    compiled = [
        (run, known[other])
        for key, run in known.items()
        for other in (key.replace("_eager", "_compiled") if "_eager" in key else f"{key}_compiled",)
        if other in known and other != key and run.group in ("vision", "language")
    ]
    blocks += [
        "Each model eager, and compiled by torch.compile:",
        table(_REUSE, [_reuse_row(a.name, b.name, *reuse(a.trace, b.trace)) for a, b in compiled]),
        *_across(runs),
    ]
    return Section("The same kernels", blocks, [], _same_libraries(between, levels))


_REUSE = [
    "base",
    "other",
    "of base, by name",
    "of other, by name",
    "of base, by pair",
    "of other, by pair",
]


def _reuse_row(base: str, other: str, one: Reuse, two: Reuse) -> list[str]:
    return [base, other, str(one), str(two), percent(one.by_pair), percent(two.by_pair)]


def _across(runs: Sequence[Run]) -> list[str]:
    """A table of reuse among eager models of inference, a row a model."""
    eager = [run for run in runs if run.how in ("eager", "eager, inference")]
    found = {(a.model, b.model): reuse(a.trace, b.trace) for a, b in combinations(eager, 2)}
    rows = []
    for a in eager:
        cells: list[str | None] = []
        for b in eager:
            if a is b:
                cells.append(None)
            else:
                one = found.get((a.model, b.model))
                cells.append(percent(one[0].by_name if one else found[b.model, a.model][1].by_name))
        rows.append([a.model, *cells])
    return [
        (
            "Across models, eager inference: the share of the row's kernel time in kernels, by"
            " name, that the column runs too. The vision models run in float32, the language models"
            " in bfloat16."
        ),
        table(["model", *(run.model for run in eager)], rows),
    ]


def _same_libraries(
    between: Mapping[tuple[str, str], tuple[Reuse, Reuse]], levels: Mapping[str, Run]
) -> list[Finding]:
    """Whether levels of PyTorch and a bare cuDNN program run the same kernels."""
    plain = {pair: both for pair, both in between.items() if "torch.compile" not in pair}
    generated = between.get(("PyTorch eager", "torch.compile"))
    findings = []
    if plain:
        findings.append(_reused(plain))
    if generated:
        of_eager, of_compiled = generated
        eager, compiled = levels["PyTorch eager"], levels["torch.compile"]
        findings.append(
            Finding(
                SAME_UNDER_COMPILE,
                "section II",
                NO_NUMBER,
                f"{of_compiled} % of its kernel time is in kernels that eager runs too, and"
                f" {of_eager} % of eager's the other way round",
                _is_most(of_eager, of_compiled),
                "it generates kernels, and calls others of the libraries: `triton` fused"
                f" {percent(compiled.share(library='triton', primitive='fused'))} %"
                f" (`{compiled.place}`) where eager has `cudnn` normalization"
                f" {percent(eager.share(library='cudnn', primitive='normalization'))} % and layout"
                f" {percent(eager.share(library='cudnn', primitive='layout'))} % (`{eager.place}`),"
                " and cuBLAS's products are `tn` for `nn` by their names, as for tensors in"
                " channels last",
            )
        )
    return findings


def _reused(plain: Mapping[tuple[str, str], tuple[Reuse, Reuse]]) -> Finding:
    sides = [side for both in plain.values() for side in both]
    least, most = (percent(pick(side.by_name for side in sides)) for pick in (min, max))
    holds = all(_is_most(*both) for both in plain.values())
    nearest = plain.get(("cuDNN", "PyTorch eager"))
    told = (
        f"; the program on cuDNN and PyTorch eager {nearest[0]} and {nearest[1]} %"
        if nearest
        else ""
    )
    return Finding(
        SAME_KERNELS,
        "section II",
        NO_NUMBER,
        f"of any two, {least} to {most} % of each one's kernel time is in kernels that the other"
        f" runs too{told}",
        holds,
        (
            "all are PyTorch or call cuDNN directly: TensorFlow, MXNet and Caffe were not run"
            if holds
            else _UNKNOWN
        ),
    )


_UNKNOWN = "cause not established"


def _is_most(*sides: Reuse) -> bool | None:
    """Whether more than half of both sides is reused beyond the spread; null where the quartiles do not tell."""
    ends = [side.spread or (side.by_name, side.by_name) for side in sides]
    if all(low > 0.5 for low, _ in ends):
        return True
    return False if any(high < 0.5 for _, high in ends) else None
