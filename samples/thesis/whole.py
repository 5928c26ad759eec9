"""Whole models: out of the box, in theory, and as our plans compile them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import curves
import polars as pl
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
from page import Figure, Finding, Section, listed, table
from there import ABOUT_EVEN, CUSTOM, NAMES, ORACLE, OUT_OF_THE_BOX, SLOWER

import tracelens as tl

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
PLANS = {"custom": "no cost", "custom_with_cost": "measured cost"}
THESIS_PLAN = "custom"
"""Made as the thesis makes them: verdicts are on these."""
ORACLES = ("best_of_two", "profile_timed", "dynamic")
TF32 = "-tf32"
"""Behind a mode's name: with TF32 in matrix products, too."""
GAIN = 1.02
"""The least of the thesis's oracle speedups, to two digits."""


def shown_modes(run: Run) -> tuple[str, ...]:
    """The two modes that need no autotuning, and of the others those that were measured."""
    return (*MODES[:2], *(m for m in MODES[2:] if any(part["e2e"].get(m) for part in run.models().values())))


def out_of_the_box(run: Run) -> Section:
    """End-to-end and by kernels, in the modes that were measured."""
    modes = shown_modes(run)
    rows, times, findings = [], [], []
    for model, part in run.models().items():
        ratios = [speedup(part, mode) for mode in modes]
        eager, compiled = map(kernel_ms, run.pair(model))
        rows.append(
            [NAMES[model], _then(model), *ratios, f"{eager / compiled:.2f}", _plain(earlier_speedup(run, model))]
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
            "Eager over compiled, medians of ten rounds of two executions; in brackets the least and the most that "
            "the quartiles allow. By kernels: GPU time, in the profiler's traces, of a step's kernels, eager over "
            "the default mode, which the host has no part in."
        ),
        table(["model", "thesis", *modes, "by kernels", "earlier session, default"], rows),
        "Milliseconds, quartiles in brackets; the kernels' are a step's:",
        table(["model", "eager", *modes, "kernels, eager", "kernels, default"], times),
        _host(run),
        *_tuned(run),
        (
            "Compile times, seconds, of six models and the single operations compiled side by side on 16 cores: "
            "those of a busy machine; modes that autotune, where they were measured, a model at a time. The modes of a "
            "model were compiled one after the other, so the second found warm what the first had set up."
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
    return f"{found['median_ms']:.2f} ({found['p25_ms']:.2f} to {found['p75_ms']:.2f})" if found else None


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
        claim, answers = "is slower compiled", [None if answer is None else not answer for answer in faster]
    else:
        claim, answers = "is faster compiled", faster
    now = f"{found}; earlier {_plain(before) or '-'}; by kernels {kernel_speedup(run, model):.2f}"
    return Finding(
        f"{NAMES[model]} {claim}", "section 5.5.1, Fig. 5.6", _then(model), now, agree(answers),
        f"{100 * kernel_ms(run.pair(model)[1]) / part['e2e']['default']['median_ms']:.0f} % of a compiled step is "
        "kernels; "
        'where its kernels save time: "Where the time went"',
    )  # fmt: skip


def _modes_finding(run: Run) -> Finding:
    """Whether the modes of torch.compile make a difference."""
    ratios = [r.middle for part in run.models().values() for mode in MODES if (r := speedup(part, mode))]
    return Finding(
        "The modes of torch.compile have almost no effect",
        "section 5.5.3",
        "almost none",
        f"over the six models and four modes, {spread(ratios)} times as fast as eager",
        max(ratios) / min(ratios) < 1 + EVEN,
        "`reduce-overhead` takes the host's launches away, `max-autotune` makes matrix products of convolutions, "
        'without TF32: the table in "Out of the box"',
    )


def _host(run: Run) -> str:
    """How far the times are the host's, and how unstable that makes them."""
    filled = {m: kernel_ms(run.pair(m)[1]) / part["e2e"]["default"]["median_ms"] for m, part in run.models().items()}
    text = (
        f"Kernels fill {spread((100 * share for share in filled.values()), ' %', 0)} of a step of the default mode: "
        "the rest of the time the GPU waits, mostly for the host. Times bound by the host were unstable on that "
        "machine"
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
        f"{text}: eager {NAMES[worst]} took {run.models()[worst]['e2e']['eager']['median_ms']:.1f} ms here and "
        f"{run.earlier[worst]['eager']:.1f} ms in an earlier session on an H200, with the same batch, size and "
        "torch. The verdicts above on the default mode stand only where both sessions agree; trust the speedup by "
        "kernels first."
    )


def _tuned(run: Run) -> list[str]:
    """Where modes that autotune lose to the default one, and what TF32 has to do with it."""
    mode = MODES[-1]
    ratios = {model: speedup(part, mode, "default") for model, part in run.models().items()}
    slower = [NAMES[model] for model, ratio in ratios.items() if is_faster(ratio) is False]
    again = {model: part for model, part in run.models().items() if part["e2e"].get(f"{mode}{TF32}")}
    blocks = [f"`{mode}` is slower than the default mode in {listed(slower)}."] if slower else []
    for model, part in again.items():
        blocks.append(
            f"Where Inductor autotunes, it makes 1×1 convolutions matrix products, and by PyTorch's defaults "
            f"convolutions of float32 may be computed in TF32, matrix products may not. With "
            f'`torch.set_float32_matmul_precision("high")`, which allows both, `{mode}` takes '
            f"{_quartiles(part, mode + TF32)} ms for {NAMES[model]} instead of {_quartiles(part, mode)}: "
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
        values += [{"model": NAMES[model], "by": by, "speedup": ratio} for by, ratio in shown.items()]
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
        "speedup", chart, "Speedup over eager, end to end and by GPU time of kernels; the thesis's beside it."
    )


def not_measured(run: Run) -> Section:
    """What the run had no time for, so that nobody reads an absence as a result."""
    blocks = []
    for modes, models in _missing(run).items():
        of = "" if len(models) == len(run.models()) else f" of {listed([NAMES[model] for model in models])}"
        blocks.append(
            f"The {'modes' if len(modes) > 1 else 'mode'} {listed([f'`{mode}`' for mode in modes])} "
            f"{'were' if len(modes) > 1 else 'was'} not measured in this run{of}: no time was left on the machine. "
            "`samples/thesis/run.py` measures them where its options leave time for it."
        )
    if not curves.measured(run):
        blocks.append("So the curves per layer of the thesis's four configurations are not on this page.")
    else:
        blocks += [
            f"The layers of {listed([NAMES[model] for model in models])} were not timed in: {'; '.join(lacking)}."
            for lacking, models in curves.lacking(run).items()
        ]
    blocks += [
        (
            "- Layer subtraction (sections 4.2.3 and 5.5.4) on the six models: it compiles a model anew for each "
            "layer, up to 429 times; the thesis's own figures of it have no values in the text.\n"
            "- Matrix products on the CPU beyond 4,096, where one takes seconds.\n"
            "- torch 2.3 on a V100: nothing here says why it did what it did there.\n"
            "- The thesis's batch size, which it does not say: 32 is our choice, and speedups depend on it."
        )
    ]
    return Section("What was not measured", blocks)


def _missing(run: Run) -> dict[tuple[str, ...], list[str]]:
    """Models of which modes were not measured, by those modes."""
    found: dict[tuple[str, ...], list[str]] = {}
    for model, part in run.models().items():
        modes = tuple(mode for mode in MODES if not part["e2e"].get(mode))
        if modes:
            found.setdefault(modes, []).append(model)
    return found


def theory(run: Run) -> Section:
    """Oracle speedups over the better of both runs."""
    rows, gains, paid = [], {}, {}
    for model, part in run.models().items():
        free, costly = (part["oracle"][plan] for plan in PLANS)
        gains[model] = free["totals"]["dynamic"]["speedup_over_best"]
        paid[model] = over_best_that_pays(costly)
        rows.append(
            [
                NAMES[model],
                f"{ORACLE[model]:.3f}",
                *(f"{free['totals'][kind]['speedup_over_best']:.3f}" for kind in ORACLES),
                f"{costly['switch_cost_ns'] / 1000:.1f}",
                f"{costly['totals']['dynamic']['speedup_over_best']:.3f}",
                f"{paid[model]:.3f}",
                *(f"{plan['n_eager']} / {plan['n_compiled']}" for plan in (free, costly)),
            ]
        )
    enough = [model for model, gain in gains.items() if round(gain, 2) >= GAIN]
    finding = Finding(
        "Choosing the better of both for each layer gains 2 % or more, in theory, in every model",
        "section 5.5.4, Table 5.1",
        spread(ORACLE.values(), digits=3),
        f"{spread(gains.values(), digits=3)}; so much in {listed([NAMES[m] for m in enough]) if enough else 'none'}",
        len(enough) == len(gains),
        "compiled layers win nearly everywhere, so a choice adds little: the columns of layers in the table below",
    )
    cost = Finding(
        "An oracle whose changes between eager and compiled cost nothing is far from reality",
        "section 5.5.4",
        "said of its own Table 5.1",
        f"with half of a region's measured cost a change, {spread(paid.values(), digits=3)} remain of "
        f"{spread(gains.values(), digits=3)}",
        all(round(gain, 2) < GAIN for gain in paid.values()),
        'the last columns of the table in "In theory: the oracle"',
    )
    blocks = [
        ("GPU time of kernels of each layer, from the two captures; speedup over the better of the whole eager and the "
        "whole compiled run. The oracles' first three columns let a change between eager and compiled cost nothing, "
        "as the thesis does. A change then costs half of what calling a compiled region was measured to cost the "
        "host; the whole compiled model is entered and left once, so the last speedup charges it the same."),
        table(
            [
                "model", "thesis", "best of two", "profile-timed", "dynamic", "cost of a change, µs",
                "dynamic with cost", "over a whole that pays too", "layers eager / compiled", "the same, with cost",
            ],
            rows,
        ),
        ("How many layers each path runs in which way is in the last two columns. The thesis's text has its recurrence "
        "charge data movement (section 4.3.2), but Figure 4.2, the recurrence itself, has no such term: without one "
        "the best path takes the better of both for each layer, which is why the first three columns agree."),
    ]  # fmt: skip
    return Section("In theory: the oracle", blocks, [], [finding, cost])


def over_best_that_pays(oracle: Mapping[str, Any]) -> float:
    """The path's speedup where the whole compiled model, too, pays for being entered and left."""
    total = oracle["totals"]["dynamic"]
    best = min(total["base_ns"], total["other_ns"] + 2 * oracle["switch_cost_ns"])
    return float(best / (total["chosen_ns"] + total["switch_ns"]))


def custom(run: Run) -> Section:
    """Plans applied and timed."""
    rows, findings = [], []
    for model, part in run.models().items():
        ratios = [speedup(part, plan, base) for plan in PLANS for base in ("eager", "default")]
        then = f"{CUSTOM[model]:.2f}" if model in CUSTOM else None
        rows.append([NAMES[model], then, *ratios, f"{part['region_ns'] / 1000:.0f}"])
        if model in CUSTOM:
            here = "; ".join(f"{word}: {speedup(part, plan)}" for plan, word in PLANS.items())
            claim = f"{NAMES[model]}'s custom configuration (changes cost nothing) beats eager"
            why = 'each compiled region of its path is called by the host: the table in "Our plans, applied"'
            held = is_faster(speedup(part, THESIS_PLAN))
            findings.append(Finding(claim, "section 5.5.4, Appendix Fig. 4", str(then), here, held, why))
    timed = {model: part for model, part in run.models().items() if model in CUSTOM}
    below = {model: is_faster(speedup(part, THESIS_PLAN, "default")) for model, part in timed.items()}
    findings.append(
        Finding(
            "Custom configurations stay below whole-model compilation",
            "section 5.5.4",
            "all three",
            "; ".join(f"{NAMES[m]}: {_BELOW[answer]}" for m, answer in below.items()),
            agree(None if answer is None else not answer for answer in below.values()),
            'the table in "Our plans, applied"',
        )
    )
    slow = sum(is_faster(speedup(part, plan)) is False for part in run.models().values() for plan in PLANS)
    shorter = shorter_than_a_call(run)
    blocks = [
        (
            "The oracle's plans, applied by `tl.apply_plan` and timed like the rest: with changes that cost nothing, "
            "and with the measured cost. Speedups above 1 are better than what the column compares with."
        ),
        table(
            ["model", "thesis, over eager"]
            + [f"{word}, over {base}" for word in PLANS.values() for base in ("eager", "default")]
            + ["call of a region, µs"],
            rows,
        ),
        (
            f"{slow} of {len(PLANS) * len(run.models())} plans are slower than eager. What a plan saves on the GPU it "
            "pays on the host, once for each compiled region of its path: calling one costs what the last column "
            f"says, and {100 * shorter:.0f} % of all layers have eager kernels shorter than that. Plans were timed "
            "last, near the end of the time given to the run, and models bound by the host vary as said above, so a "
            "plan that beats the default mode here is no proof."
        ),
    ]
    return Section("Our plans, applied", blocks, [], findings)


def shorter_than_a_call(run: Run) -> float:
    """The share of all models' layers whose eager kernels take less time than calling a compiled region does."""
    found: list[bool] = []
    for model, part in run.models().items():
        layers = tl.analyses.compare_layers(*run.pair(model)).filter(~pl.col("layer").str.starts_with("("))
        times = layers["base_estimate_ns"].drop_nulls()
        found += (times < part["region_ns"]).to_list()
    return sum(found) / len(found)


_BELOW = {True: "above", False: "below", None: "not to be told"}
