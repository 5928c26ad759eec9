"""The oracle in theory, and the plans that it makes, applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from figures import Run, is_faster, speedup, spread
from page import Finding, Section, table
from there import CUSTOM, NAMES, ORACLE

import tracelens as tl

PLANS = {"custom": "no cost", "custom_with_cost": "measured cost"}
ORACLES = ("best_of_two", "profile_timed", "dynamic")
GAIN = 1.02
"""The least of the thesis's oracle speedups, to two digits."""


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
    cost = Finding(
        "An oracle whose changes between eager and compiled cost nothing is far from reality",
        "section 5.5.4",
        "said of its own Table 5.1",
        f"with half of a region's measured cost a change, {spread(paid.values(), digits=3)} remain"
        f" of {spread(gains.values(), digits=3)}",
        all(round(gain, 2) < GAIN for gain in paid.values()),
        'the last columns of the table in "In theory: the oracle"',
    )
    blocks = [
        (
            "GPU time of kernels of each layer, from the two captures; speedup over the better of"
            " the whole eager and the whole compiled run. The oracles' first three columns let a"
            " change between eager and compiled cost nothing, as the thesis does. A change then"
            " costs half of what calling a compiled region was measured to cost the host; the whole"
            " compiled model is entered and left once, so the last speedup charges it the same."
        ),
        table(
            [
                "model",
                "thesis",
                "best of two",
                "profile-timed",
                "dynamic",
                "cost of a change, µs",
                "dynamic with cost",
                "over a whole that pays too",
                "layers eager / compiled",
                "the same, with cost",
            ],
            rows,
        ),
        (
            "How many layers each path runs in which way is in the last two columns. The thesis's"
            " text has its recurrence charge data movement (section 4.3.2), but Figure 4.2, the"
            " recurrence itself, has no such term: without one the best path takes the better of"
            " both for each layer, which is why the first three columns agree."
        ),
    ]
    return Section("In theory: the oracle", blocks, [], [cost])


def over_best_that_pays(oracle: Mapping[str, Any]) -> float:
    """The path's speedup where the whole compiled model, too, pays for being entered and left."""
    total = oracle["totals"]["dynamic"]
    best = min(total["base_ns"], total["other_ns"] + 2 * oracle["switch_cost_ns"])
    return float(best / (total["chosen_ns"] + total["switch_ns"]))


def custom(run: Run) -> Section:
    """Plans applied and timed."""
    rows = []
    for model, part in run.models().items():
        ratios = [speedup(part, plan, base) for plan in PLANS for base in ("eager", "default")]
        then = f"{CUSTOM[model]:.2f}" if model in CUSTOM else None
        rows.append([NAMES[model], then, *ratios, f"{part['region_ns'] / 1000:.0f}"])
    slow = sum(
        is_faster(speedup(part, plan)) is False for part in run.models().values() for plan in PLANS
    )
    shorter = shorter_than_a_call(run)
    blocks = [
        (
            "The oracle's plans, applied by `tl.apply_plan` and timed like the rest: with changes"
            " that cost nothing, and with the measured cost. Speedups above 1 are better than what"
            " the column compares with."
        ),
        table(
            ["model", "thesis, over eager"]
            + [f"{word}, over {base}" for word in PLANS.values() for base in ("eager", "default")]
            + ["call of a region, µs"],
            rows,
        ),
        (
            f"{slow} of {len(PLANS) * len(run.models())} plans are slower than eager. What a plan"
            " saves on the GPU it pays on the host, once for each compiled region of its path:"
            f" calling one costs what the last column says, and {100 * shorter:.0f} % of all layers"
            " have eager kernels shorter than that. Plans were timed last, near the end of the"
            " time given to the run, and models bound by the host vary as said above, so a plan"
            " that beats the default mode here is no proof."
        ),
    ]
    return Section("Our plans, applied", blocks)


def shorter_than_a_call(run: Run) -> float:
    """The share of all models' layers whose eager kernels take less time than calling a compiled region does."""
    found: list[bool] = []
    for model, part in run.models().items():
        layers = tl.analyses.compare_layers(*run.pair(model)).filter(
            ~pl.col("layer").str.starts_with("(")
        )
        times = layers["base_estimate_ns"].drop_nulls()
        found += (times < part["region_ns"]).to_list()
    return sum(found) / len(found)
