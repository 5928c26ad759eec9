"""Whole models: out of the box, in theory, and as our plans compile them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import curves
from figures import (
    EVEN,
    Run,
    agree,
    earlier_speedup,
    even_line,
    is_even,
    is_faster,
    kernel_ms,
    kernel_speedup,
    model_axis,
    speedup,
    spread,
)
from layerwise import largest_saving
from page import Figure, Finding, Section, listed, table
from there import ABOUT_EVEN, NAMES, OUT_OF_THE_BOX, SLOWER

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
TF32 = "-tf32"
"""Behind a mode's name: with TF32 in matrix products, too."""


def shown_modes(run: Run) -> tuple[str, ...]:
    """The two modes that need no autotuning, and of the others those that were measured."""
    return (
        *MODES[:2],
        *(m for m in MODES[2:] if any(part["e2e"].get(m) for part in run.models().values())),
    )


def out_of_the_box(run: Run) -> Section:
    """End-to-end and by kernels, in the modes that were measured."""
    modes = shown_modes(run)
    rows, times, findings = [], [], []
    for model, part in run.models().items():
        ratios = [speedup(part, mode) for mode in modes]
        eager, compiled = map(kernel_ms, run.pair(model))
        rows.append(
            [
                NAMES[model],
                _then(model),
                *ratios,
                f"{eager / compiled:.2f}",
                _plain(earlier_speedup(run, model)),
            ]
        )
        times.append(
            [
                NAMES[model],
                *(_quartiles(part, mode) for mode in ("eager", *modes)),
                f"{eager:.3f}",
                f"{compiled:.3f}",
            ]
        )
        findings.append(_box_finding(run, model, part))
    blocks = [
        (
            "Eager over compiled, medians of ten rounds of two executions; in brackets the least"
            " and the most that the quartiles allow. By kernels: GPU time, in the profiler's"
            " traces, of a step's kernels, eager over the default mode, which the host has no"
            " part in."
        ),
        table(["model", "thesis", *modes, "by kernels", "earlier session, default"], rows),
        "Milliseconds, quartiles in brackets; the kernels' are a step's:",
        table(["model", "eager", *modes, "kernels, eager", "kernels, default"], times),
        _host(run),
        *_tuned(run),
        (
            "Compile times, seconds, of six models and the single operations compiled side by side"
            " on 16 cores: those of a busy machine; modes that autotune, where they were measured,"
            " a model at a time. The modes of a model were compiled one after the other, so the"
            " second found warm what the first had set up."
        ),
        table(
            ["model", *modes],
            [
                [NAMES[m], *(_plain(part["compile_s"].get(mode), 1) for mode in modes)]
                for m, part in run.models().items()
            ],
        ),
    ]
    return Section("Out of the box", blocks, [_chart(run)], [*findings, _modes_finding(run)])


def _then(model: str) -> str:
    if model in OUT_OF_THE_BOX:
        return f"{OUT_OF_THE_BOX[model]:.2f}"
    return "slower" if model in SLOWER else "about even"


def _plain(number: float | None, digits: int = 2) -> str | None:
    return None if number is None else f"{number:.{digits}f}"


def _quartiles(part: Mapping[str, Any], mode: str) -> str | None:
    found = part["e2e"].get(mode)
    return (
        f"{found['median_ms']:.2f} ({found['p25_ms']:.2f} to {found['p75_ms']:.2f})"
        if found
        else None
    )


def _box_finding(run: Run, model: str, part: Mapping[str, Any]) -> Finding:
    """One model: whether this run and the earlier session both say what the thesis does."""
    found, before = speedup(part, "default"), earlier_speedup(run, model)
    faster = [is_faster(found)] + ([before > 1] if before else [])
    if model in ABOUT_EVEN:
        claim, answers = (
            "is about as fast compiled",
            [is_even(r) for r in (found.middle if found else None, before) if r],
        )
    elif model in SLOWER:
        claim, answers = (
            "is slower compiled",
            [None if answer is None else not answer for answer in faster],
        )
    else:
        claim, answers = "is faster compiled", faster
    now = f"{found}; earlier {_plain(before) or '-'}; by kernels {kernel_speedup(run, model):.2f}"
    return Finding(
        f"{NAMES[model]} {claim}",
        "section 5.5.1, Fig. 5.6",
        _then(model),
        now,
        agree(answers),
        _gain(run, model, part),
    )


def _gain(run: Run, model: str, part: Mapping[str, Any]) -> str:
    """What of the step is kernels, and where those save most."""
    kind, ms, share = largest_saving(run, model)
    filled = 100 * kernel_ms(run.pair(model)[1]) / part["e2e"]["default"]["median_ms"]
    return (
        f"{filled:.0f} % of a compiled step is kernels, which save most ({ms:.2f} ms, {share:.0%})"
        f" in {kind}: `{model}_eager` and `{model}_compiled`; why torch 2.3 did otherwise is not"
        " established"
        if model in (*SLOWER, *ABOUT_EVEN)
        else (
            f"{filled:.0f} % of a compiled step is kernels, which save most ({ms:.2f} ms,"
            f" {share:.0%}) in {kind}"
        )
    )


def _modes_finding(run: Run) -> Finding:
    """Whether the modes of torch.compile make a difference."""
    ratios = [
        r.middle for part in run.models().values() for mode in MODES if (r := speedup(part, mode))
    ]
    return Finding(
        "The modes of torch.compile have almost no effect",
        "section 5.5.3",
        "almost none",
        f"over the six models and four modes, {spread(ratios)} times as fast as eager",
        max(ratios) / min(ratios) < 1 + EVEN,
        "`reduce-overhead` replays a CUDA graph, so a step comes near its kernels' time;"
        ' `max-autotune` makes matrix products of convolutions, without TF32: the tables in "Out of'
        ' the box", the latter shown for ResNet-50 alone',
    )


def _host(run: Run) -> str:
    """How far the times are the host's, and how unstable that makes them."""
    filled = {
        m: kernel_ms(run.pair(m)[1]) / part["e2e"]["default"]["median_ms"]
        for m, part in run.models().items()
    }
    text = (
        f"Kernels fill {spread((100 * share for share in filled.values()), ' %', 0)} of a step of"
        " the default mode: the rest of the time the GPU waits, mostly for the host. Times bound"
        " by the host were unstable on that machine"
    )
    apart = {
        m: part["e2e"]["eager"]["median_ms"] / run.earlier[m]["eager"]
        for m, part in run.models().items()
        if m in run.earlier
    }
    if not apart:
        return f"{text}, so trust the speedup by kernels first."
    worst = max(apart, key=lambda m: abs(apart[m] - 1))
    return (
        f"{text}: eager {NAMES[worst]} took {run.models()[worst]['e2e']['eager']['median_ms']:.1f}"
        f" ms here and {run.earlier[worst]['eager']:.1f} ms in an earlier session on an H200, with"
        " the same batch, size and torch. The verdicts above on the default mode stand only where"
        " both sessions agree; trust the speedup by kernels first."
    )


def _tuned(run: Run) -> list[str]:
    """Where modes that autotune lose to the default one, and what TF32 has to do with it."""
    mode = MODES[-1]
    ratios = {model: speedup(part, mode, "default") for model, part in run.models().items()}
    slower = [NAMES[model] for model, ratio in ratios.items() if is_faster(ratio) is False]
    again = {
        model: part for model, part in run.models().items() if part["e2e"].get(f"{mode}{TF32}")
    }
    blocks = [f"`{mode}` is slower than the default mode in {listed(slower)}."] if slower else []
    for model, part in again.items():
        blocks.append(
            f"Where Inductor autotunes, it makes 1×1 convolutions matrix products, and by PyTorch's"
            f" defaults "
            f"convolutions of float32 may be computed in TF32, matrix products may not. With "
            f'`torch.set_float32_matmul_precision("high")`, which allows both, `{mode}` takes '
            f"{_quartiles(part, mode + TF32)} ms for {NAMES[model]} instead of"
            f" {_quartiles(part, mode)}: "
            f"{speedup(part, mode + TF32)} times as fast as the eager model of the table."
        )
    return [" ".join(blocks)] if blocks else []


def _chart(run: Run) -> Figure:
    values = []
    for model, part in run.models().items():
        shown = {mode: found.middle for mode in shown_modes(run) if (found := speedup(part, mode))}
        shown["kernels (default)"] = kernel_speedup(run, model)
        if model in OUT_OF_THE_BOX:
            shown["thesis"] = OUT_OF_THE_BOX[model]
        values += [
            {"model": NAMES[model], "by": by, "speedup": ratio} for by, ratio in shown.items()
        ]
    points = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(size=80, filled=True)
        .encode(
            x=alt.X("speedup:Q", title="speedup over eager", scale=alt.Scale(zero=False)),
            y=model_axis(run.models()),
            color=alt.Color("by:N", title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("by:N", title=None),
        )
    )
    chart = (points + even_line()).properties(width=520, height=200)
    return Figure(
        "speedup",
        chart,
        "Speedup over eager, end to end and by GPU time of kernels; the thesis's beside it.",
    )


def not_measured(run: Run) -> Section:
    """What the run had no time for, so that nobody reads an absence as a result."""
    blocks = []
    for modes, models in _missing(run).items():
        of = (
            ""
            if len(models) == len(run.models())
            else f" of {listed([NAMES[model] for model in models])}"
        )
        blocks.append(
            f"The {'modes' if len(modes) > 1 else 'mode'} {listed([f'`{mode}`' for mode in modes])}"
            f" {'were' if len(modes) > 1 else 'was'} not measured in this run{of}: no time was left"
            " on the machine. `samples/thesis/run.py` measures them where its options leave time"
            " for it."
        )
    if not curves.measured(run):
        blocks.append(
            "So the curves per layer of the thesis's four configurations are not on this page."
        )
    else:
        blocks += [
            f"The layers of {listed([NAMES[model] for model in models])} were not timed in:"
            f" {'; '.join(lacking)}."
            for lacking, models in curves.lacking(run).items()
        ]
    blocks.append(NOT_MEASURED)
    return Section("What was not measured", blocks)


NOT_MEASURED = """\
- The grid of convolutions, ResNet's and the chains in other modes than the default (section 5.4): three convolutions
  stand for them.
- Layers one by one in other modes than the default (section 5.5.3).
- Matrix products on the CPU beyond 4,096: one of 17,500 takes seconds, and there are 24 executions of each way.
- What the thesis's trained predictor would say of a convolution (section 5.4.2): its inputs and training are not given.
- Why a model's design should help or hinder (section 5.5.1: DenseNet bound by memory, SqueezeNet by its format, AlexNet
  too simple; section 5.4.1: 1×1 fuse more cheaply): nothing captured here tells causes of that kind. What compiling
  saves in each model stands in "Where the time went".
- That layers 0, 2, 6, 7, 8, 9, 11 and 12 "perform best when uncompiled" and "worst when compiled to CUDA" (end of
  section 5.5.4): the text does not say of which model, and CUDA is not compiled.
- Data movement between eager and compiled layers, which the thesis did not measure either (section 6.3.3): the costs
  here are of calls.
- torch 2.3 on a V100: nothing here says why it did what it did there. The thesis's text has no values behind its
  figures but those quoted, and no spreads.
- Other batch sizes: the thesis does not say its own, 32 is our choice, and speedups depend on it."""


def _missing(run: Run) -> dict[tuple[str, ...], list[str]]:
    """Models of which modes were not measured, by those modes."""
    found: dict[tuple[str, ...], list[str]] = {}
    for model, part in run.models().items():
        modes = tuple(mode for mode in MODES if not part["e2e"].get(mode))
        if modes:
            found.setdefault(modes, []).append(model)
    return found
